// From device code to cubins: NVRTC behind an on-disk cache. Works without a GPU.
#pragma once

#include "compile/build_report.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gemwright::compile {

/// One kernel to build: a file of kernels/cuda, and constexpr lines put before it.
struct Source {
  std::string file;            // "gemm_mma.cu"
  std::string preamble;        // a few lines, for instance "constexpr int kTileM = 128;\n"
  std::string kernel_name;     // extern "C" name of the entry
  int sm = 80;                 // 80, 86, 89, 90
  bool arch_specific = false;  // sm_90a: wgmma, setmaxnreg
};

struct Compiled {
  std::shared_ptr<const std::vector<char>> cubin;
  BuildReport report;
};

/// From the cache, else compiled and kept there. Safe from many threads and processes. Throws Error
/// with NVRTC's log when it does not compile, or when NVRTC is missing and the cache has no answer.
Compiled compile(const Source& source);

}  // namespace gemwright::compile
