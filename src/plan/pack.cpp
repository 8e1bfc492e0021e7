// Weights packed once for every kernel: the layout is that of
// families/cpu_packed/kernels/table.hpp.
#include "plan/pack.hpp"

#include "families/cpu_packed/geometry.hpp"
#include "families/cpu_packed/setup.hpp"
#include "formats/packed_layout.hpp"
#include "numeric/ceil_div.hpp"
#include "problem/extent.hpp"
#include <gemwright/device.hpp>
#include <gemwright/errors.hpp>
#include <gemwright/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace gemwright {
namespace {

using cpu_packed::Isa;
using cpu_packed::kernels;
using cpu_packed::KernelTable;
using cpu_packed::kPanel;
using numeric::ceil_div;

std::int64_t panel_bytes(const Problem& problem) {
  const bool pairs = size_bytes(problem.b.type) == 2;
  return (pairs ? ceil_div(problem.k, 2) : problem.k) * kPanel * 4;
}

const KernelTable& best_kernels() {
  const CpuFeatures features = Device::cpu().profile().cpu.features;
  for (const Isa isa : {Isa::avx512, Isa::avx2}) {
    if (!cpu_packed::isa_refusal(isa, features)) return *kernels(isa);
  }
  return *kernels(Isa::scalar);
}

}  // namespace

std::size_t packed_bytes(const Problem& problem) {
  if (problem.weight) {
    return static_cast<std::size_t>(
        formats::packed_layout(*problem.weight, problem.n, problem.k).bytes);
  }
  return static_cast<std::size_t>(ceil_div(problem.n, kPanel) * panel_bytes(problem));
}

std::size_t packed_weights_bytes(const Problem& problem) {
  problem.check();
  return packed_bytes(problem);
}

void pack_weights(const Problem& problem, const void* b, void* out) {
  problem.check();
  if (problem.weight) {
    throw InvalidArgument("problem.weight", key(*problem.weight),
                          "none: low-bit weights are packed by pack_weights from a CodedWeight");
  }
  if (problem.b.packed) {
    throw InvalidArgument("problem.b.packed", "true",
                          "false: B's own strides are needed to pack it");
  }
  if (problem.batch > 1 && problem.b.batch_stride != 0) {
    throw InvalidArgument("problem.b.batch_stride", std::to_string(problem.b.batch_stride),
                          "0: packed weights are one matrix, shared by the whole batch");
  }
  if (packed_bytes(problem) == 0) return;
  if (b == nullptr) throw InvalidArgument("b", "null", "a pointer to the weights");
  if (reinterpret_cast<std::uintptr_t>(out) % 64 != 0 || out == nullptr) {
    throw InvalidArgument("out", fmt::format("{}", out), "a multiple of 64 bytes, not null");
  }
  Operand from = problem.b;
  normalise_strides(from, problem.k, problem.n, problem.batch);
  const KernelTable& table = best_kernels();
  const cpu_packed::Pack pack = size_bytes(problem.b.type) == 2 ? table.pack_pairs : table.pack_f32;
  const int size = size_bytes(problem.b.type);
  for (std::int64_t column = 0; column < problem.n; column += kPanel) {
    pack({.source = static_cast<const char*>(b) + column * from.col_stride * size,
          .type = problem.b.type,
          .rows = static_cast<int>(std::min<std::int64_t>(kPanel, problem.n - column)),
          .row_stride = from.col_stride,
          .k = problem.k,
          .k_stride = from.row_stride,
          .out = static_cast<char*>(out) + column / kPanel * panel_bytes(problem),
          .out_rows = kPanel});
  }
}

}  // namespace gemwright
