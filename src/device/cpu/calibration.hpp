// Constants of this machine's CPU: measured once, kept in the user's cache folder.
#pragma once

#include "device/profile.hpp"

#include <filesystem>
#include <string>

namespace gemwright::cpu {

/// Where the constants of a CPU at its number of threads are kept.
std::filesystem::path calibration_path(const DeviceProfile& profile);

/// Takes the kept constants into the profile. False, and nothing changed, when there are none, or
/// they are of another CPU, another version of the calibration, or make no sense.
bool attach_calibration(DeviceProfile& profile);

/// As gemwright::calibrated, for a CPU. Two processes that measure at once would disturb each
/// other, so that one waits; but for `patience_s` only, as the other may hang.
Device calibrated(const Device& device, bool again, double patience_s = 30);

/// The constants as text, and back; the second is false when the text is not of this CPU.
std::string calibration_text(const DeviceProfile& profile);
bool parse_calibration(const std::string& text, DeviceProfile& profile);

}  // namespace gemwright::cpu
