// What every GEMM kernel is given. The host fills it and passes it by value; the layout is the same
// on both sides (8-byte members first, no pointers to host memory), so this file is read by both.
#pragma once

namespace gemwright_device {

/// D[m,n] = alpha * A[m,k] * B[k,n] + beta * C[m,n] + bias, for each of `batch` entries.
/// Strides are in elements. Dimensions are below 2^31; linear offsets are 64-bit.
struct GemmParams {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  void* workspace;  // fp32 partials of split-K, after the counters
  unsigned* counters;  // zero before the launch, zero after it
  long long a_row, a_col, a_batch;
  long long b_row, b_col, b_batch;
  long long c_row, c_col, c_batch;
  long long d_row, d_col, d_batch;
  int m, n, k, batch;
  float alpha, beta;
};

}  // namespace gemwright_device
