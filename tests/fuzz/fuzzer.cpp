// One libFuzzer program for each target, chosen by the build.
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gemwright::fuzz::GEMWRIGHT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
