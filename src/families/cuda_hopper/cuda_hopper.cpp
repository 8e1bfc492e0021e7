#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_hopper/configurations.hpp"
#include "families/cuda_hopper/kernel.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_hopper;

class CudaHopper final : public CudaFamily {
 public:
  explicit CudaHopper(FactorSides sides = {}) : sides_(sides) {}

  std::string_view name() const override { return "cuda_hopper"; }
  int version() const override { return 2; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    const int sm = device.profile().cuda.sm;
    if (sm != 90) return fmt::format("needs sm_90 (H100, H200); this device is sm_{}", sm);
    if (auto reason = cuda_layout::refuse_sizes(p)) return reason;
    if (p.a.type != p.b.type) {
      return fmt::format("A is {} and B is {}; they must have one type", gemwright::name(p.a.type),
                         gemwright::name(p.b.type));
    }
    if (p.a.type == DataType::f32 && !p.allow_tf32) {
      return "fp32 inputs are multiplied as tf32 only: set allow_tf32 if that is precise enough";
    }
    // The smallest tile decides whether tile numbers fit.
    constexpr double kLeast = 64.0 * 64.0;
    const double tiles = (static_cast<double>(p.m) / 64 + 1) * (static_cast<double>(p.n) / 64 + 1);
    if (tiles * static_cast<double>(p.batch) > 2e9) {
      return fmt::format("more than 2e9 tiles of {} elements", kLeast);
    }
    return std::nullopt;
  }

  std::string_view summation_order(const Problem& /*problem*/,
                                   const Configuration& configuration) const override {
    const Setting s = setting_of(configuration);
    return s.split == 1 && !s.stream_k ? cuda_layout::kTensorCoreOrder : "";
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
    // By runs of one orientation, which share most of what the model computes.
    std::array<model::HopperSetting, 64> settings;
    for (std::size_t first = 0, count = 0; first < configurations.size(); first += count) {
      const auto rest = configurations.subspan(first);
      const bool swap = setting_of(rest[0]).swap;
      const std::size_t most = std::min(rest.size(), settings.size());
      for (count = 0; count < most; ++count) {
        const Setting s = setting_of(rest[count]);
        if (s.swap != swap) break;
        settings[count] = cost_setting_of(s);
      }
      model::hopper_times(device.profile().cuda, product_of(view_of(problem, swap), false),
                          std::span(settings).first(count), estimates.subspan(first, count));
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return build_kernel(*this, problem, device, configuration, setting_of(configuration));
  }

  compile::Source source(const Problem& problem, const Device& /*device*/,
                         const Configuration& configuration) const override {
    return kernel_source(problem, setting_of(configuration), sides_);
  }

 private:
  FactorSides sides_;
};

}  // namespace

const CudaFamily& cuda_hopper::family_with(FactorSides sides) {
  static const std::array<CudaHopper, 4> families = {
      CudaHopper({false, false}), CudaHopper({true, false}), CudaHopper({false, true}),
      CudaHopper({true, true})};
  return families[(sides.rows ? 1U : 0U) + (sides.columns ? 2U : 0U)];
}

namespace families {

const Family& cuda_hopper() {
  return cuda_hopper::family_with({});
}

}  // namespace families
}  // namespace gemwright
