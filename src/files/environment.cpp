#include "files/environment.hpp"

#include <cstdlib>

namespace gemwright::files {

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace gemwright::files
