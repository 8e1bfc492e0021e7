#include "families/family.hpp"

#include <array>

namespace gemwright::families {

// One line a family, each defined in its own folder.
const Family& cpu_reference();

std::span<const Family* const> all() {
  static const std::array families = {
      &cpu_reference(),
  };
  return families;
}

const Family* find(std::string_view name) {
  for (const Family* family : all()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

}  // namespace gemwright::families
