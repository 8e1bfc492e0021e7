// GEMM with at most 64 rows on one side: the other operand, the weights, is streamed once. See
// kernels/cuda/gemm_stream.cu and gemm_stream_ring.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_stream/configurations.hpp"
#include "families/cuda_stream/kernel.hpp"
#include "families/cuda_stream/setting.hpp"
#include "model/cuda_stream_cost.hpp"

#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_stream;

class CudaStream final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_stream"; }
  int version() const override { return 2; }

  std::optional<std::string> refuse(const Problem& problem, const Device& device) const override {
    if (device.profile().cuda.sm < 80) {
      return fmt::format("{} is sm_{}; mma.sync of bf16 and tf32 needs sm_80", device.name(),
                         device.profile().cuda.sm);
    }
    if (auto reason = cuda_layout::refuse_sizes(problem)) return reason;
    if (problem.a.type != problem.b.type) {
      return fmt::format("A is {} and B is {}; the tensor cores take equal types",
                         gemwright::name(problem.a.type), gemwright::name(problem.b.type));
    }
    if (problem.a.type == DataType::f32 && !problem.allow_tf32) {
      return "full fp32 is asked for; allow_tf32 lets the tensor cores round inputs to tf32";
    }
    const int sm = device.profile().cuda.sm;
    auto plain = refuse_view(view_of(problem, false), sm);
    if (plain && refuse_view(view_of(problem, true), sm)) return plain;
    return std::nullopt;
  }

  std::string_view summation_order(const Problem& /*problem*/,
                                   const Configuration& configuration) const override {
    const Setting s = setting_of(configuration);
    return s.path == Path::ring && s.split == 1 ? cuda_layout::kTensorCoreOrder : "";
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    return name_of(setting_of(configuration));
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    return enumerate(problem, device);
  }

  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    const std::array views = {view_of(problem, false), view_of(problem, true)};
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const Setting s = setting_of(configurations[i]);
      const model::StreamWork work = work_of(s, views[s.swap ? 1 : 0], device);
      estimates[i] = model::stream_time(device.profile().cuda, work);
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return build_kernel(*this, problem, device, configuration);
  }

  compile::Source source(const Problem& problem, const Device& device,
                         const Configuration& configuration) const override {
    const Setting s = setting_of(configuration);
    const Problem p = view_of(problem, s.swap);
    const int sm = device.profile().cuda.sm;
    compile::Source source;
    source.sm = sm;
    source.preamble = fmt::format("constexpr int kType = {}, kSplit = {}, kCtas = {};\n",
                                  static_cast<int>(p.a.type), s.split, s.ctas);
    if (s.path == Path::direct) {
      source.file = "gemm_stream.cu";
      source.kernel_name = "gemm_stream";
      source.preamble += fmt::format(
          "constexpr int kWeightBlocks = {}, kActivationBlocks = {}, kUnroll = {}, kWarps = {};\n"
          "constexpr bool kWeightsAlongRows = {}, kHopper = {};\n",
          s.rows / 16, s.cols / 8, s.unroll, s.warps, !weights_along_k(p), sm >= 90);
    } else {
      source.file = "gemm_stream_ring.cu";
      source.kernel_name = "gemm_stream_ring";
      source.arch_specific = true;
      source.preamble += fmt::format("constexpr int kConsumers = {}, kCols = {}, kBlocks = {};\n",
                                     s.consumers(), s.cols, s.unroll);
    }
    source.preamble += cuda_layout::epilogue_preamble(p, 1);
    return source;
  }
};

}  // namespace

namespace families {

const Family& cuda_stream() {
  static const CudaStream family;
  return family;
}

}  // namespace families
}  // namespace gemwright
