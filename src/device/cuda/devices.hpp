// CUDA devices: those of this machine, and those that are known without being here.
#pragma once

#include <gemwright/device.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::cuda {

/// Devices that the driver shows; 0 when there is no driver or no device.
int device_count();

/// Device of an ordinal, calibrated constants attached where they are kept. Throws DeviceError that
/// says what is missing (driver, device).
Device device(int ordinal);

/// Description of a GPU of the table by slug, with or without "nvidia-" ("l40s"); else nothing.
std::optional<Device> known_device(std::string_view slug);

/// Slugs of the table, for messages.
std::vector<std::string> known_slugs();

}  // namespace gemwright::cuda
