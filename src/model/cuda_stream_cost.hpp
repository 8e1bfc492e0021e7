// Predicted time of the streaming GEMM kernels on an NVIDIA GPU: the time line of a launch whose
// work is to read the weights once.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

namespace gemwright::model {

/// What a kernel of cuda_stream does, as far as its time goes. Bytes are of one launch unless said
/// otherwise.
struct StreamWork {
  bool ring = false;        // bulk copies and wgmma, else loads into mma.sync fragments
  double weight_bytes = 0;  // distinct, from memory
  double row_bytes = 0;     // activations that one CTA reads
  double output_bytes = 0;
  double ctas = 1;             // in all
  int ctas_per_sm = 1;         // resident
  int multiprocessors = 1;     // that can hold them
  int split = 1;               // CTAs that share K and sum through the cluster's shared memory
  int rows = 16;               // of weights, a CTA
  int cols = 8;                // of activations, padded
  double blocks_of_k = 0;      // ring: of 128 bytes, that one CTA multiplies
  double bytes_in_flight = 0;  // of weights, a CTA
};

/// Tens of nanoseconds.
Estimate stream_time(const CudaProfile& gpu, const StreamWork& work);

}  // namespace gemwright::model
