#include "model/cpu_cost.hpp"

#include "model/cpu_rates.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to exhaustive measurements (bench/regret); seconds unless said otherwise.
constexpr double kTileCall = 11e-9;        // one micro-kernel call: arguments, dispatch, loop start
constexpr double kTileStore = 15e-9;       // a vector of the tile through the epilogue
constexpr double kTileReload = 0.6e-9;     // a vector of the tile out of and into its buffer
constexpr double kPackCopy = 0.01e-9;      // an element, rows lying side by side
constexpr double kPackTranspose = 0.3e-9;  // an element, turned in registers
constexpr double kReduce = 1.5e-9;         // a sum of the lanes of one accumulator
constexpr double kOverlap = 0.28;          // of the shorter of math and memory that is not hidden
constexpr double kRestart = 24e-9;         // a stream that the prefetcher has lost: a piece along K
constexpr double kRestartShort = 6e-9;    // the same, pieces of a few lines that overlap each other
constexpr double kFarRows = 1;            // times the time to read rows of A from beyond L1
constexpr double kAliased = 0.5;          // of the rate of L2, lines that share few sets of L1
constexpr double kMathEfficiency = 0.97;  // of the multiply-add rate in the inner loop
constexpr double kLatencySlots = 4;       // multiply-adds in flight that hide their latency

// What oneDNN reaches with plain weights, as measured on Emerald Rapids and Zen 4; and what its
// smallest products take at best (1x2x3, Emerald Rapids).
constexpr double kVendorMath = 0.75;
constexpr double kVendorMemory = 0.8;
constexpr double kVendorCall = 0.6e-6;

constexpr double kPanelColumns = 16;
constexpr double kStreams = 32;  // that the prefetcher of a core follows

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

// Bytes/s of one core reading data of so many bytes over and over.
double cached_rate(const CpuProfile& cpu, double bytes) {
  // A block at the size of its cache is partly gone when it is needed again.
  constexpr double kUsable = 0.75;
  const double l1 = 2 * cpu.l2_bytes_per_s;
  if (bytes <= kUsable * static_cast<double>(cpu.l1_bytes)) return l1;
  if (bytes <= kUsable * static_cast<double>(cpu.l2_bytes)) return cpu.l2_bytes_per_s;
  return cpu.l3_bytes_per_s;
}

// Memory rate of one of the threads that are at work.
double memory_rate(const CpuProfile& cpu, int threads) {
  return dram_bytes_per_s(cpu, threads) / threads;
}

// Cells that the busiest thread computes, over an even share.
double imbalance(const CpuWork& work, double cells) {
  const double even = cells / work.threads;
  return std::ceil(cells / work.threads) / even;
}

double overlapped(double a, double b) {
  return std::max(a, b) + kOverlap * std::min(a, b);
}

// `even`: seconds if all threads had the same to do.
Estimate estimate(double math, double memory, double overhead, double even, double waves) {
  Estimate result;
  result.us = 1e6 * (even * waves + overhead);
  result.bound = math > memory ? Bound::math : Bound::memory;
  if (waves > 1.25) result.bound = Bound::waves;
  if (overhead > even) result.bound = Bound::overhead;
  return result;
}

// B comes from memory during the first of several passes over it only.
double first_overlapped(double math, double memory, double passes) {
  return overlapped(math / passes, memory) + math * (1 - 1 / passes);
}

// Writes and, where there is one, reads of the partial sums of a split K.
double reduction(const CpuProfile& cpu, const CpuWork& work) {
  if (work.split == 1) return 0;
  const double bytes = as_double(work.m) * as_double(work.n) * 4 * work.split;
  return 2 * bytes / (cpu.l3_bytes_per_s * work.threads) + cpu.fork_join_s;
}

