#include "families/cuda_lowbit/weight.hpp"

#include "cuda/lowbit_params.cuh"
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "formats/packed_layout.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {
namespace {

// The numbers of kernels/cuda/lowbit_weight.cuh.
enum class CodeKind : int { symmetric = 0, offset = 1, e2m1 = 2, table = 3 };

CodeKind code_kind(const WeightFormat& format) {
  if (has_codebook(format)) return CodeKind::table;
  if (format.codes == Codes::e2m1) return CodeKind::e2m1;
  return format.zero == Zero::symmetric ? CodeKind::symmetric : CodeKind::offset;
}

// Columns that share a scale; 0 where all of a row do.
int group_of(const WeightFormat& format) {
  const bool whole = format.grouping == Grouping::row || format.grouping == Grouping::tensor;
  return whole ? 0 : format.group;
}

}  // namespace

bool looks_up(const WeightFormat& format) {
  return format.codes != Codes::integer;
}

std::optional<std::string> refuse_problem(const Problem& p, const Device& device) {
  if (!p.weight) return "B is no low-bit weight";
  const WeightFormat& format = *p.weight;
  if (format.bits != 4) return fmt::format("codes of {} bits; this kernel takes 4", format.bits);
  if (format.codes == Codes::learned_per_row) return "every row has a codebook of its own";
  if (format.codes == Codes::integer && format.zero == Zero::real) {
    return "zero points are real numbers; this kernel takes integers";
  }
  if (format.grouping == Grouping::flat && p.k % format.group != 0) {
    return fmt::format("k = {} is no multiple of the flat blocks of {}: they run across rows", p.k,
                       format.group);
  }
  if (has_codebook(format) && p.b.type != p.a.type) {
    return fmt::format("the codebook is kept in {} and A is {}; the tensor cores take equal types",
                       name(p.b.type), name(p.a.type));
  }
  const int sm = device.profile().cuda.sm;
  if (sm != 90) return fmt::format("needs sm_90 (H100, H200); this device is sm_{}", sm);
  if (p.a.type != DataType::f16 && p.a.type != DataType::bf16) {
    return fmt::format("A is {}; low-bit weights meet fp16 or bf16", name(p.a.type));
  }
  if (p.batch > 1) return "a low-bit weight has no batch";
  for (const std::int64_t size : {p.m, p.n, p.k}) {
    if (size > cuda_layout::kMaxSize) return "a dimension of 2^31 or more";
  }
  return std::nullopt;
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

std::string weight_preamble(const Problem& p) {
  const WeightFormat& format = *p.weight;
  return fmt::format(
      "constexpr int kCodes = {}, kScaleType = {}, kGroup = {};\n"
      "constexpr bool kGlobalScale = {}, kZeros = {};\n",
      static_cast<int>(code_kind(format)), static_cast<int>(format.scale), group_of(format),
      format.global_scale, code_kind(format) == CodeKind::offset);
}

}  // namespace gemwright::cuda_lowbit
