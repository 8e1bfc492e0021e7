#include "device/cpu/detect.hpp"

#include "device/cpu/cpuid.hpp"
#include "device/cpu/naming.hpp"
#include "device/cpu/topology.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace gemwright::cpu {
namespace {

/// Typical constants per core, used until the calibration has run.
struct Typical {
  std::string_view slug_part;
  double f32_flops, bf16_flops;
  double dram_1, dram_per_core, dram_most;
  double l3, l2;
};

// Zen 4 and Emerald Rapids as measured on virtual machines (docs/performance.md); the others follow
// from FMA units, vector width and a sustained clock of about 3 GHz.
constexpr std::array kTypical = {
    Typical{"zen4", 114e9, 228e9, 24e9, 25e9, 300e9, 76e9, 110e9},
    Typical{"zen5", 200e9, 400e9, 30e9, 30e9, 400e9, 80e9, 200e9},
    Typical{"zen", 90e9, 90e9, 20e9, 20e9, 150e9, 50e9, 90e9},
    Typical{"rapids", 175e9, 85e9, 15e9, 13e9, 250e9, 26e9, 118e9},
    Typical{"lake", 90e9, 90e9, 12e9, 10e9, 120e9, 20e9, 90e9},
};

void fill_typical(CpuProfile& cpu, std::string_view slug) {
  Typical typical{"", 8e9, 8e9, 10e9, 8e9, 50e9, 20e9, 40e9};
  if (cpu.features.avx2_fma) typical.f32_flops = typical.bf16_flops = 80e9;
  if (cpu.features.avx512) typical.f32_flops = typical.bf16_flops = 120e9;
  for (const Typical& entry : kTypical) {
    if (slug.find(entry.slug_part) != std::string_view::npos) {
      typical = entry;
      break;
    }
  }
  cpu.f32_flops = typical.f32_flops;
  cpu.bf16_flops = cpu.features.avx512_bf16 ? typical.bf16_flops : typical.f32_flops;
  cpu.dram_bytes_per_s_1 = typical.dram_1;
  cpu.dram_bytes_per_s_all =
      std::max(typical.dram_1, std::min(typical.dram_per_core * cpu.threads, typical.dram_most));
  cpu.l3_bytes_per_s = typical.l3;
  cpu.l2_bytes_per_s = typical.l2;
}

// The kernel's version alone: what a distribution or a provider adds to it names builds, not
// behaviour.
std::string operating_system() {
  utsname system{};
  if (uname(&system) != 0) return "unknown";
  const std::string_view release = system.release;
  return fmt::format("{} {}", system.sysname,
                     release.substr(0, release.find_first_not_of("0123456789.")));
}

}  // namespace

DeviceProfile detect() {
  const Name name = name_of(identity());
  const std::vector<int> cpus = allowed_cpus();
  const Caches cache = caches(cpus.front());

  DeviceProfile profile;
  profile.kind = DeviceKind::cpu;
  profile.name = name.name;
  profile.slug = name.slug;
  profile.driver = operating_system();
  profile.cpu.features = features();
  profile.cpu.cores = usable_cores(cpus);
  profile.cpu.threads = profile.cpu.cores;
  if (cache.l1_bytes > 0) profile.cpu.l1_bytes = cache.l1_bytes;
  if (cache.l2_bytes > 0) profile.cpu.l2_bytes = cache.l2_bytes;
  profile.cpu.l3_bytes = cache.l3_bytes;
  fill_typical(profile.cpu, profile.slug);
  return profile;
}

}  // namespace gemwright::cpu
