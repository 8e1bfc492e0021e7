// What other processes do to a measurement on the CPU.
#pragma once

namespace gemwright::tune {

/// Measures from its construction on.
class CpuLoad {
 public:
  CpuLoad();
  /// Share of the machine's processor time since then that others than this process took, 0 to 1,
  /// time stolen by the hypervisor included; 0 where the system does not tell.
  double others() const;

 private:
  struct Times {
    double busy = 0;  // of all processors, in ticks
    double all = 0;
    double own = 0;
  };
  static Times now();
  Times start_;
};

}  // namespace gemwright::tune
