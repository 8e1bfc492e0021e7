// Predicted time of a tiled GEMM kernel on an NVIDIA GPU, from first principles.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

#include <cstdint>
#include <span>

namespace gemwright::model {

/// Sizes are of the product as the kernel sees it (exchange M and N where it computes the
/// transpose).
struct TiledProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool shared_a = false, shared_b = false;  // the batch shares one A, one B
  double bytes_a = 2, bytes_b = 2;          // of an element in memory
  double bytes_out = 2;                     // D, and C where it is read
};

/// What a kernel does, as far as its time goes. Counts are whole numbers.
struct TiledSetting {
  double tile_m = 128, tile_n = 128, tile_k = 32;
  double splits = 1;
  double ctas_per_sm = 1;  // that registers and shared memory allow
  double stages = 3;       // of the ring, the one at work included
  double shared_a = 1;     // CTAs that one L2 read of A serves
  double flops_per_s = 0;  // of the whole device, by the instructions and operands of this kernel
  double step_overhead_s = 25e-9;  // barriers of one k-tile, that other CTAs of the SM may hide
};

/// Of each setting; tens of nanoseconds each.
void tiled_times(const CudaProfile& gpu, const TiledProduct& product,
                 std::span<const TiledSetting> settings, std::span<Estimate> estimates);

}  // namespace gemwright::model
