// Predicted time of the warp-specialised Hopper GEMM.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

#include <cstdint>

namespace gemwright::model {

/// How an input comes into shared memory: by bulk copies, or by threads that read 16 bytes or one
/// element at a time.
enum class Ingest : std::uint8_t { bulk, vectors, elements };

/// Sizes are of the product as the kernel sees it (M and N exchanged where it computes the
/// transpose); the rest is the setting's.
struct HopperWork {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  int input_bytes = 2, output_bytes = 2;  // of an element
  int tile_m = 128, tile_n = 128, stages = 4;
  int cluster_m = 1, cluster_n = 1;
  int split = 1;
  bool stream_k = false;
  int consumers = 2;
  bool ping_pong = false;
  bool warps = false;  // mma.sync instead of wgmma, consumers side by side along N
  Ingest ingest_a = Ingest::bulk, ingest_b = Ingest::bulk;
};

/// About a tenth of a microsecond.
Estimate hopper_cost(const HopperWork& work, const CudaProfile& gpu);

}  // namespace gemwright::model
