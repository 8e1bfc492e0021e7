// What the environment says: read in this one way.
#pragma once

#include <string>

namespace gemwright::files {

/// An environment variable; empty where it is not set, which means the same everywhere.
std::string environment(const char* variable);

}  // namespace gemwright::files
