// Predicted time of decoding a packed low-bit weight to memory (cuda_lowbit_decoded).
#pragma once

#include "device/profile.hpp"

namespace gemwright::model {

/// Microseconds that the launch adds to those of the dense product that follows. Bytes of the
/// packed weight and of the decoded one.
double lowbit_decoding_us(const CudaProfile& gpu, double read, double written);

}  // namespace gemwright::model
