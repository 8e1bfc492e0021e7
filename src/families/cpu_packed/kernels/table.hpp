// The kernels of one instruction set, behind plain function pointers.
//
// Every panel holds kPanel columns of B. Compute is fp32 throughout: 16-bit operands are widened,
// except under bf16_dot, which multiplies bf16 pairs.
#pragma once

#include <gemwright/types.hpp>

#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_packed {

inline constexpr int kPanel = 16;
inline constexpr int kMaxRows = 32;       // of a micro-tile
inline constexpr int kMaxPanels = 4;      // of a micro-tile
inline constexpr int kMaxDotRows = 8;     // of A in a dot tile
inline constexpr int kMaxDotColumns = 8;  // of B in a dot tile

/// How a micro-kernel reads B. "pairs" hold two consecutive k of each column side by side, as
/// packed weights of 16-bit types do; "rows" are 16-bit rows of B in place, one k after the other.
enum class Loader : unsigned char { f32, bf16_pairs, f16_pairs, bf16_rows, f16_rows, bf16_dot };
inline constexpr int kLoaders = 6;

/// Values of k that one step of a loader consumes.
constexpr int step_depth(Loader loader) {
  return loader == Loader::f32 || loader == Loader::bf16_rows || loader == Loader::f16_rows ? 1 : 2;
}

/// What a micro-kernel brings towards L2 while it computes. Every four steps: `lines` lines from
/// each of `streams` addresses that are `stride` bytes apart; then all move on by `advance` bytes.
struct Prefetch {
  const char* address = nullptr;
  std::ptrdiff_t stride = 0;
  std::ptrdiff_t advance = 0;
  int streams = 0;
  int lines = 0;
};

/// One micro-tile. A is packed by steps: [step][rows] of fp32 (two k of each row per step for
/// "pairs": [step][2][rows]) or of bf16 pairs for bf16_dot; or by rows, as the table says. The
/// result is [rows][panels * 16].
struct PanelArgs {
  const void* a = nullptr;
  std::ptrdiff_t a_row_bytes = 0;  // where A is packed by rows
  const void* b = nullptr;
  std::ptrdiff_t b_panel_bytes = 0;  // from one panel to the next
  std::ptrdiff_t b_step_bytes = 0;   // from one step to the next
  std::int64_t steps = 0;
  float* tile = nullptr;
  bool accumulate = false;  // onto the tile
  Prefetch prefetch;
};
using PanelKernel = void (*)(const PanelArgs&);

/// How far `ahead` is of what a dot kernel reads when it is the same columns: beyond what the
/// hardware's prefetcher covers, which stops at the ends of pages.
inline constexpr int kDotAhead = 1024;

/// Dot products of rows of A with columns of B that are contiguous along K. A is packed by rows in
/// the loader's order, zero padded to whole vectors. tile[row * tile_stride + column].
struct DotArgs {
  const void* a = nullptr;
  std::ptrdiff_t a_row_bytes = 0;
  const void* b = nullptr;
  std::ptrdiff_t b_column_bytes = 0;
  std::int64_t k = 0;
  float* tile = nullptr;
  std::ptrdiff_t tile_stride = 0;
  // To prefetch, for every column: from `ahead`, 1/ahead_parts of what is read meanwhile; and near
  // the end of K from `next`, unless that is null.
  const char* ahead = nullptr;
  int ahead_parts = 1;
  const char* next = nullptr;
};
using DotKernel = void (*)(const DotArgs&);

/// Up to 16 rows (of A, or columns of B) to be interleaved: out[k][out_rows], rows beyond `rows`
/// zero. Strides are in elements.
struct PackArgs {
  const void* source = nullptr;
  DataType type = DataType::f32;
  int rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t k = 0;
  std::int64_t k_stride = 0;
  void* out = nullptr;
  int out_rows = 0;
};
using Pack = void (*)(const PackArgs&);

/// Rows of A for dot kernels: fp32 or bf16, zero padded to a multiple of kDotPadding elements.
inline constexpr int kDotPadding = 32;
struct PackRowsArgs {
  const void* source = nullptr;
  DataType type = DataType::f32;
  std::int64_t k = 0;
  std::int64_t k_stride = 0;
  void* out = nullptr;
};
using PackRows = void (*)(const PackRowsArgs&);

/// Writes D = alpha * tile + beta * C + bias for a tile of up to kMaxPanels panels of columns.
struct StoreArgs {
  const float* row_scales = nullptr;  // on the tile's rows, from its first on; null: 1
  const float* tile = nullptr;
  std::ptrdiff_t tile_stride = 0;
  int rows = 0;
  int columns = 0;
  float alpha = 1;
  float beta = 0;
  DataType d_type = DataType::f32;
  void* d = nullptr;
  std::int64_t d_row_stride = 0;
  std::int64_t d_column_stride = 1;
  DataType c_type = DataType::f32;
  const void* c = nullptr;  // null when beta is 0
  std::int64_t c_row_stride = 0;
  std::int64_t c_column_stride = 1;
  DataType bias_type = DataType::f32;
  const void* row_bias = nullptr;     // of the tile's first row
  const void* column_bias = nullptr;  // of the tile's first column
};
using Store = void (*)(const StoreArgs&);

struct KernelTable {
  const char* name = "";
  bool a_by_rows = false;                       // micro-kernels take A as dot kernels do
  int max_rows[kLoaders][kMaxPanels + 1] = {};  // 0: none
  PanelKernel panel[kLoaders][kMaxPanels + 1][kMaxRows + 1] = {};
  int dot_columns[kLoaders][kMaxDotRows + 1] = {};  // widest tile for that many rows; 0: none
  DotKernel dot[kLoaders][kMaxDotRows + 1][kMaxDotColumns + 1] = {};
  Pack pack_f32 = nullptr;    // any type to [k][out_rows] fp32
  Pack pack_pairs = nullptr;  // 16-bit to [ceil(k/2)][out_rows][2], odd k zero padded
  PackRows pack_rows_f32 = nullptr;
  PackRows pack_rows_split = nullptr;  // fp32, even and odd elements of 2 vectors apart
  PackRows pack_rows_bf16 = nullptr;
  Store store = nullptr;
};

/// Null when this build has none for the processor.
const KernelTable* scalar_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
const KernelTable* avx512_bf16_kernels();
const KernelTable* amx_bf16_kernels();

}  // namespace gemwright::cpu_packed
