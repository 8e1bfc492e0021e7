// Which source this build is of.
#pragma once

#include <string>

namespace gemwright::cli {

/// The commit, with "-dirty" where the working tree differs from it; "unknown" outside of git. Of a
/// source file that each build makes anew where it changes.
std::string commit();

}  // namespace gemwright::cli
