#include "families/cuda_lowbit/wide_kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_common/hopper_tiles.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_common/operand_map.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "families/cuda_lowbit/wide_setting.hpp"
#include "problem/transposed.hpp"

#include <algorithm>

namespace gemwright::cuda_lowbit {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::LowbitWideParams;

class WideKernel final : public WideProduct {
 public:
  WideKernel(const CudaFamily& family, const Problem& problem, const Device& device,
             const Configuration& configuration)
      : WideProduct(family, problem, device, configuration),
        setting_(wide_setting_of(configuration)) {
    shape_.threads = static_cast<unsigned>(setting_.threads());
    shape_.shared_bytes = static_cast<unsigned>(shared_bytes(setting_, problem));
    shape_.cluster[0] = static_cast<unsigned>(setting_.split);
    clusters_ = std::max(1, load_clusters(shape_));
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    if (stream(problem).tiles == 0) return 0;
    // Two parts of tiles a CTA at most.
    return gemwright_device::kCounterBytes +
           static_cast<std::size_t>(2 * clusters_) *
               static_cast<std::size_t>(setting_.rows() * setting_.cols) * sizeof(float);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream on) const override {
    run_with(problem, operands, nullptr, workspace, on);
  }

  void run_with(const Problem& problem, const Operands& operands, const float* row_factors,
                void* workspace, Stream on) const override {
    LowbitWideParams params = parameters(problem, operands, workspace);
    params.hopper.gemm.column_factors = row_factors;
    cuda::LaunchShape shape = shape_;
    shape.dependent = operands.early != Early::none;
    set_grid(params.hopper, shape, clusters_, setting_.split > 1 || setting_.across);
    // Without K nothing is loaded, and there may be nothing to point to.
    static const cuda::TensorMap nothing{};
    const void* a = problem.k > 0 ? operands.a : &nothing;
    cuda::TensorMap activations{};
    cuda::encode(activations,
                 cuda_layout::operand_map(
                     problem.a, {problem.k, problem.m, problem.a.row_stride, 64, setting_.cols}, 1,
                     device().ordinal()),
                 a);
    cuda::TensorMap d{};  // stays empty where the kernel stores without
    if (stores_by_copies(setting_, problem)) {
      encode_transposed(d, problem, chunk_columns(setting_, problem), device().ordinal(),
                        operands.d);
    }
    void* arguments[] = {&activations, &d, &params};
    launch(shape, arguments, on);
  }

 private:
  LowbitWideParams parameters(const Problem& problem, const Operands& operands,
                              void* workspace) const {
    const Problem view = transposed(problem);
    const Streamed streamed = stream(problem);
    LowbitWideParams params{};
    params.hopper.gemm =
        gemm_params(view, operands.transposed(), streamed.tiles > 0 ? workspace : nullptr);
    params.weight = weight_at(problem, operands.b);
    params.wide_tiles = static_cast<int>(tiles_of(problem.n, 64));
    params.early = operands.early == Early::b ? 1 : 0;
    set_tiles(params.hopper, tiles_of(problem.n, setting_.rows()),
              tiles_of(problem.m, setting_.cols), setting_.group, setting_.along_n);
    params.hopper.streamed = streamed.tiles;
    params.hopper.share = streamed.share;
    params.hopper.a_policy = copy_policy(params.hopper.tiles_n);
    params.hopper.b_policy = kEvictNormal;
    return params;
  }

  Streamed stream(const Problem& p) const {
    if (!setting_.stream_k) return {};
    return stream_tiles(tiles_of(p.n, setting_.rows()) * tiles_of(p.m, setting_.cols),
                        tiles_of(p.k, setting_.stage_columns()), clusters_, setting_.consumers);
  }

  WideSetting setting_;
  cuda::LaunchShape shape_;  // but for the grid
  int clusters_ = 1;         // that the device holds at a time
};

}  // namespace

std::shared_ptr<const WideProduct> build_wide_kernel(const CudaFamily& family,
                                                     const Problem& problem, const Device& device,
                                                     const Configuration& configuration) {
  return std::make_shared<WideKernel>(family, problem, device, configuration);
}

}  // namespace gemwright::cuda_lowbit
