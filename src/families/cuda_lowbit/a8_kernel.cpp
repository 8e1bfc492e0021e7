#include "families/cuda_lowbit/a8_kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_common/hopper_tiles.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_common/operand_map.hpp"
#include "families/cuda_lowbit/a8_setting.hpp"
#include "families/cuda_lowbit/rounding.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "problem/transposed.hpp"

#include <algorithm>

namespace gemwright::cuda_lowbit {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::LowbitWideParams;
using gemwright_device::QuantiseParams;

// Rounds the activations, then multiplies: two launches, the second of which begins, and reads the
// weight, while the first one ends.
class A8Kernel final : public CompiledKernel {
 public:
  A8Kernel(const CudaFamily& family, const Problem& problem, const Device& device,
           const Configuration& configuration)
      : CompiledKernel(family, problem, device, configuration),
        setting_(a8_setting_of(configuration)) {
    shape_.threads = static_cast<unsigned>(setting_.threads());
    shape_.shared_bytes = static_cast<unsigned>(shared_bytes(setting_, problem));
    shape_.cluster[0] = static_cast<unsigned>(setting_.cluster);
    shape_.dependent = true;
    clusters_ = std::max(1, load_clusters(shape_));
    quantise_ = load_other("quantise_rows");
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    return workspace_of(problem).bytes;
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream on) const override {
    const A8Workspace place = workspace_of(problem);
    auto* codes = static_cast<char*>(workspace) + place.codes;
    auto* scales = reinterpret_cast<float*>(static_cast<char*>(workspace) + place.scales);
    quantise(problem, operands, codes, scales, on);
    multiply(problem, operands, codes, scales, on);
  }

 private:
  void quantise(const Problem& problem, const Operands& operands, char* codes, float* scales,
                Stream on) const {
    const auto pitch = static_cast<int>(workspace_of(problem).pitch);
    QuantiseParams params = rounding_params(problem, operands, pitch, codes, scales);
    void* arguments[] = {&params};
    quantise_->launch(rounding_shape(problem, operands, pitch), arguments, on);
  }

  void multiply(const Problem& problem, const Operands& operands, const char* codes,
                const float* scales, Stream on) const {
    LowbitWideParams params = parameters(problem, operands);
    cuda::LaunchShape shape = shape_;
    set_grid(params.hopper, shape, clusters_, false);
    // Pairs of codes, since maps know no smaller elements.
    const auto pairs = static_cast<std::int64_t>(workspace_of(problem).pitch / 2);
    cuda::TensorMap activations{};
    cuda::encode(activations,
                 cuda_layout::operand_map(
                     {.type = DataType::bf16, .row_stride = pairs},
                     {pairs, problem.m, pairs, kWindow / 2, setting_.cols / setting_.cluster}, 1,
                     device().ordinal()),
                 codes);
    cuda::TensorMap d{};  // stays empty where the kernel stores without
    if (stores_by_copies(setting_, problem)) {
      encode_transposed(d, problem, chunk_columns(setting_, problem), device().ordinal(),
                        operands.d);
    }
    void* arguments[] = {&activations, &d, &params, &scales};
    launch(shape, arguments, on);
  }

  LowbitWideParams parameters(const Problem& problem, const Operands& operands) const {
    const Problem view = transposed(problem);
    LowbitWideParams params{};
    params.hopper.gemm = gemm_params(view, operands.transposed(), nullptr);
    params.weight = weight_at(problem, operands.b);
    params.wide_tiles = static_cast<int>(tiles_of(problem.n, 64));
    set_tiles(params.hopper, tiles_of(problem.n, setting_.rows()),
              tiles_of(problem.m, setting_.cols), setting_.group, setting_.along_n);
    params.hopper.a_policy = copy_policy(params.hopper.tiles_n);
    params.hopper.b_policy = kEvictNormal;
    return params;
  }

  A8Setting setting_;
  cuda::LaunchShape shape_;  // of the product, but for the grid
  int clusters_ = 1;         // that the device holds at a time
  std::shared_ptr<const cuda::LoadedKernel> quantise_;
};

}  // namespace

std::shared_ptr<const Kernel> build_a8_kernel(const CudaFamily& family, const Problem& problem,
                                              const Device& device,
                                              const Configuration& configuration) {
  return std::make_shared<A8Kernel>(family, problem, device, configuration);
}

}  // namespace gemwright::cuda_lowbit
