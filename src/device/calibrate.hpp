// The device with constants measured on this machine in place of typical ones.
#pragma once

#include <gemwright/device.hpp>

namespace gemwright {

/// Nothing is measured when the device is calibrated already or its constants are kept in the
/// user's cache folder, unless `again`. Else measures (about a second, never over three) and
/// keeps the result; a disk that refuses is logged and harms nothing. A device that is only
/// described is returned as it is. Safe from many threads and processes.
Device calibrated(const Device& device, bool again = false);

}  // namespace gemwright
