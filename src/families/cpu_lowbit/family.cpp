// Low-bit weights on CPUs: decoded as they stream past a few rows of A, into panels for many, or
// multiplied as integers with int8 activations.
#include "families/cpu_lowbit/cost.hpp"
#include "families/cpu_lowbit/kernel.hpp"
#include "families/cpu_lowbit/setup.hpp"
#include <gemwright/errors.hpp>

#include <string>

namespace gemwright {
namespace {

using namespace cpu_lowbit;

class LowBit final : public Family {
 public:
  std::string_view name() const override { return "cpu_lowbit"; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 2; }

  std::optional<std::string> refuse(const Problem& problem, const Device&) const override {
    if (!problem.weight) return "B is not a low-bit weight";
    return std::nullopt;
  }

  std::span<const std::string_view> parameters() const override { return parameter_names(); }
  std::string configuration_name(const Configuration& configuration) const override {
    return setup_name(decode(configuration));
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    std::vector<Configuration> result;
    for (const Setup& setup : setups(problem, device.profile().cpu)) {
      result.push_back(encode(setup));
    }
    return result;
  }

  // Rows of A share the decoded weight and nothing else.
  std::string_view summation_order(const Problem& /*problem*/,
                                   const Configuration& configuration) const override {
    return summation_name(decode(configuration));
  }

  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      estimates[i] = cost(problem, device.profile().cpu, decode(configurations[i]));
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    const Setup setup = decode(configuration);
    const KernelTable* table =
        problem.weight ? kernels(setup.isa, setup.path, problem, device.profile().cpu.features)
                       : nullptr;
    if (table == nullptr) {
      throw Unsupported("cpu_lowbit/" + setup_name(setup) + " does not take " + key(problem));
    }
    return make_kernel(problem, setup, *table);
  }
};

}  // namespace

namespace families {
const Family& cpu_lowbit() {
  static const LowBit family;
  return family;
}
}  // namespace families

}  // namespace gemwright
