// NVRTC, opened at run time.
#pragma once

#include "compile/compiler.hpp"

#include <string>
#include <vector>

namespace gemwright::compile {

/// Version of the NVRTC that was found, as in "nvrtc13.0"; empty when there is none, and `why` (may
/// be null) says so.
const std::string& nvrtc_version(std::string* why = nullptr);

/// What decides the machine code beside the sources and the compiler.
std::vector<std::string> nvrtc_options(const Source& source);

/// Compiles the preamble and the file. Throws Error with the log when that fails.
Compiled nvrtc_compile(const Source& source);

/// Registers, spills, shared memory and warnings out of the log of ptxas -v. `log` keeps every line
/// that is not plain information: warnings, C75xx remarks, and the use of a stack frame.
BuildReport parse_log(const std::string& log);

}  // namespace gemwright::compile