// How a blocked kernel's cells fall apart into register tiles.
struct Tiling {
  explicit Tiling(const BlockedWork& w) {
    const double n = std::ceil(as_double(w.n) / kPanelColumns) * kPanelColumns;
    row_blocks = std::ceil(as_double(w.m) / as_double(w.rows_block));
    cell_rows = as_double(w.m) / row_blocks / as_double(w.cells_m);
    cell_columns = n / as_double(w.cells_n);
    cells = row_blocks * as_double(w.batch * w.cells_m * w.cells_n) * w.split;
    depth_all = as_double(std::max<std::int64_t>(w.k, 1)) / w.split;
    depth = std::min(depth_all, as_double(w.depth_block));
    depths = std::ceil(depth_all / depth);
    // Tiles are evened out within the cell.
    tiles_m = std::ceil(cell_rows / as_double(w.rows));
    rows = cell_rows / tiles_m;
    block_columns = std::min(cell_columns, as_double(w.columns_block));
    const double tiles_n = std::ceil(block_columns / as_double(w.columns));
    panels = block_columns / tiles_n / kPanelColumns;
    tiles = tiles_m * tiles_n * (cell_columns / block_columns);
  }

  double row_blocks, cell_rows, cell_columns, cells;
  double depth_all, depth, depths;  // of a cell, of a block, and how many of these
  double tiles_m, rows, block_columns, panels;
  double tiles;  // of a cell
};

// A tile's instructions: its inner loop, calls, and the way of its sums to D.
double tile_loops(const BlockedWork& w, const Tiling& t) {
  // In multiply-adds of a panel: the units issue two each cycle, as do the loads.
  const double slot = 2 * kPanelColumns / (w.flops_per_s * kMathEfficiency);
  const double multiply = t.rows * t.panels + w.widening * t.panels;
  const double step = std::max({multiply, t.rows + t.panels, kLatencySlots});
  const double reloads = 2 * (t.depths - 1) * kTileReload;
  return step * slot * t.depth_all + kTileCall * t.depths +
         t.rows * t.panels * (kTileStore + reloads);
}

// A tile's operands out of the caches: A is read again for every column of tiles; B once, and again
// by tiles further down.
double tile_reads(const CpuProfile& cpu, const BlockedWork& w, const Tiling& t) {
  const double a_bytes = t.rows * t.depth * w.packed_a;
  const double a_read = a_bytes / cached_rate(cpu, t.cell_rows * t.depth * w.packed_a);
  const double b_bytes = t.panels * kPanelColumns * t.depth * w.packed_b;
  const double b_block = t.block_columns * t.depth * w.packed_b;
  const double b_first = w.pack_b ? b_bytes / cached_rate(cpu, b_block) : 0;
  // Rows of B in place are a power-of-two pitch apart as a rule and so share few sets of L1.
  const bool alias = w.rows_of_b && t.depth > kStreams;
  const double rate = alias ? kAliased * cpu.l2_bytes_per_s : cached_rate(cpu, b_bytes);
  const double b_again = (t.tiles_m - 1) * b_bytes / rate;
  return t.depths * (a_read + (b_first + b_again) / t.tiles_m);
}

// Time lost where B is read in more pieces side by side than the prefetcher follows streams.
double restarts(const BlockedWork& w, const Tiling& t) {
  if (w.transpose_b) {
    return t.block_columns > kStreams ? t.cell_columns * t.depths * kRestart : 0;
  }
  // Packed panels and codes are read from end to end.
  if ((!w.rows_of_b && !w.pack_b) || w.unpack_s > 0) return 0;
  const double run = w.pack_b ? kPanelColumns : as_double(w.columns);
  const double lost = std::clamp((t.depth - kStreams) / (3 * kStreams), 0.0, 1.0);
  return t.depth_all * t.cell_columns / run * kRestartShort * lost;
}

}  // namespace

