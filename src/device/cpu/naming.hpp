// Names of CPUs for people and for files.
#pragma once

#include "device/cpu/cpuid.hpp"

#include <string>

namespace gemwright::cpu {

struct Name {
  std::string name;  // "AMD EPYC 9R14 (Zen 4)", "Intel Xeon (Emerald Rapids)"
  std::string slug;  // "amd-epyc-zen4", "intel-xeon-emerald-rapids"
};

/// From family and model, so that a hidden brand string does not matter. Unknown models, and those
/// that a virtual machine tells of while it has what they have not, are named by their numbers:
/// "intel-xeon-6-250".
Name name_of(const Identity& identity);

}  // namespace gemwright::cpu
