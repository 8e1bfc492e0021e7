#include "families/cuda_common/layout.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace gemwright::cuda_layout {
namespace {

// Whether `bytes` divides the base and every stride but the major one's.
bool aligned(const Input& x, std::int64_t other_stride, int bytes) {
  const int size = size_bytes(x.type);
  const auto multiple = [&](std::int64_t stride) { return stride * size % bytes == 0; };
  return x.alignment % bytes == 0 && multiple(other_stride) &&
         (x.batch <= 1 || multiple(x.batch_stride));
}

// Copies along rows read on to a multiple of their size: that must still be within the line.
bool padded(const Input& x, int bytes) {
  if (x.major() == Major::along_k) return true;
  const std::int64_t elements = bytes / size_bytes(x.type);
  return x.rows % elements == 0 || x.k_stride >= tiles_of(x.rows, elements) * elements;
}

std::int64_t major_stride(const Input& x) {
  return x.major() == Major::along_k ? x.k_stride : x.row_stride;
}

std::int64_t other_stride(const Input& x) {
  if (x.major() == Major::along_k) return x.rows > 1 ? x.row_stride : 0;
  return x.k > 1 ? x.k_stride : 0;
}

}  // namespace

std::optional<std::string> refuse_sizes(const Problem& problem) {
  if (problem.weight) return "B is a low-bit weight, and this kernel takes plain ones";
  if (problem.b.packed) {
    return "B is packed for CPU kernels; give the plain weight to a GPU";
  }
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"m", problem.m}, {"n", problem.n}, {"k", problem.k}, {"batch", problem.batch}};
  for (const auto& [name, size] : sizes) {
    if (size > kMaxSize) {
      return fmt::format("{} is {}; CUDA kernels take up to {}", name, size, kMaxSize);
    }
  }
  return std::nullopt;
}

Major Input::major() const {
  // A stride of 0 is a broadcast: reading along it is never better than along a stride of 1.
  if (k_stride == 1) return Major::along_k;
  if (row_stride == 1) return Major::along_rows;
  return k_stride <= row_stride ? Major::along_k : Major::along_rows;
}

int Input::copy_bytes() const {
  if (major_stride(*this) != 1) return 0;
  for (const int bytes : {16, 8, 4}) {
    if (aligned(*this, other_stride(*this), bytes) && padded(*this, bytes)) return bytes;
  }
  return 0;
}

int Input::vector(int max_bytes) const {
  if (major_stride(*this) != 1) return 1;
  const std::int64_t size = major() == Major::along_k ? k : rows;
  for (int bytes = max_bytes; bytes > size_bytes(type); bytes /= 2) {
    const int elements = bytes / size_bytes(type);
    if (size % elements == 0 && aligned(*this, other_stride(*this), bytes)) return elements;
  }
  return 1;
}

Input input_a(const Problem& p) {
  return {p.a.type,         p.m,     p.k,          p.a.row_stride, p.a.col_stride,
          p.a.batch_stride, p.batch, p.a.alignment};
}

Input input_b(const Problem& p) {
  return {p.b.type,         p.n,     p.k,          p.b.col_stride, p.b.row_stride,
          p.b.batch_stride, p.batch, p.b.alignment};
}

int output_width(const Problem& p) {
  const auto fits = [&](const Operand& x, int width) {
    const std::int64_t row = p.m > 1 ? x.row_stride : 0;
    const std::int64_t batch = p.batch > 1 ? x.batch_stride : 0;
    // Vectors wider than 16 bytes are accessed 16 bytes at a time.
    const int bytes = std::min(16, width * size_bytes(x.type));
    return x.col_stride == 1 && row % width == 0 && batch % width == 0 && x.alignment % bytes == 0;
  };
  for (int width = 16 / size_bytes(p.d.type); width > 1; width /= 2) {
    if (p.n % width == 0 && fits(p.d, width) && (!p.c || fits(*p.c, width))) return width;
  }
  return 1;
}

std::string epilogue_preamble(const Problem& p, int width) {
  const DataType c = p.c ? p.c->type : p.d.type;
  return fmt::format(
      "constexpr int kTypeD = {}, kWidth = {}, kTypeC = {}, kBias = {}, kTypeBias = {};\n"
      "constexpr bool kHasC = {};\n",
      static_cast<int>(p.d.type), width, static_cast<int>(c), static_cast<int>(p.bias),
      static_cast<int>(p.bias_type), p.c.has_value());
}

}  // namespace gemwright::cuda_layout
