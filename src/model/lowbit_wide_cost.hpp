// Predicted time of the low-bit wgmma kernel (cuda_lowbit_wide) on an NVIDIA GPU.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

namespace gemwright::model {

/// What a launch does, as far as its time goes. A tile is 64 weight rows for each consumer by
/// `cols` rows of activations; a block is 64 of K.
struct LowbitWideWork {
  double tiles = 1;
  double blocks = 1;
  int cols = 128;
  int consumers = 2;
  int split = 1;
  bool across = false;  // the consumers share K: a tile is 64 weight rows
  bool stream_k = false;
  double sums_scaled = 0;         // times that a block's sums are scaled, in fp32
  bool sums_activations = false;  // of groups, for real zero points
  int parts = 1;                  // of the columns, whose sums are scaled by turns
  bool scales_weights = false;    // before they are multiplied
  bool arithmetic = false;        // codes become numbers without a table
  bool overlaps = true;           // a consumer decodes while it multiplies
  double rows_read = 128;         // of A, a tile
  double row_bytes = 34;          // of a weight row's block, scales included
  double weight_bytes = 0;
  double output_bytes = 0;
};

/// Clusters of `split` CTAs, one a multiprocessor, that are resident at once.
int clusters_at_a_time(int split, int multiprocessors);

/// Tens of nanoseconds.
Estimate lowbit_wide_time(const CudaProfile& gpu, const LowbitWideWork& work);

}  // namespace gemwright::model
