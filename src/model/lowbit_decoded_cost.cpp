#include "model/lowbit_decoded_cost.hpp"

namespace gemwright::model {

// An H200, 4096x4096 and 28672x4096 (docs/performance/lowbit.md).
double lowbit_decoding_us(const CudaProfile& gpu, double read, double written) {
  constexpr double kStartUs = 1.0;  // a launch, and the product's wait for it
  constexpr double kRate = 0.88;    // of the memory's, most of it writes
  return kStartUs + 1e6 * (read + written) / (kRate * gpu.memory_bytes_per_s);
}

}  // namespace gemwright::model
