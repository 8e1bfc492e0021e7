#include "families/cpu_packed/geometry.hpp"

#include <algorithm>
#include <numeric>

namespace gemwright::cpu_packed {
namespace {

// Packed A beyond this is made block by block.
constexpr std::int64_t kMostPackedBytes = 32 << 20;
// Rows that a dot product's tile buffer holds.
constexpr std::int64_t kMostDotRows = 64;
// A cell has at least so many micro-tiles of columns, so that its start-up does not count.
constexpr std::int64_t kLeastGroups = 4;

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes + 255) / 256 * 256);
}

// Rows or columns of cells: columns first, since every row of cells reads (and packs) B again.
void divide(Geometry& g, const Setup& setup) {
  const std::int64_t tiles = g.tiles(g.rows_block);
  const std::int64_t width = std::max(setup.panels, 1);
  const std::int64_t groups = ceil_div(g.panels, width);
  std::int64_t wanted = 1;
  if (g.threads > 1) {
    const std::int64_t shares = g.batch * g.split;
    wanted = shares >= 4 * g.threads ? 1 : g.threads / std::gcd(shares, std::int64_t{g.threads});
  }
  g.cells_n = 1;
  for (std::int64_t count = std::min(wanted, groups); count > 1; --count) {
    if (wanted % count != 0 || wanted / count > tiles) continue;
    g.cells_n = count;
    break;
  }
  g.cells_m = std::min(wanted / g.cells_n, tiles);
  // More cells than threads even out what other work takes from a core.
  if (g.threads > 1 && groups >= kLeastGroups * 4 * g.cells_n && g.split == 1) g.cells_n *= 4;
  g.cells = g.batch * g.cells_m * g.cells_n * g.split;
}

}  // namespace

Geometry::Geometry(const Setup& setup, Loader loader, const Problem& problem)
    : n(problem.n), k(problem.k), batch(problem.batch) {
  const bool dot = setup.path == Path::dot;
  panels = ceil_div(n, kPanel);
  a_by_rows = dot || kernels(setup.isa)->a_by_rows;
  k_padded = a_by_rows ? ceil_div(k, kDotPadding) * kDotPadding : ceil_div(k, 2) * 2;
  a_element = loader == Loader::bf16_dot ? 2 : 4;
  unit_depth = step_depth(loader);
  tile_rows = setup.rows;
  const std::int64_t fitting =
      kMostPackedBytes / std::max<std::int64_t>(k_padded * a_element, 1) / tile_rows * tile_rows;
  rows_block = std::min(problem.m, std::max(fitting, tile_rows));
  if (setup.mc > 0) rows_block = std::min<std::int64_t>(rows_block, std::max(setup.mc, setup.rows));
  if (dot) rows_block = std::min(rows_block, kMostDotRows);
  panels_block = setup.nc > 0 ? std::min<std::int64_t>(panels, setup.nc / kPanel) : panels;
  depth_block = setup.kc > 0 ? setup.kc : std::max<std::int64_t>(k_padded, 1);
  threads = setup.threads;
  split = setup.split_k;
  divide(*this, setup);

  a_areas = batch == 1 ? 1 : static_cast<std::size_t>(threads);
  a_bytes = aligned(rows_block * k_padded * a_element);
  const std::int64_t units = ceil_div(std::min(depth_block, k_padded), unit_depth);
  std::int64_t b_panels = 0;
  if (setup.path == Path::pack) b_panels = panels_block;
  if (setup.path == Path::direct) b_panels = 1;  // the last one, where N ends within it
  // Without packed pairs a panel of the tail holds fp32, one unit for each k.
  b_bytes = aligned(b_panels * std::max(units, std::min(depth_block, k_padded)) * kPanel * 4);
  const bool one_depth = k_padded <= depth_block;
  const std::int64_t tile_elements = dot         ? rows_block * kMaxPanels * kPanel
                                     : one_depth ? tile_rows * kMaxPanels * kPanel
                                                 : rows_block * panels_block * kPanel;
  private_bytes = b_bytes + (split > 1 ? 0 : aligned(tile_elements * 4));
  if (split > 1) split_bytes = aligned(split * rows_block * panels * kPanel * 4);
}

Cell Geometry::cell(std::int64_t index, std::int64_t tile_count) const {
  Cell cell;
  // Neighbours share the columns of B.
  const std::int64_t row = index % cells_m;
  index /= cells_m;
  const std::int64_t column = index % cells_n;
  index /= cells_n;
  cell.split = index % split;
  cell.batch = index / split;
  cell.tile_begin = part(tile_count, cells_m, row);
  cell.tile_end = part(tile_count, cells_m, row + 1);
  cell.panel_begin = part(panels, cells_n, column);
  cell.panel_end = part(panels, cells_n, column + 1);
  const std::int64_t shares = ceil_div(k, kDotPadding);
  cell.k_begin = std::min(k, part(shares, split, cell.split) * kDotPadding);
  cell.k_end = std::min(k, part(shares, split, cell.split + 1) * kDotPadding);
  return cell;
}

}  // namespace gemwright::cpu_packed
