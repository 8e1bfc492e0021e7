#include "families/cuda_lowbit/rounding.hpp"

#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/weight.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {
namespace {

// Whether rows of A are read 8 elements at a time.
bool reads_vectors(const Problem& p) {
  constexpr int kBytes = 16;
  const cuda_layout::Input a = cuda_layout::input_a(p);
  return p.a.type != DataType::f32 && !p.weight->ordered &&
         a.major() == cuda_layout::Major::along_k &&
         a.vector(kBytes) * size_bytes(p.a.type) == kBytes;
}

}  // namespace

std::string rounding_preamble(const Problem& p, Rounded to) {
  return fmt::format(
      "constexpr int kType = {}, kRounded = {};\n"
      "constexpr bool kVectors = {}, kOrdered = {};\n",
      static_cast<int>(p.a.type), static_cast<int>(to), reads_vectors(p), p.weight->ordered);
}

gemwright_device::QuantiseParams rounding_params(const Problem& p, const Operands& operands,
                                                 int pitch, void* codes, float* scales) {
  gemwright_device::QuantiseParams params{};
  params.a = operands.a;
  params.order = weight_at(p, operands.b).order;
  params.codes = codes;
  params.scales = scales;
  params.a_row = p.a.row_stride;
  params.a_col = p.a.col_stride;
  params.m = static_cast<int>(p.m);
  params.k = static_cast<int>(p.k);
  params.pitch = pitch;
  return params;
}

cuda::LaunchShape rounding_shape(const Problem& p, const Operands& operands, int pitch) {
  constexpr int kColumnsEach = 16;
  constexpr int kMostThreads = 256;
  cuda::LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(p.m);
  shape.threads =
      static_cast<unsigned>(std::clamp(pitch / kColumnsEach / 32 * 32, 32, kMostThreads));
  shape.dependent = operands.early != Early::none;
  return shape;
}

}  // namespace gemwright::cuda_lowbit
