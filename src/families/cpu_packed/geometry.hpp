// How a product is divided among blocks, cells and threads, and what memory that takes.
#pragma once

#include "families/cpu_packed/setup.hpp"
#include "numeric/ceil_div.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_packed {

using numeric::ceil_div;

/// Part `index` of `count` nearly equal parts of [0, size): where it begins.
constexpr std::int64_t part(std::int64_t size, std::int64_t count, std::int64_t index) {
  return size * index / count;
}

/// A rectangle of D, or a share of its K, that one thread computes at a time.
struct Cell {
  std::int64_t batch = 0;
  std::int64_t tile_begin = 0;  // micro-tiles of rows, within a block of M
  std::int64_t tile_end = 0;
  std::int64_t panel_begin = 0;
  std::int64_t panel_end = 0;
  std::int64_t k_begin = 0;
  std::int64_t k_end = 0;
  std::int64_t split = 0;
};

/// Sizes that follow from a configuration and a problem. M is done in blocks of rows_block rows,
/// one after the other; a block is divided into cells.
struct Geometry {
  Geometry(const Setup& setup, Loader loader, const Problem& problem);

  Cell cell(std::int64_t index, std::int64_t tiles) const;
  /// Micro-tiles of a block of so many rows.
  std::int64_t tiles(std::int64_t rows) const { return ceil_div(rows, tile_rows); }
  std::size_t workspace_bytes() const {
    return a_areas * a_bytes + static_cast<std::size_t>(threads) * private_bytes + split_bytes;
  }

  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  std::int64_t panels = 0;     // of B
  std::int64_t k_padded = 0;   // in packed A
  bool a_by_rows = false;      // packed A: one row after the other
  int a_element = 4;           // bytes in packed A
  int unit_depth = 1;          // k per 32-bit unit of a panel of B
  std::int64_t tile_rows = 1;  // at most
  std::int64_t rows_block = 1;
  std::int64_t panels_block = 1;  // nc
  std::int64_t depth_block = 1;   // kc
  int threads = 1;
  int split = 1;
  std::int64_t cells_m = 1;
  std::int64_t cells_n = 1;
  std::int64_t cells = 1;

  // Workspace: packed A (one area, or one a thread where batches are packed by whoever computes
  // them), then each thread's own packed B and tiles, then the partial sums of a split K.
  std::size_t a_areas = 1;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t private_bytes = 0;
  std::size_t split_bytes = 0;
};

}  // namespace gemwright::cpu_packed
