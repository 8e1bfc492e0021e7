// Predicted time of the warp-specialised Hopper GEMM.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

#include <cstdint>
#include <span>

namespace gemwright::model {

/// How an input comes into shared memory: by bulk copies, or by threads that read 16 bytes or one
/// element at a time.
enum class Ingest : std::uint8_t { bulk, vectors, elements };

/// The product as the kernel sees it (M and N exchanged where it computes the transpose).
struct HopperProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  int input_bytes = 2, output_bytes = 2;  // of an element
  bool warps = false;  // mma.sync instead of wgmma, consumers side by side along N
  Ingest ingest_a = Ingest::bulk, ingest_b = Ingest::bulk;
};

/// Counts are whole numbers.
struct HopperSetting {
  double tile_m = 128, tile_n = 128, stages = 4;
  double cluster_m = 1, cluster_n = 1;
  double split = 1;
  double consumers = 2;
  bool stream_k = false;
  bool ping_pong = false;
};

/// Of each setting; tens of nanoseconds each.
void hopper_times(const CudaProfile& gpu, const HopperProduct& product,
                  std::span<const HopperSetting> settings, std::span<Estimate> estimates);

}  // namespace gemwright::model
