// What the warp-specialised Hopper GEMM is given beside its descriptors. Read by host and device.
#pragma once

#include "params.cuh"

namespace gemwright_device {

struct HopperParams {
  GemmParams gemm;
  unsigned long long a_policy, b_policy;  // L2 policies of the copies
  int tiles_m, tiles_n;                   // in tiles of a whole cluster
  int along_n;                            // tiles run along n inside a group, else along m
  int streamed;  // tiles whose k-blocks are dealt out evenly (stream-K), the first ones
  int share;     // k-blocks of those that each cluster takes
  int padding;
};

}  // namespace gemwright_device
