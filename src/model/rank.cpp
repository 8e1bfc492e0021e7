#include "model/rank.hpp"

#include "device/profile.hpp"
#include "model/cpu_rates.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace gemwright {

std::string label(const Candidate& candidate) {
  return fmt::format("{}/{}", candidate.family->name(),
                     candidate.family->configuration_name(candidate.configuration));
}

bool is_named(const Candidate& candidate, std::string_view name) {
  return name == candidate.family->name() || name == label(candidate);
}

void refuse_name(const std::string& argument, const std::string& name, const Problem& problem,
                 const Device& device, const std::vector<Refusal>& refusals) {
  const std::string family_name = name.substr(0, name.find('/'));
  const Family* family = families::find(family_name);
  if (family == nullptr) {
    std::string known;
    for (const Family* one : families::all()) {
      known += (known.empty() ? "" : ", ") + std::string(one->name());
    }
    throw InvalidArgument(argument, name, "a family or FAMILY/CONFIGURATION; families: " + known);
  }
  const std::string begin = argument + ": " + name + ": ";
  if (family->device_kind() != device.kind()) {
    throw Unsupported(begin + family_name + " is for " +
                      (family->device_kind() == DeviceKind::cuda ? "GPUs" : "CPUs") +
                      ", and the device is " + device.name());
  }
  const auto refusal = std::find_if(refusals.begin(), refusals.end(),
                                    [&](const Refusal& r) { return r.family == family_name; });
  if (refusal != refusals.end()) {
    throw Unsupported(begin + "refused for " + key(problem) + ": " + refusal->reason);
  }
  throw Unsupported(begin + family_name + " has no such configuration for " + key(problem) +
                    "; \"gemwright candidates --top 0\" lists those that it has");
}

}  // namespace gemwright

namespace gemwright::model {
namespace {

double cuda_flops(const Problem& problem, const CudaProfile& gpu) {
  if (problem.activations == Activations::e4m3 && gpu.f8_flops > 0) return gpu.f8_flops;
  if (problem.activations == Activations::int8 && gpu.int8_ops > 0) return gpu.int8_ops;
  if (problem.a.type != DataType::f32) return gpu.f16_flops;
  return problem.allow_tf32 ? gpu.tf32_flops : gpu.f32_flops;
}

// Adds every configuration of a family, with its estimate.
void append(std::vector<Candidate>& to, const Family& family, const Problem& problem,
            const Device& device) {
  const std::vector<Configuration> configurations = family.configurations(problem, device);
  std::vector<Estimate> estimates(configurations.size());
  family.estimate(problem, device, configurations, estimates);
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    to.push_back({&family, configurations[i], estimates[i]});
  }
}

// The order that every M of a batch-invariant problem sums in: the first that a family has for many
// rows, so that it does not depend on how many there are.
std::string invariant_order(Problem problem, const Device& device) {
  constexpr std::int64_t kMany = 128;
  problem.m = kMany;
  for (const Family* family : families::all()) {
    if (family->device_kind() != device.kind() || family->refuse(problem, device)) continue;
    for (const Configuration& configuration : family->configurations(problem, device)) {
      const std::string_view order = family->summation_order(problem, configuration);
      if (!order.empty()) return std::string(order);
    }
  }
  return "";
}

// Keeps the candidates that sum in the problem's one order.
void keep_invariant(std::vector<Candidate>& candidates, const Problem& problem,
                    const Device& device, std::vector<Refusal>& refusals) {
  const std::string order = invariant_order(problem, device);
  const auto differs = [&](const Candidate& candidate) {
    return order.empty() ||
           candidate.family->summation_order(problem, candidate.configuration) != order;
  };
  for (const Family* family : families::all()) {
    const auto own = [&](const Candidate& candidate) { return candidate.family == family; };
    const bool listed = std::any_of(candidates.begin(), candidates.end(), own);
    std::erase_if(candidates, [&](const Candidate& x) { return own(x) && differs(x); });
    if (listed && std::none_of(candidates.begin(), candidates.end(), own)) {
      refusals.push_back({std::string(family->name()),
                          "none of its kernels sums over K in the order of the batch-invariant "
                          "ones"});
    }
  }
}

}  // namespace

std::vector<Candidate> rank(const Problem& problem, const Device& device,
                            std::vector<Refusal>& refusals) {
  std::vector<Candidate> ranked;
  std::vector<Candidate> vendor;
  for (const Family* family : families::all()) {
    if (family->device_kind() != device.kind()) continue;
    if (auto reason = family->refuse(problem, device)) {
      refusals.push_back({std::string(family->name()), std::move(*reason)});
      continue;
    }
    append(family->vendor() ? vendor : ranked, *family, problem, device);
  }
  if (problem.batch_invariant) {
    vendor.clear();
    keep_invariant(ranked, problem, device, refusals);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate.us < b.estimate.us;
  });
  ranked.insert(ranked.end(), vendor.begin(), vendor.end());
  return ranked;
}

std::vector<Candidate> take_best(std::vector<Candidate>& ranked, int own,
                                 const std::function<bool(const Candidate&)>& barred) {
  std::vector<Candidate> taken;
  std::vector<Candidate> left;
  int places = 0;
  for (const Candidate& candidate : ranked) {
    const bool counts = own > 0 && !candidate.family->vendor();
    if (counts && places == own) {
      left.push_back(candidate);
      continue;
    }
    if (counts && !(barred && barred(candidate))) ++places;
    taken.push_back(candidate);
  }
  ranked = std::move(left);
  return taken;
}

double floor_us(const Problem& problem, const Device& device) {
  double bytes_per_s = 0;
  double flops_per_s = 0;
  if (device.kind() == DeviceKind::cpu) {
    const CpuProfile& cpu = device.profile().cpu;
    bytes_per_s = dram_bytes_per_s(cpu, cpu.threads);
    flops_per_s = flops_per_core(cpu, problem) * cpu.threads;
  } else {
    bytes_per_s = device.profile().cuda.memory_bytes_per_s;
    flops_per_s = cuda_flops(problem, device.profile().cuda);
  }
  return 1e6 * std::max(problem.bytes() / bytes_per_s, problem.flops() / flops_per_s);
}

}  // namespace gemwright::model
