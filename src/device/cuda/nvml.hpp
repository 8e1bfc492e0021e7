// NVIDIA's management library, opened at run time where it is there.
#pragma once

namespace gemwright::cuda {

/// Clock that a device's multiprocessors run at just now, in GHz; 0 when it cannot be known.
double sm_clock_ghz(int ordinal);

}  // namespace gemwright::cuda
