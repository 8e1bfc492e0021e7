// Predicted time of the low-bit streaming kernel (cuda_lowbit) on an NVIDIA GPU.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

namespace gemwright::model {

/// What a launch does, as far as its time goes. Bytes are of one launch unless said otherwise.
struct LowbitWork {
  double weight_bytes = 0;      // codes and scales, from memory
  double activation_bytes = 0;  // that one CTA copies
  double row_blocks = 1;        // rounds of the weight: rows of A over `cols`
  double ctas = 1;              // of one round
  double blocks_of_k = 0;       // of 64 columns, that a warp takes a pass
  int passes = 1;
  int tiles = 4;  // of 16 weight rows, a warp and pass
  int warps = 8;  // a CTA
  int cols = 8;
  int split = 1;
  int ctas_per_sm = 1;
  double scale_groups = 1;  // of 64 columns
  double stage_bytes = 0;   // of all warps of a CTA
  int stages = 4;
  bool table = true;  // of pairs of codes, that is filled first
};

/// Tens of nanoseconds.
Estimate lowbit_time(const CudaProfile& gpu, const LowbitWork& work);

}  // namespace gemwright::model
