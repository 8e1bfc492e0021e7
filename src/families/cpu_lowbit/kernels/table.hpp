// What the family asks of its kernels, each compiled for its own instruction set.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_lowbit {

/// Rows of A that one pass over the weight serves, at most.
inline constexpr int kMostRows = 8;

/// A packed weight in memory.
struct Weight {
  WeightFormat format;
  formats::PackedLayout layout;
  const std::byte* data = nullptr;
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// Of the codes, rounded as the problem says; unless each row has its own.
  std::array<float, 256> entries{};
  /// The type that entries of a row's own codebook are rounded to.
  DataType entry_type = DataType::f32;
};

/// Rows of A over one row of tiles: sums[row][64] = sum over k of a[row][k] * w[n][k], without the
/// global scale.
struct Task {
  const Weight* weight = nullptr;
  std::int64_t tile_row = 0;
  /// Packed by pack_row, `row_bytes` apart.
  const std::byte* a = nullptr;
  std::int64_t row_bytes = 0;
  int rows = 1;
  float* sums = nullptr;
};

/// K elements of A, `stride` apart, in the order of the weight's packed columns, zero past K.
struct Row {
  const Weight* weight = nullptr;
  const void* a = nullptr;
  DataType type = DataType::f32;
  std::int64_t stride = 1;
  std::byte* out = nullptr;
};

struct KernelTable {
  void (*pack_row)(const Row&);
  void (*multiply)(const Task&);
  /// Bytes of an element of A once packed.
  int a_bytes;
};

/// Any format: codes are decoded to fp32 a tile at a time. Null when the build has none.
const KernelTable* scalar_kernels();
const KernelTable* avx2_kernels();
/// 4-bit codes without zero points whose groups do not run across rows, looked up by permutes.
const KernelTable* avx512_kernels();
/// The same with bf16 dot products: A and the entries are bf16.
const KernelTable* avx512_bf16_kernels();

}  // namespace gemwright::cpu_lowbit
