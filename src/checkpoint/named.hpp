// Errors under the name that the user knows an argument by.
#pragma once

#include <gemwright/errors.hpp>

#include <string>
#include <string_view>

namespace gemwright::checkpoint {

/// The same error, said of `name` in place of the argument: an option as it was typed, a tensor
/// instead of "w".
inline InvalidArgument named(const std::string& name, const InvalidArgument& error) {
  constexpr std::string_view kGiven = ": given ";
  constexpr std::string_view kAllowed = "; allowed: ";
  const std::string text = std::string(error.what()).substr(error.argument().size());
  const std::size_t allowed = text.find(kAllowed);
  if (!text.starts_with(kGiven) || allowed == std::string::npos) return error.within(name);
  return {name, text.substr(kGiven.size(), allowed - kGiven.size()),
          text.substr(allowed + kAllowed.size())};
}

}  // namespace gemwright::checkpoint
