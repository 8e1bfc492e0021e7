#include "families/cpu_lowbit/cost.hpp"

#include "families/cpu_lowbit/rounded.hpp"
#include "families/cpu_packed/geometry.hpp"
#include "model/cpu_cost.hpp"
#include "model/cpu_rates.hpp"

#include <algorithm>

namespace gemwright::cpu_lowbit {
namespace {

// Of the shorter of arithmetic and memory that is not hidden.
constexpr double kOverlap = 0.28;

// Seconds that a core takes for a code of a streaming kernel: to decode it, once for all rows of A
// of a pass, and for each row. As measured on an Emerald Rapids core
// (docs/performance/cpu_lowbit.md).
struct CodeCost {
  double decode;
  double row;
};

CodeCost stream_cost(const Problem& problem, const CpuProfile& cpu, Isa isa) {
  // Short groups have more scales to prepare.
  const bool fine = formats::groups_together(*problem.weight, problem.k) > 1;
  const double scales = fine ? 0.008e-9 : 0;
  if (isa == Isa::avx512_bf16) return {0.03e-9 + scales, 2.3 / cpu.bf16_flops};
  if (isa == Isa::avx512_vnni) return {0.006e-9 + scales, 1.35 / cpu.f32_flops};
  if (isa == Isa::amx) {
    // Each group of a tile multiplies a whole one, unless scales are exponents; what was multiplied
    // is scaled. As measured on a core with AMX.
    const WeightFormat& format = *problem.weight;
    const auto groups = static_cast<double>(formats::groups_together(format, problem.k));
    const double parts = scales_are_exponents(format) ? 1 : groups;
    return {0.035e-9 * parts, parts * (2 / model::amx_flops(cpu) + 0.9e-12)};
  }
  return {0.021e-9 + scales, 2.9 / cpu.f32_flops};
}

double multiply_rate(const CpuProfile& cpu, Isa isa) {
  // The profile's rate is that of the widest vectors.
  if (isa == Isa::scalar && cpu.features.avx2_fma) return cpu.f32_flops / 16;
  return isa == Isa::avx2 && cpu.features.avx512 ? cpu.f32_flops / 2 : cpu.f32_flops;
}

// To round A's rows before anything else; once a product, and by one thread where there is one row.
double rounding_s(const Problem& problem, const Setup& setup) {
  if (!rounds(problem)) return 0;
  const double element = setup.isa == Isa::avx512_vnni ? 0.9e-9 : 3.5e-9;
  const auto rows = static_cast<double>(problem.m);
  return element * rows * static_cast<double>(problem.k) * static_cast<double>(problem.batch) /
         std::min(static_cast<double>(setup.blocks.threads), std::max(rows, 1.0));
}

// Of seconds of arithmetic beside the stream of memory.
Estimate overlapped(const Problem& problem, const CpuProfile& cpu, const Setup& setup,
                    double math) {
  const double memory = problem.bytes() / model::dram_bytes_per_s(cpu, setup.blocks.threads);
  const double overhead = setup.blocks.threads > 1 ? 2 * cpu.fork_join_s : 0;
  const double together = std::max(math, memory) + kOverlap * std::min(math, memory);
  return {.us = (rounding_s(problem, setup) + together + overhead) * 1e6,
          .bound = math > memory ? Bound::math : Bound::memory};
}

Estimate streaming(const Problem& problem, const CpuProfile& cpu, const Setup& setup) {
  const CodeCost code = stream_cost(problem, cpu, setup.isa);
  const bool tiles = setup.isa == Isa::amx;
  const std::int64_t block = tiles ? AmxBlocks::kRows : 1;
  const std::int64_t m = formats::ceil_div(problem.m, block) * block;
  const double rows = static_cast<double>(m) * static_cast<double>(problem.batch);
  const double passes = std::max(1.0, rows / (tiles ? kMostAmxRows : kMostRows));
  const double codes = static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const double tasks =
      std::max(1.0, static_cast<double>(formats::ceil_div(problem.n, formats::kTile)) * passes);
  const double threads = std::min(static_cast<double>(setup.blocks.threads), tasks);
  const double math = codes * (code.decode * passes + code.row * rows) / threads;
  return overlapped(problem, cpu, setup, math);
}

// The same for a code of a block of integers. Scales are made, and sums scaled, once a segment.
CodeCost integer_cost(const Problem& problem, const CpuProfile& cpu, Isa isa) {
  const auto segment = static_cast<double>(segment_columns(*problem.weight, problem.k));
  const bool bytes = problem.weight->bits == 8;
  if (isa == Isa::avx512_vnni) {
    return {0.031e-9 + 0.4e-9 / segment + (bytes ? 0.01e-9 : 0),
            0.44 / cpu.f32_flops * (1 + 36 / segment)};
  }
  if (isa == Isa::avx2) {
    return {0.1e-9 + 16e-9 / segment + (bytes ? 0.9e-9 : 0),
            1.75 / multiply_rate(cpu, isa) * (1 + 8 / segment)};
  }
  return {1.8e-9, 0.2e-9};
}

Estimate integers(const Problem& problem, const CpuProfile& cpu, const Setup& setup) {
  const CodeCost code = integer_cost(problem, cpu, setup.isa);
  const auto batch = static_cast<double>(problem.batch);
  const double rows = batch * static_cast<double>(problem.m);
  const double passes = batch * static_cast<double>(formats::ceil_div(problem.m, kRowsOfBlock));
  const double codes = static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const double tasks = static_cast<double>(formats::ceil_div(problem.n, formats::kTile)) * passes;
  const double threads =
      std::min(static_cast<double>(setup.blocks.threads), std::max(1.0, tasks / batch));
  const double math = codes * (code.decode * passes + code.row * rows) / threads;
  return overlapped(problem, cpu, setup, math);
}

// Seconds of a core to make an element of a panel.
double unpacking(const Problem& problem, const Setup& setup) {
  if (setup.isa < Isa::avx512) return 2e-9;
  const WeightFormat& format = *problem.weight;
  const bool gathers = format.codes == Codes::learned_per_row ||
                       (format.bits == 8 && format.codes != Codes::integer);
  return gathers ? 0.25e-9 : 0.08e-9;
}

}  // namespace

Estimate cost(const Problem& problem, const CpuProfile& cpu, const Setup& setup) {
  if (setup.path == Path::stream) return streaming(problem, cpu, setup);
  if (setup.path == Path::integers) return integers(problem, cpu, setup);
  const cpu_packed::Geometry g(setup.blocks, cpu_packed::Loader::f32, dense(problem));
  const auto elements = static_cast<double>(std::max<std::int64_t>(problem.n * problem.k, 1));
  model::BlockedWork work;
  work.m = problem.m;
  work.n = problem.n;
  work.k = problem.k;
  work.batch = problem.batch;
  work.bytes_a = size_bytes(dense(problem).a.type);
  work.bytes_b =
      static_cast<double>(formats::packed_layout(*problem.weight, problem.n, problem.k).bytes) /
      elements;
  work.bytes_d = size_bytes(problem.d.type) + (problem.c ? size_bytes(problem.c->type) : 0);
  work.threads = setup.blocks.threads;
  work.split = setup.blocks.split_k;
  work.cells_m = g.cells_m;
  work.cells_n = g.cells_n;
  work.flops_per_s = multiply_rate(cpu, setup.isa);
  work.rows = setup.blocks.rows;
  work.columns = setup.blocks.panels * kPanelRows;
  work.rows_block = g.rows_block;
  work.columns_block = g.panels_block * kPanelRows;
  work.depth_block = g.depth_block;
  work.unpack_s = unpacking(problem, setup);
  Estimate estimate = model::cpu_blocked_cost(cpu, work);
  estimate.us += rounding_s(problem, setup) * 1e6;
  return estimate;
}

}  // namespace gemwright::cpu_lowbit
