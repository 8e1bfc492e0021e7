// This machine's CPU as a device profile.
#pragma once

#include "device/profile.hpp"

namespace gemwright::cpu {

/// Facts, and the constants of the nearest known CPU until a calibration replaces them. Reads a few
/// small files; measures nothing.
DeviceProfile detect();

}  // namespace gemwright::cpu
