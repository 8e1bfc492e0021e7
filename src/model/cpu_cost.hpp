// Predicted time of GEMM kernels on a CPU, from first principles: bytes through each level of
// memory, instructions of the inner loop, packing, imbalance of threads, fork and join. Each
// function takes some tens of nanoseconds.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"
#include <gemwright/problem.hpp>

#include <cstdint>

namespace gemwright::model {

/// The product and how it is shared out; common to the kinds of kernel below.
struct CpuWork {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double bytes_a = 4, bytes_b = 4;  // of an element in memory
  double bytes_d = 4;               // D, and C where it is read
  int threads = 1;
  int split = 1;                          // shares of K
  std::int64_t cells_m = 1, cells_n = 1;  // parts of D that threads take, per batch entry and share
  double flops_per_s = 0;                 // of one core, by the multiply-adds of this kernel
  /// Instructions that widen a vector of B, per multiply-add of one row of A with it.
  double widening = 0;
};

/// A kernel that keeps a tile of D in registers and walks blocks of packed (or packable) operands.
struct BlockedWork : CpuWork {
  std::int64_t rows = 1, columns = 16;  // of the register tile, at most
  std::int64_t rows_block = 0, columns_block = 0, depth_block = 0;
  double packed_a = 4, packed_b = 4;  // bytes of an element once packed
  bool pack_b = true;                 // else B is read as it lies
  bool transpose_b = false;           // packing turns rows along K into columns
  bool rows_of_b = false;             // B is read in place, a piece of a row at a time
  double unpack_s = 0;                // to make an element of a panel where B is not numbers
};

/// A kernel that streams B once past a few rows of A, as dot products along K.
struct StreamingWork : CpuWork {
  std::int64_t rows = 1;     // of A that one pass over B serves
  std::int64_t columns = 1;  // of B side by side in the inner loop
  double packed_a = 4;       // bytes of an element of A once packed
  int lanes = 16;            // products of a vector
};

Estimate cpu_blocked_cost(const CpuProfile& cpu, const BlockedWork& work);
Estimate cpu_streaming_cost(const CpuProfile& cpu, const StreamingWork& work);

/// A vendor library with `threads` threads: roofline, with the part of either rate that such a
/// library reaches.
Estimate cpu_vendor_cost(const Problem& problem, const CpuProfile& cpu, int threads);

}  // namespace gemwright::model
