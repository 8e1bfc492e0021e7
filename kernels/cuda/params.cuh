// What every GEMM kernel is given. The host fills it and passes it by value; the layout is the same
// on both sides (8-byte members first, no pointers to host memory), so this file is read by both.
#pragma once

namespace gemwright_device {

/// Counters of split-K lie in the first bytes of every workspace, whatever the kernel: a kernel
/// that needs scratch takes it after them, so that workspaces may be shared by plans in turn.
constexpr int kCounterBytes = 64 << 10;
constexpr int kMaxCounters = kCounterBytes / 4;

/// D[m,n] = alpha * A[m,k] * B[k,n] + beta * C[m,n] + bias, for each of `batch` entries.
/// Strides are in elements. Dimensions are below 2^31; linear offsets are 64-bit.
struct GemmParams {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  // Of A B, beside alpha: by row and by column of D. Read by kernels that are built for them.
  const float* row_factors;
  const float* column_factors;
  void* workspace;     // fp32 partials of split-K, after the counters
  unsigned* counters;  // zero before the launch, zero after it
  long long a_row, a_col, a_batch;
  long long b_row, b_col, b_batch;
  long long c_row, c_col, c_batch;
  long long d_row, d_col, d_batch;
  int m, n, k, batch;
  int splits;  // CTAs that share one tile's K
  int group;   // rows of tiles that are walked together, for the L2 cache
  float alpha, beta;
};

}  // namespace gemwright_device
