#include "device/cpu/topology.hpp"

#include "files/files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace gemwright::cpu {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::string text = files::read(path).value_or("");
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

std::filesystem::path cpu_folder(const Roots& roots, int cpu) {
  return roots.sys / "devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

// "48K", "2M" or plain bytes.
std::size_t parse_size(const std::string& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  const char unit = end == text.data() + text.size() ? ' ' : *end;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

double smaller_limit(double a, double b) {
  if (a <= 0) return b;
  return b <= 0 ? a : std::min(a, b);
}

// Two numbers, "max" reading as none: time allowed in every period.
double quota_of(const std::string& quota, const std::string& period) {
  const double allowed = std::atof(quota.c_str());
  const double every = std::atof(period.c_str());
  return allowed > 0 && every > 0 ? allowed / every : 0;
}

// A group is bound by its own limit and by those of all groups above it.
double limit_upwards(const std::filesystem::path& root, const std::string& group, bool version2) {
  double limit = 0;
  for (std::filesystem::path folder = group;; folder = folder.parent_path()) {
    const auto here = root / folder.relative_path();
    if (version2) {
      std::istringstream text(text_of(here / "cpu.max"));
      std::string quota;
      std::string period;
      text >> quota >> period;
      limit = smaller_limit(limit, quota_of(quota, period));
    } else {
      limit = smaller_limit(
          limit, quota_of(text_of(here / "cpu.cfs_quota_us"), text_of(here / "cpu.cfs_period_us")));
    }
    if (folder.relative_path().empty()) return limit;
  }
}

Caches caches_from_libc() {
  const auto size = [](int name) {
    const long bytes = sysconf(name);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  };
  return {size(_SC_LEVEL1_DCACHE_SIZE), size(_SC_LEVEL2_CACHE_SIZE), size(_SC_LEVEL3_CACHE_SIZE)};
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  std::istringstream stream{std::string(text)};
  for (std::string range; std::getline(stream, range, ',');) {
    int first = 0;
    const char* end = range.data() + range.size();
    auto [next, error] = std::from_chars(range.data(), end, first);
    if (error != std::errc()) continue;
    int last = first;
    if (next != end && *next == '-') std::from_chars(next + 1, end, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
    }
  }
  // More CPUs than the fixed-size mask holds: all that are online.
  if (cpus.empty()) {
    const long online = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < online; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> one_cpu_per_core(const std::vector<int>& cpus, const Roots& roots) {
  std::set<int> cores;
  std::vector<int> chosen;
  for (const int cpu : cpus) {
    const auto siblings =
        parse_cpu_list(text_of(cpu_folder(roots, cpu) / "topology/thread_siblings_list"));
    if (cores.insert(siblings.empty() ? cpu : siblings.front()).second) chosen.push_back(cpu);
  }
  return chosen;
}

int usable_cores(const std::vector<int>& cpus, const Roots& roots) {
  int count = std::max<int>(1, static_cast<int>(one_cpu_per_core(cpus, roots).size()));
  if (const double quota = cpu_quota(roots); quota > 0) {
    // Rounded down: a thread that is throttled while others wait for it costs more than it adds.
    count = std::min(count, std::max(1, static_cast<int>(std::floor(quota))));
  }
  return count;
}

double cpu_quota(const Roots& roots) {
  double limit = 0;
  std::istringstream groups(text_of(roots.proc / "self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      limit = smaller_limit(limit, limit_upwards(roots.sys / "fs/cgroup", group, true));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      limit = smaller_limit(limit, limit_upwards(roots.sys / "fs/cgroup/cpu", group, false));
    }
  }
  return limit;
}

Caches caches(int cpu, const Roots& roots) {
  Caches found;
  for (int index = 0; index < 8; ++index) {
    const auto folder = cpu_folder(roots, cpu) / ("cache/index" + std::to_string(index));
    const std::string level = text_of(folder / "level");
    if (text_of(folder / "type") == "Instruction") continue;
    const std::size_t bytes = parse_size(text_of(folder / "size"));
    if (level == "1") found.l1_bytes = bytes;
    if (level == "2") found.l2_bytes = bytes;
    if (level == "3") found.l3_bytes = bytes;
  }
  return found.l1_bytes > 0 ? found : caches_from_libc();
}

}  // namespace gemwright::cpu
