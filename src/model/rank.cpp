#include "model/rank.hpp"

#include "device/profile.hpp"
#include "model/cpu_rates.hpp"

#include <algorithm>
#include <cstddef>

namespace gemwright::model {
namespace {

double cuda_flops(const Problem& problem, const CudaProfile& gpu) {
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
  std::stable_sort(ranked.begin(), ranked.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate.us < b.estimate.us;
  });
  ranked.insert(ranked.end(), vendor.begin(), vendor.end());
  return ranked;
}

std::vector<Candidate> prune(std::vector<Candidate> ranked, int own) {
  if (own <= 0) return ranked;
  int kept = 0;
  std::erase_if(ranked, [&](const Candidate& candidate) {
    return !candidate.family->vendor() && ++kept > own;
  });
  return ranked;
}

double floor_us(const Problem& problem, const Device& device) {
  double bytes_per_s = 0;
  double flops_per_s = 0;
  if (device.kind() == DeviceKind::cpu) {
    const CpuProfile& cpu = device.profile().cpu;
    bytes_per_s = dram_bytes_per_s(cpu, cpu.threads);
    flops_per_s = flops_per_core(cpu, problem.a.type, problem.b.type) * cpu.threads;
  } else {
    bytes_per_s = device.profile().cuda.memory_bytes_per_s;
    flops_per_s = cuda_flops(problem, device.profile().cuda);
  }
  return 1e6 * std::max(problem.bytes() / bytes_per_s, problem.flops() / flops_per_s);
}

}  // namespace gemwright::model
