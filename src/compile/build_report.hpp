// What the compiler said of a kernel.
#pragma once

#include <cstddef>
#include <string>

namespace gemwright {

/// What compiling a kernel said; zero or empty where there is nothing to compile.
struct BuildReport {
  int registers = 0;
  int spill_bytes = 0;
  std::size_t shared_bytes = 0;          // static
  std::size_t dynamic_shared_bytes = 0;  // asked for at each launch
  double compile_ms = 0;                 // 0 when it came from the cache
  std::string log;                       // warnings
};

}  // namespace gemwright
