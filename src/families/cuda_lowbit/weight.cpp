#include "families/cuda_lowbit/weight.hpp"

#include "cuda/lowbit_params.cuh"
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/family.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {
namespace {

// The numbers of kernels/cuda/lowbit_codes.cuh.
enum class CodeKind : int {
  integer = 0,
  e2m1 = 1,
  e4m3 = 2,
  e5m2 = 3,
  table = 4,
  row_table = 5,
  looked_up = 6,
  half_looked_up = 7
};

CodeKind code_kind(const WeightFormat& format) {
  switch (format.codes) {
    case Codes::integer:
      return CodeKind::integer;
    case Codes::e2m1:
      return CodeKind::e2m1;
    case Codes::e4m3:
      return CodeKind::e4m3;
    case Codes::e5m2:
      return CodeKind::e5m2;
    case Codes::normal_float:
    case Codes::fp4:
    case Codes::learned:
      return CodeKind::table;
    case Codes::learned_per_row:
      return CodeKind::row_table;
  }
  return CodeKind::table;
}

// Columns that share a scale; 0 where all of a row do.
int group_of(const WeightFormat& format) {
  const bool whole = format.grouping == Grouping::row || format.grouping == Grouping::tensor;
  return whole ? 0 : format.group;
}

}  // namespace

int table_bytes(const WeightFormat& format) {
  const CodeKind kind = code_kind(format);
  if (kind == CodeKind::integer || kind == CodeKind::row_table) return 0;
  constexpr int kRowBytes = 256;
  return kRowBytes * (format.bits == 2 ? 16 : format.bits == 3 ? 64 : 256);
}

int scale_bytes(const Problem& p) {
  const WeightFormat& format = *p.weight;
  const auto together = static_cast<int>(formats::groups_together(format, p.k));
  const int scale = formats::size_bytes(format.scale);
  const int zero = format.zero == Zero::real ? scale : format.zero == Zero::integer ? 1 : 0;
  return together * (scale + zero);
}

int stage_bytes(const Problem& p, int depth) {
  const int group = group_of(*p.weight);
  const int sets = group == 0 || group > formats::kTile ? 1 : depth;
  return 64 * (depth * 8 * p.weight->bits + sets * scale_bytes(p));
}

std::optional<std::string> refuse_weight(const Problem& p) {
  if (!p.weight) return "B is not a low-bit weight";
  if (auto reason = refuse_activations(p)) return reason;
  const WeightFormat& format = *p.weight;
  if (formats::runs_across_rows(format, p.k)) {
    return fmt::format("k = {} is no multiple of the flat blocks of {}: they run across rows", p.k,
                       format.group);
  }
  if (has_codebook(format) && p.b.type != p.a.type) {
    return fmt::format("the codebook is kept in {} and A is {}; the tensor cores take equal types",
                       name(p.b.type), name(p.a.type));
  }
  if (p.a.type != DataType::f16 && p.a.type != DataType::bf16) {
    return fmt::format("A is {}; the tensor cores take fp16 or bf16", name(p.a.type));
  }
  return refuse_sizes(p);
}

std::optional<std::string> refuse_sizes(const Problem& p) {
  if (p.batch > 1) return "a low-bit weight has no batch";
  for (const std::int64_t size : {p.m, p.n, p.k}) {
    if (size > cuda_layout::kMaxSize) return "a dimension of 2^31 or more";
  }
  return std::nullopt;
}

std::optional<std::string> refuse_device(const Device& device) {
  const int sm = device.profile().cuda.sm;
  if (sm == 90) return std::nullopt;
  return fmt::format("needs sm_90 (H100, H200); this device is sm_{}", sm);
}

std::size_t after_workspace(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t used = std::max<std::size_t>(bytes, gemwright_device::kCounterBytes);
  return numeric::ceil_div(used, kAlignment) * kAlignment;
}

gemwright_device::LowbitWeight weight_at(const Problem& p, const void* packed) {
  const WeightFormat& format = *p.weight;
  const formats::PackedLayout layout = formats::packed_layout(format, p.n, p.k);
  const auto* base = static_cast<const std::byte*>(packed);
  gemwright_device::LowbitWeight weight{};
  weight.codes = base + layout.codes;
  weight.scales = base + layout.scales;
  weight.zeros = base + layout.zeros;
  if (has_codebook(format)) weight.table = reinterpret_cast<const float*>(base + layout.table);
  if (format.ordered) weight.order = reinterpret_cast<const int*>(base + layout.order);
  weight.global_scale =
      reinterpret_cast<const float*>(base + offsetof(formats::PackedHeader, global_scale));
  weight.blocks = static_cast<int>(layout.tiles_k);
  weight.sets = static_cast<int>(layout.groups / formats::groups_together(format, p.k));
  return weight;
}

std::string weight_preamble(const Problem& p, int lookup) {
  const WeightFormat& format = *p.weight;
  const CodeKind kind = lookup == 0   ? code_kind(format)
                        : lookup == 1 ? CodeKind::looked_up
                                      : CodeKind::half_looked_up;
  return fmt::format(
      "constexpr int kBits = {}, kCodes = {}, kScaleType = {}, kGroup = {}, kZeros = {};\n"
      "constexpr bool kGlobalScale = {};\n",
      format.bits, static_cast<int>(kind), static_cast<int>(format.scale), group_of(format),
      static_cast<int>(format.zero), format.global_scale);
}

}  // namespace gemwright::cuda_lowbit
