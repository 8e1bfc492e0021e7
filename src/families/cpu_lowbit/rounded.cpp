#include "families/cpu_lowbit/rounded.hpp"

#include "numeric/activations.hpp"
#include "numeric/convert.hpp"

#include <cstring>

namespace gemwright::cpu_lowbit {
namespace {

// Every element of a row, by its column of A.
template <typename Load>
void gather(const Problem& problem, const Weight& weight, const Load& load, float* out) {
  if (!weight.format.ordered) {
    for (std::int64_t k = 0; k < problem.k; ++k) out[k] = load(k * problem.a.col_stride);
    return;
  }
  const std::byte* order = weight.data + weight.layout.order;
  for (std::int64_t k = 0; k < problem.k; ++k) {
    std::int32_t column = 0;
    std::memcpy(&column, order + k * 4, 4);
    out[k] = load(column * problem.a.col_stride);
  }
}

}  // namespace

void load_row(const Problem& problem, const Weight& weight, const void* a, std::int64_t batch,
              std::int64_t row, float* out) {
  const std::int64_t at = batch * problem.a.batch_stride + row * problem.a.row_stride;
  switch (problem.a.type) {
    case DataType::f32: {
      const auto* from = static_cast<const float*>(a) + at;
      gather(
          problem, weight, [from](std::int64_t i) { return from[i]; }, out);
      break;
    }
    case DataType::f16: {
      const auto* from = static_cast<const std::uint16_t*>(a) + at;
      gather(
          problem, weight, [from](std::int64_t i) { return numeric::from_f16(from[i]); }, out);
      break;
    }
    case DataType::bf16: {
      const auto* from = static_cast<const std::uint16_t*>(a) + at;
      gather(
          problem, weight, [from](std::int64_t i) { return numeric::from_bf16(from[i]); }, out);
      break;
    }
  }
}

float round_row(const Problem& problem, const Weight& weight, const void* a, std::int64_t batch,
                std::int64_t row, float* out) {
  load_row(problem, weight, a, batch, row, out);
  // Which of them is the largest does not depend on their order.
  return numeric::round_activations(problem.activations,
                                    {out, static_cast<std::size_t>(problem.k)});
}

std::size_t row_scale_bytes(const Problem& problem) {
  if (!rounds(problem)) return 0;
  return static_cast<std::size_t>(
      formats::ceil_div(problem.batch * problem.m * std::int64_t{sizeof(float)}, 256) * 256);
}

}  // namespace gemwright::cpu_lowbit
