// Constants of this machine's GPUs: measured once, kept in the user's cache folder.
#pragma once

#include "device/profile.hpp"

namespace gemwright::cuda {

/// Takes the kept constants into the profile. False, and nothing changed, when there are none, or
/// they are of another GPU or another version of the calibration.
bool attach_calibration(DeviceProfile& profile);

/// As gemwright::calibrated, for a GPU: a few tenths of a second beside compiling one kernel.
Device calibrated(const Device& device, bool again);

}  // namespace gemwright::cuda
