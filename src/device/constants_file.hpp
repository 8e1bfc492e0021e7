// Measured constants of a device as text: what a calibration keeps.
#pragma once

#include <span>
#include <string>

namespace gemwright {

struct NamedConstant {
  const char* name;
  double* value;
};

/// JSON with the version of the measurement, the device's key and each constant.
std::string constants_text(int version, const std::string& device,
                           std::span<const NamedConstant> constants);

/// Sets every constant from such a text. False, and nothing set, when the text is of another
/// version or device, or a constant is missing or not a positive number.
bool parse_constants(const std::string& text, int version, const std::string& device,
                     std::span<const NamedConstant> constants);

}  // namespace gemwright