Estimate cpu_blocked_cost(const CpuProfile& cpu, const BlockedWork& w) {
  const Tiling t(w);
  const double math = t.tiles * overlapped(tile_loops(w, t), tile_reads(cpu, w, t));
  const double b_bytes = t.cell_columns * t.depth_all * w.bytes_b;
  const double d_bytes = t.cell_rows * t.cell_columns * w.bytes_d;
  const double memory = (b_bytes + d_bytes) / memory_rate(cpu, w.threads) + restarts(w, t);
  const double element = w.unpack_s > 0 ? w.unpack_s : w.transpose_b ? kPackTranspose : kPackCopy;
  const double packing = t.cell_columns * t.depth_all * element;
  // Packing waits for memory; without it the inner loop does.
  const double cell =
      w.pack_b ? math + overlapped(packing, memory) : first_overlapped(math, memory, t.tiles_m);

  const double pack_a = as_double(w.m) * as_double(w.k) * kPackTranspose / w.threads;
  const double regions = w.threads > 1 ? 2 * t.row_blocks : 0;
  const double overhead = pack_a + regions * cpu.fork_join_s + reduction(cpu, w);
  return estimate(math, memory, overhead, cell * t.cells / w.threads, imbalance(w, t.cells));
}

Estimate cpu_streaming_cost(const CpuProfile& cpu, const StreamingWork& w) {
  const double m = as_double(w.m);
  const double n = as_double(w.n);
  const double k = as_double(std::max<std::int64_t>(w.k, 1));
  const double cells = as_double(w.batch * w.cells_m * w.cells_n) * w.split;
  const double passes = std::ceil(m / as_double(w.cells_m) / as_double(w.rows));
  const double rows = m / as_double(w.cells_m) / passes;
  const double columns = as_double(w.columns);

  // Per vector along K and group of columns.
  const double slot = 2.0 * w.lanes / (w.flops_per_s * kMathEfficiency);
  const double step =
      std::max({rows * columns + w.widening * columns, rows + columns, kLatencySlots});
  const double groups = n / as_double(w.cells_n) / columns * passes;
  const double vectors = k / w.split / w.lanes;
  // All rows of A pass by for every group of columns. From L1 their loads are among the slots; from
  // further away they come on top, since a vector of A is used for a few products only.
  const double a_bytes = m / as_double(w.cells_m) * k / w.split * w.packed_a;
  const bool near = a_bytes <= static_cast<double>(cpu.l1_bytes);
  const double a_stream = near ? 0 : kFarRows * a_bytes / passes / cached_rate(cpu, a_bytes);
  const double loops =
      groups * (vectors * step * slot + a_stream + kTileCall + rows * columns * kReduce);

  const double rate = memory_rate(cpu, w.threads);
  const double bytes = n / as_double(w.cells_n) * k / w.split;
  const double again = (passes - 1) * bytes * w.bytes_b / cpu.l2_bytes_per_s;
  const double memory = bytes * w.bytes_b / rate +
                        m / as_double(w.cells_m) * n / as_double(w.cells_n) * w.bytes_d / rate;
  const double math = loops + again;
  const double waves = imbalance(w, cells);
  const double overhead =
      m * k * kPackCopy + (w.threads > 1 ? cpu.fork_join_s : 0) + reduction(cpu, w);
  const double even = first_overlapped(math, memory, passes) * cells / w.threads;
  return estimate(math, memory, overhead, even, waves);
}

Estimate cpu_vendor_cost(const Problem& problem, const CpuProfile& cpu, int threads) {
  // It always takes the dot products of bf16, also where they are the slower way.
  const bool pairs = problem.a.type == DataType::bf16 && cpu.features.avx512_bf16;
  const double rate = (pairs ? cpu.bf16_flops : cpu.f32_flops) * threads * kVendorMath;
  const double math = problem.flops() / rate;
  const double memory = problem.bytes() / (dram_bytes_per_s(cpu, threads) * kVendorMemory);
  const double overhead = kVendorCall + (threads > 1 ? cpu.fork_join_s : 0);
  return estimate(math, memory, overhead, std::max(math, memory), 1);
}

}  // namespace gemwright::model
