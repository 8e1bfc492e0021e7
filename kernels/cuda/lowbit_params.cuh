// What the low-bit kernels are given beside the dense ones' parameters. Read by host and device.
#pragma once

#include "hopper_params.cuh"

namespace gemwright_device {

/// A packed weight (docs/formats.md): pointers to its sections.
struct LowbitWeight {
  const void* codes;
  const void* scales;
  const void* zeros;
  const float* table;         // null where codes are computed
  const float* global_scale;  // null where there is none
  const int* order;           // of the columns; null where they stand as in W
  int blocks;                 // of 64 columns
  int sets;                   // of scales that stand together, in a row
};

struct LowbitParams {
  GemmParams gemm;
  LowbitWeight weight;
  int tiles;   // of 16 weight rows
  int share;   // tiles of a cluster
  int passes;  // in which a cluster takes them
  int slots;   // of the ring of activations
  int early;   // the weight is not written by the kernel before this one
  int padding;
};

/// Of kernels with one grid of tiles.
struct LowbitTileParams {
  GemmParams gemm;
  LowbitWeight weight;
};

/// Of the wgmma kernel, which sees D^T = W * A^T: the weight is its A, of N rows.
struct LowbitWideParams {
  HopperParams hopper;
  LowbitWeight weight;
  int wide_tiles;  // of 64 weight rows
  int early;       // as above
};

/// Of decode_weight: codes to numbers, [n, k] in rows `pitch` elements apart, and what is left over
/// for each row to be multiplied by.
struct DecodeParams {
  LowbitWeight weight;
  void* out;
  float* factors;
  long long pitch;  // a multiple of 8, at least K; what is past K may be anything
  int n;
  int padding;
};

/// Of quantise_rows: A[m, k] to codes, in rows of `pitch`, and scales.
struct QuantiseParams {
  const void* a;
  const int* order;  // as above
  void* codes;
  float* scales;
  long long a_row, a_col;
  int m, k;
  int pitch;  // a multiple of 16, at least K
  int padding;
};

}  // namespace gemwright_device
