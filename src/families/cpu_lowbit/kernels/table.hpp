// What the family asks of its kernels, each compiled for its own instruction set.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_lowbit {

/// Rows of A that one pass of a streaming kernel over the weight serves, at most.
inline constexpr int kMostRows = 8;
/// Rows of W in a panel: columns of B that cpu_packed's micro-kernels take side by side.
inline constexpr std::int64_t kPanelRows = 16;

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

/// Rows [16 panel, 16 panel + 16) of W over tiles [begin, end) of K as numbers, with their zero
/// points and scales but without the global one: out[64 (end - begin)][16]. Anything past N and K.
using DecodePanel = void (*)(const Weight& weight, std::int64_t panel, std::int64_t begin,
                             std::int64_t end, float* out);

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

/// 4-bit codes without zero points whose groups do not run across rows, looked up by permutes as
/// they stream past.
struct StreamKernels {
  void (*pack_row)(const Row&) = nullptr;
  void (*multiply)(const Task&) = nullptr;  ///< null when the instruction set has none
  int a_bytes = 4;                          ///< of an element of A once packed
};

struct KernelTable {
  DecodePanel decode_panel;  ///< any format; null when the instruction set has none
  StreamKernels stream;
};

/// Null when the build has none.
const KernelTable* scalar_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
/// bf16 dot products: A and the entries are bf16.
const KernelTable* avx512_bf16_kernels();

}  // namespace gemwright::cpu_lowbit
