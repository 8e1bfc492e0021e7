// What the streaming kernel on bulk copies is given beside its descriptors. Read by host and
// device.
#pragma once

#include "params.cuh"

namespace gemwright_device {

struct StreamParams {
  GemmParams gemm;
  int rows;    // of weights that a CTA takes at a time; any number up to 64 a consumer
  int tiles;   // of `rows` weight rows, in one batch entry
  int stages;  // of the ring
  int early;   // the weights are not written by the kernel before this one
};

}  // namespace gemwright_device
