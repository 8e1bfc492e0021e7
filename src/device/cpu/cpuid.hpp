// What the processor says of itself.
#pragma once

#include "device/profile.hpp"

#include <string>

namespace gemwright::cpu {

/// Vendor, family, model and stepping as CPUID has them (extended fields added in), and the brand
/// string, which hypervisors often blank. All zero and empty on other processors.
struct Identity {
  std::string vendor;
  int family = 0;
  int model = 0;
  int stepping = 0;
  std::string brand;
  bool amx = false;  // whether it has tiles, allowed or not
};

Identity identity();

/// Instruction sets that the processor has and the operating system lets this process use. Asks
/// Linux for the AMX tile state where the processor has it. All false on other processors.
CpuFeatures features();

}  // namespace gemwright::cpu
