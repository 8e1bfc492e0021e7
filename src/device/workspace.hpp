// Workspace memory of a device's streams.
#pragma once

#include <gemwright/device.hpp>

#include <cstddef>

namespace gemwright::device {

/// At least `bytes` of zeroed device memory that belongs to the stream; the same block again on
/// later calls, regrown when a larger one is asked for. CUDA devices only. Throws DeviceError when
/// there is no memory, or when it would have to grow while the stream is captured.
void* stream_workspace(const Device& device, Stream stream, std::size_t bytes);

}  // namespace gemwright::device
