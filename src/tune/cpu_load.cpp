#include "tune/cpu_load.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include <sys/times.h>

namespace gemwright::tune {

CpuLoad::CpuLoad() : start_(now()) {}

CpuLoad::Times CpuLoad::now() {
  // user nice system idle iowait irq softirq steal
  std::array<double, 8> ticks{};
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  for (double& value : ticks) file >> value;
  Times result;
  for (const double value : ticks) result.all += value;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIoWait = 4;
  result.busy = result.all - ticks[kIdle] - ticks[kIoWait];
  tms own{};
  times(&own);
  result.own = static_cast<double>(own.tms_utime + own.tms_stime);
  return result;
}

double CpuLoad::others() const {
  const Times end = now();
  const double all = end.all - start_.all;
  if (all <= 0) return 0;
  const double others = (end.busy - start_.busy) - (end.own - start_.own);
  return std::clamp(others / all, 0.0, 1.0);
}

}  // namespace gemwright::tune
