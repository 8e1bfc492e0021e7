// Products with a packed low-bit weight. See kernels/cuda/gemm_lowbit.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/configurations.hpp"
#include "families/cuda_lowbit/kernel.hpp"
#include "families/cuda_lowbit/setting.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "model/lowbit_cost.hpp"

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;

// Rows of A that lie as bulk copies take them: K contiguous, in whole 16 bytes.
bool takes_bulk_copies(const Problem& p) {
  constexpr int kElements = 8;
  return p.a.col_stride == 1 && !p.weight->ordered && p.k % kElements == 0 &&
         p.a.alignment % 16 == 0 && (p.m <= 1 || p.a.row_stride % kElements == 0);
}

class CudaLowbit final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_lowbit"; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (auto reason = refuse_weight(p)) return reason;
    if (auto reason = refuse_device(device)) return reason;
    if (cuda_layout::tiles_of(p.m, 8) > 65535) return "more rows than the grid has places for";
    return std::nullopt;
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
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const Setting s = setting_of(configurations[i]);
      estimates[i] = model::lowbit_time(device.profile().cuda, work_of(s, problem, device));
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return build_kernel(*this, problem, device, configuration);
  }

  compile::Source source(const Problem& p, const Device& device,
                         const Configuration& configuration) const override {
    const Setting s = setting_of(configuration);
    compile::Source source;
    source.file = "gemm_lowbit.cu";
    source.kernel_name = "gemm_lowbit";
    source.sm = device.profile().cuda.sm;
    source.preamble = fmt::format(
        "constexpr int kType = {}, kWarpsK = {}, kWarpsN = {}, kTiles = {}, kStages = {};\n"
        "constexpr int kCols = {}, kSplit = {}, kCtas = {};\n"
        "constexpr bool kBulk = {};\n",
        static_cast<int>(p.a.type), s.warps_k, s.warps_n, s.tiles, s.stages, s.cols, s.split,
        s.ctas, takes_bulk_copies(p));
    source.preamble += weight_preamble(p);
    source.preamble += cuda_layout::epilogue_preamble(p, 1);
    return source;
  }
};

}  // namespace

namespace families {

const Family& cuda_lowbit() {
  static const CudaLowbit family;
  return family;
}

}  // namespace families
}  // namespace gemwright
