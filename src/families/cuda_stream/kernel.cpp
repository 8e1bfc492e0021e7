#include "families/cuda_stream/kernel.hpp"

#include "cuda/stream_params.cuh"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_common/operand_map.hpp"
#include "families/cuda_stream/setting.hpp"
#include <gemwright/errors.hpp>

#include <string>
#include <utility>

namespace gemwright::cuda_stream {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::GemmParams;
using gemwright_device::StreamParams;

class StreamKernel final : public CompiledKernel {
 public:
  StreamKernel(const CudaFamily& family, const Problem& problem, const Device& device,
               const Configuration& configuration)
      : CompiledKernel(family, problem, device, configuration),
        setting_(setting_of(configuration)) {
    shape_.threads = static_cast<unsigned>(setting_.threads());
    shape_.cluster[0] = static_cast<unsigned>(setting_.split);
    if (setting_.path == Path::ring) {
      shape_.shared_bytes = static_cast<unsigned>(ring_shared_bytes(setting_));
    }
    slots_ = load_clusters(shape_) * setting_.split;
    if (!fits(view_of(problem, setting_.swap))) {
      throw DeviceError("only " + std::to_string(slots_) + " CTAs of " + name_of(setting_) +
                        " fit on the device at once");
    }
  }

  bool serves(const Problem& problem) const override {
    const Problem view = view_of(problem, setting_.swap);
    return CompiledKernel::serves(problem) && view.m <= setting_.cols && fits(view);
  }

  std::size_t workspace_bytes(const Problem& /*problem*/) const override { return 0; }

  void run(const Problem& problem, const Operands& operands, void* /*workspace*/,
           Stream stream) const override {
    const Problem view = view_of(problem, setting_.swap);
    const Operands mapped = setting_.swap ? operands.transposed() : operands;
    if (setting_.path == Path::direct) {
      run_direct(view, mapped, stream);
    } else {
      run_ring(view, mapped, stream);
    }
  }

 private:
  bool fits(const Problem& view) const {
    return slots_ > 0 &&
           (setting_.path == Path::direct || plan_ring(setting_, view, slots_).rows > 0);
  }

  void run_direct(const Problem& p, const Operands& operands, Stream stream) const {
    GemmParams params = gemm_params(p, operands);
    int early = operands.early == Early::b;
    cuda::LaunchShape shape = shape_;
    shape.dependent = operands.early != Early::none;
    shape.grid[0] = static_cast<unsigned>(tiles_of(p.n, setting_.rows) * p.batch * setting_.split);
    void* arguments[] = {&params, &early};
    launch(shape, arguments, stream);
  }

  void run_ring(const Problem& p, const Operands& operands, Stream stream) const {
    const RingPlan plan = plan_ring(setting_, p, slots_);
    // Without K nothing is loaded, and there may be nothing to point to.
    static const cuda::TensorMap nothing{};
    const void* weights_at = p.k > 0 ? operands.b : &nothing;
    const void* activations_at = p.k > 0 ? operands.a : &nothing;
    cuda::TensorMap weights;
    cuda::TensorMap activations;
    encode(weights, p.b, {p.k, p.n, p.b.col_stride, 0, plan.rows}, p.batch, weights_at);
    encode(activations, p.a, {p.k, p.m, p.a.row_stride, 0, setting_.cols}, p.batch, activations_at);
    StreamParams params{.gemm = gemm_params(p, operands),
                        .rows = plan.rows,
                        .tiles = plan.tiles,
                        .stages = plan.stages,
                        .early = operands.early == Early::b};
    cuda::LaunchShape shape = shape_;
    shape.dependent = operands.early != Early::none;
    shape.grid[0] = static_cast<unsigned>(plan.grid);
    void* arguments[] = {&weights, &activations, &params};
    launch(shape, arguments, stream);
  }

  // Rows of K, 128 bytes of each at a time.
  void encode(cuda::TensorMap& map, const Operand& x, cuda_layout::Plane plane, std::int64_t batch,
              const void* base) const {
    plane.box_inner = 128 / size_bytes(x.type);
    cuda::TensorMapShape shape = cuda_layout::operand_map(x, plane, batch, device().ordinal());
    shape.tf32 = x.type == DataType::f32;
    cuda::encode(map, shape, base);
  }

  Setting setting_;
  cuda::LaunchShape shape_;  // without the grid
  int slots_ = 1;            // CTAs that are resident at once
};

}  // namespace

std::shared_ptr<const Kernel> build_kernel(const CudaFamily& family, const Problem& problem,
                                           const Device& device,
                                           const Configuration& configuration) {
  return std::make_shared<StreamKernel>(family, problem, device, configuration);
}

}  // namespace gemwright::cuda_stream
