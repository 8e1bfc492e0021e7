// Cores and caches that this process has, from Linux.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace gemwright::cpu {

struct Caches {
  std::size_t l1_bytes = 0;  // data
  std::size_t l2_bytes = 0;
  std::size_t l3_bytes = 0;  // 0: there is none, or it is not told
};

/// Where Linux tells; a test brings its own files.
struct Roots {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
};

/// Logical CPUs of this process's affinity mask.
std::vector<int> allowed_cpus();

/// The first of `cpus` on every physical core.
std::vector<int> one_cpu_per_core(const std::vector<int>& cpus, const Roots& roots = {});

/// Physical cores among `cpus` (two threads of one core share its FMA units, so they count once),
/// no more than the CPU quota of the control group; at least 1.
int usable_cores(const std::vector<int>& cpus, const Roots& roots = {});

/// Caches that the first of `cpus` sees.
Caches caches(int cpu, const Roots& roots = {});

/// CPUs' worth of time that the process's control groups (v2, else v1) allow; 0: no limit.
double cpu_quota(const Roots& roots = {});

/// Parses "0-3,8" as Linux writes sets of CPUs; what does not parse is left out.
std::vector<int> parse_cpu_list(std::string_view text);

}  // namespace gemwright::cpu
