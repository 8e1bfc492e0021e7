// Predicted time of a tiled GEMM kernel on an NVIDIA GPU, from first principles.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

#include <cstdint>

namespace gemwright::model {

/// What a kernel does, as far as its time goes. Sizes are of the product as the kernel sees it
/// (exchange M and N where it computes the transpose).
struct TiledWork {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool shared_a = false, shared_b = false;  // the batch shares one A, one B
  double bytes_a = 2, bytes_b = 2;          // of an element in memory
  double bytes_out = 2;                     // D, and C where it is read
  int tile_m = 128, tile_n = 128, tile_k = 32;
  int splits = 1;
  int group = 8;            // rows of tiles that are walked together
  int ctas_per_sm = 1;      // that registers and shared memory allow
  bool persistent = false;  // one CTA keeps its place for all its tiles: no refill between them
  int stages = 3;           // of the ring, the one at work included
  double multicast_a = 1, multicast_b = 1;  // CTAs that one L2 read of A, of B serves
  double flops_per_s = 0;  // of the whole device, by the instructions and operands of this kernel
  double step_overhead_s = 25e-9;  // barriers of one k-tile, that other CTAs of the SM may hide
  double reduce_s = 1.46e-6;       // split-K: fences and the arrival, without the partials
};

/// About a tenth of a microsecond.
Estimate tiled_time(const CudaProfile& gpu, const TiledWork& work);

}  // namespace gemwright::model
