// Own blocked, packed, threaded GEMM for CPUs.
#include "families/family.hpp"

#include "families/cpu_packed/cost.hpp"
#include "families/cpu_packed/kernel.hpp"
#include "families/cpu_packed/setup.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <string>

namespace gemwright {
namespace {

using namespace cpu_packed;

class Packed final : public Family {
 public:
  std::string_view name() const override { return "cpu_packed"; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& problem, const Device&) const override {
    if (problem.weight) return "B is a low-bit weight, which these kernels do not decode";
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

  std::string_view summation_order(const Problem& /*problem*/,
                                   const Configuration& configuration) const override {
    // Blocks of K continue the sums of those before; instructions of bf16 pairs round otherwise,
    // and dot products have a sum a lane.
    const Setup setup = decode(configuration);
    const bool chain = setup.path != Path::dot && setup.split_k == 1;
    return chain && setup.isa <= Isa::avx512 ? kernels(setup.isa)->name : "";
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
    if (const auto reason = isa_refusal(setup.isa, device.profile().cpu.features)) {
      throw Unsupported("cpu_packed/" + setup_name(setup) + ": " + *reason);
    }
    const auto loader = loader_of(setup.isa, setup.path, problem);
    if (!loader || (setup.split_k > 1 && problem.batch > 1)) {
      throw Unsupported("cpu_packed/" + setup_name(setup) + " does not take " + key(problem));
    }
    return make_kernel(setup, *loader);
  }
};

}  // namespace

namespace families {
const Family& cpu_packed() {
  static const Packed family;
  return family;
}
}  // namespace families

}  // namespace gemwright
