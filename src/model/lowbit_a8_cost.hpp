// Predicted time of the fp8 kernel for low-bit weights (cuda_lowbit_a8) on an NVIDIA GPU.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"

namespace gemwright::model {

/// How codes become e4m3: they are, they are looked up, or their scales are a part of them besides.
enum class Decoding { none, looked_up, scaled };

/// What its two launches do, as far as their time goes. A tile is 64 weight rows for each consumer
/// of a cluster by `cols` rows of activations; a window is 128 of K.
struct LowbitA8Work {
  double tiles = 1;
  double windows = 1;
  int cols = 128;
  int consumers = 2;  // of a CTA
  int cluster = 1;    // CTAs that bring their activations together
  int sums = 1;       // that are scaled, a window
  Decoding decoding = Decoding::looked_up;
  double weight_bytes = 0;
  double activation_elements = 0;
  int activation_bytes = 2;  // an element
};

/// Microseconds of the launch that rounds A: elements, and bytes read and written of each.
double rounding_us(const CudaProfile& gpu, double elements, int bytes);

/// Tens of nanoseconds.
Estimate lowbit_a8_time(const CudaProfile& gpu, const LowbitA8Work& work);

}  // namespace gemwright::model
