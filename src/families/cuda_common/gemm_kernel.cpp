#include "families/cuda_common/gemm_kernel.hpp"

#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/layout.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gemwright {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::GemmParams;
using gemwright_device::kCounterBytes;
using gemwright_device::kMaxCounters;

// Past the largest grid it need not be exact: those are refused.
std::int64_t output_tiles(const Problem& problem, const TileLaunch& launch) {
  const std::int64_t m = launch.swap ? problem.n : problem.m;
  const std::int64_t n = launch.swap ? problem.m : problem.n;
  const std::int64_t tiles = tiles_of(m, launch.tile_m) * tiles_of(n, launch.tile_n);
  return tiles > std::numeric_limits<int>::max() ? tiles : tiles * problem.batch;
}

// D^T = B^T A^T. Which way a bias goes is compiled in.
void transpose(GemmParams& q) {
  std::swap(q.m, q.n);
  std::swap(q.a, q.b);
  std::swap(q.a_row, q.b_col);
  std::swap(q.a_col, q.b_row);
  std::swap(q.a_batch, q.b_batch);
  std::swap(q.c_row, q.c_col);
  std::swap(q.d_row, q.d_col);
}

class GemmKernel final : public CompiledKernel {
 public:
  GemmKernel(const CudaFamily& family, const Problem& problem, const Device& device,
             const Configuration& configuration, const TileLaunch& launch)
      : CompiledKernel(family, problem, device, configuration), launch_(launch) {
    load(static_cast<unsigned>(launch.shared_bytes));
  }

  bool serves(const Problem& problem) const override {
    return CompiledKernel::serves(problem) && grid_size(problem, launch_) > 0;
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    return split_bytes(problem, launch_);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    GemmParams params = gemm_params(problem, operands, workspace);
    params.splits = effective_splits(problem, launch_);
    params.group = launch_.group;
    if (launch_.swap) transpose(params);
    const auto grid = static_cast<unsigned>(output_tiles(problem, launch_) * params.splits);
    void* arguments[] = {&params};
    launch({.grid = {grid, 1, 1},
            .threads = static_cast<unsigned>(launch_.threads),
            .shared_bytes = static_cast<unsigned>(launch_.shared_bytes)},
           arguments, stream);
  }

 private:
  TileLaunch launch_;
};

}  // namespace

int effective_splits(const Problem& problem, const TileLaunch& launch) {
  if (launch.splits <= 1 || output_tiles(problem, launch) > kMaxCounters) return 1;
  const std::int64_t steps = tiles_of(problem.k, launch.tile_k);
  return static_cast<int>(std::clamp<std::int64_t>(steps, 1, launch.splits));
}

std::size_t split_bytes(const Problem& problem, const TileLaunch& launch) {
  const int splits = effective_splits(problem, launch);
  if (splits == 1) return 0;
  return kCounterBytes + static_cast<std::size_t>(output_tiles(problem, launch)) *
                             static_cast<std::size_t>(splits * launch.tile_m * launch.tile_n) *
                             sizeof(float);
}

std::int64_t grid_size(const Problem& problem, const TileLaunch& launch) {
  const std::int64_t tiles = output_tiles(problem, launch);
  if (tiles > std::numeric_limits<int>::max()) return 0;
  const std::int64_t size = tiles * effective_splits(problem, launch);
  return size > std::numeric_limits<int>::max() ? 0 : size;
}

std::shared_ptr<const Kernel> make_gemm_kernel(const CudaFamily& family, const Problem& problem,
                                               const Device& device,
                                               const Configuration& configuration,
                                               const TileLaunch& launch) {
  return std::make_shared<GemmKernel>(family, problem, device, configuration, launch);
}

}  // namespace gemwright
