#include "formats/packed_layout.hpp"
#include "problem/extent.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace gemwright {
namespace {

// Sizes, the elements of a matrix and the reach of its strides stay far from 2^63, so that nothing
// later needs overflow checks; 2^48 elements are more than a machine addresses.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

Operand row_major(DataType type, std::int64_t rows, std::int64_t cols) {
  return {.type = type, .row_stride = cols, .col_stride = 1, .batch_stride = rows * cols};
}

void check_size(const char* argument, std::int64_t size) {
  if (size < 0 || size > kMaxSize) {
    throw InvalidArgument(argument, std::to_string(size), "0 to 2^40");
  }
}

// The names are those of the sizes: "batch * m * k".
void check_elements(const char* argument, std::int64_t batch, std::int64_t rows,
                    std::int64_t cols) {
  const double elements =
      static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(cols);
  if (elements > static_cast<double>(kMaxElements)) {
    throw InvalidArgument(argument, fmt::format("{:.0f}", elements), "0 to 2^48");
  }
}

void check_sizes(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  check_size("m", m);
  check_size("n", n);
  check_size("k", k);
  check_size("batch", batch);
  check_elements("batch * m * k", batch, m, k);
  check_elements("batch * k * n", batch, k, n);
  check_elements("batch * m * n", batch, m, n);
}

// That of a dimension of size 1 is never used, and may be anything.
void check_stride(const std::string& argument, std::int64_t size, std::int64_t stride) {
  if (size > 1 && (stride < 0 || stride > kMaxElements)) {
    throw InvalidArgument(argument, std::to_string(stride), "0 to 2^48 elements");
  }
}

// Enumerations come from callers who may have cast a number.
void check_type(const std::string& argument, DataType type) {
  if (type > DataType::bf16) {
    throw InvalidArgument(argument, std::to_string(static_cast<int>(type)), "f32, f16 or bf16");
  }
}

void check_bias(const Problem& problem) {
  if (problem.bias > Bias::per_column) {
    throw InvalidArgument("bias", std::to_string(static_cast<int>(problem.bias)),
                          "none, per_row or per_column");
  }
  check_type("bias_type", problem.bias_type);
}

void check_operand(const std::string& name, const Operand& operand, std::int64_t rows,
                   std::int64_t cols, std::int64_t batch) {
  check_type(name + ".type", operand.type);
  if (!operand.packed) {
    check_stride(name + ".row_stride", rows, operand.row_stride);
    check_stride(name + ".col_stride", cols, operand.col_stride);
    check_stride(name + ".batch_stride", batch, operand.batch_stride);
  }
  const int bytes = size_bytes(operand.type);
  const bool power_of_two = (operand.alignment & (operand.alignment - 1)) == 0;
  if (operand.alignment < bytes || !power_of_two || operand.alignment > 4096) {
    throw InvalidArgument(
        name + ".alignment", std::to_string(operand.alignment),
        "a power of two from the element's size, " + std::to_string(bytes) + ", to 4096");
  }
  if (operand.packed && name != "b") {
    throw InvalidArgument(name + ".packed", "true", "false: only B can be packed");
  }
}

void check_weight(const Problem& problem) {
  if (!problem.weight) return;
  problem.weight->check();
  if (!problem.b.packed) {
    throw InvalidArgument("b.packed", "false, with a weight format",
                          "true: low-bit weights are packed (pack_weights)");
  }
}

void check_activations(const Problem& problem) {
  if (problem.activations > Activations::int8) {
    throw InvalidArgument("activations", std::to_string(static_cast<int>(problem.activations)),
                          "as_given, e4m3 or int8");
  }
  if (problem.activations != Activations::as_given && !problem.weight) {
    throw InvalidArgument("activations",
                          std::string(name(problem.activations)) + ", without a weight format",
                          "as_given: activations are rounded for low-bit weights only");
  }
}

// Of strides and sizes that have passed.
void check_reach(const std::string& name, const Operand& operand, std::int64_t rows,
                 std::int64_t cols, std::int64_t batch) {
  if (operand.packed) return;
  const auto reach = [](std::int64_t size, std::int64_t stride) {
    return static_cast<double>(std::max<std::int64_t>(size - 1, 0)) * static_cast<double>(stride);
  };
  const double elements = reach(rows, operand.row_stride) + reach(cols, operand.col_stride) +
                          reach(batch, operand.batch_stride);
  if (elements > static_cast<double>(kMaxElements)) {
    throw InvalidArgument(name, fmt::format("strides that reach over {:.0f} elements", elements),
                          "0 to 2^48");
  }
}

struct Dimension {
  std::int64_t stride;
  std::int64_t size;
};

// Each stride passes all that lies inside it.
bool nested(const std::vector<Dimension>& dims) {
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

// Two dimensions may also interleave: they first meet after as many steps of the one as the other's
// stride has over their greatest common divisor.
bool interleaved(const Dimension& x, const Dimension& y) {
  const std::int64_t divisor = std::gcd(x.stride, y.stride);
  return divisor > 0 && (y.stride / divisor >= x.size || x.stride / divisor >= y.size);
}

// Distinct elements must lie at distinct addresses.
void check_no_overlap(const Problem& problem) {
  if (has_empty_result(problem)) return;
  const Operand& d = problem.d;
  std::vector<Dimension> dims = {
      {d.row_stride, problem.m}, {d.col_stride, problem.n}, {d.batch_stride, problem.batch}};
  std::erase_if(dims, [](const Dimension& dim) { return dim.size <= 1; });
  std::sort(dims.begin(), dims.end(),
            [](const auto& x, const auto& y) { return x.stride < y.stride; });
  if (nested(dims) || (dims.size() == 2 && interleaved(dims[0], dims[1]))) return;
  throw InvalidArgument("d", "strides under which elements may overlap: " + key(problem),
                        "strides that give every element of D its own place; of three, each passes "
                        "all that lies inside it");
}

}  // namespace

Problem Problem::mm(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  return bmm(1, m, n, k, type);
}

Problem Problem::linear(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  Problem problem = mm(m, n, k, type);
  problem.b.row_stride = 1;
  problem.b.col_stride = k;
  return problem;
}

Problem Problem::linear(std::int64_t m, std::int64_t n, std::int64_t k, DataType type,
                        const WeightFormat& format) {
  Problem problem = mm(m, n, k, type);
  problem.weight = format;
  problem.b = {.type = type, .row_stride = 0, .col_stride = 0, .packed = true};
  return problem;
}

Problem Problem::bmm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                     DataType type) {
  check_sizes(batch, m, n, k);
  check_type("type", type);
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.batch = batch;
  problem.a = row_major(type, m, k);
  problem.b = row_major(type, k, n);
  problem.d = row_major(type, m, n);
  if (batch == 1) problem.a.batch_stride = problem.b.batch_stride = problem.d.batch_stride = 0;
  return problem;
}

void Problem::check() const {
  check_sizes(batch, m, n, k);
  check_operand("a", a, m, k, batch);
  check_operand("b", b, k, n, batch);
  check_operand("d", d, m, n, batch);
  if (c) check_operand("c", *c, m, n, batch);
  check_weight(*this);
  check_activations(*this);
  check_bias(*this);
  check_reach("a", a, m, k, batch);
  check_reach("b", b, k, n, batch);
  check_reach("d", d, m, n, batch);
  if (c) check_reach("c", *c, m, n, batch);
  if (beta != 0 && !c) throw InvalidArgument("c", "none, with beta != 0", "an operand C");
  check_no_overlap(*this);
}

double Problem::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch);
}

double Problem::bytes() const {
  const auto of = [this](const Operand& operand, std::int64_t rows, std::int64_t cols) {
    return distinct_elements(operand, rows, cols, batch) * size_bytes(operand.type);
  };
  const double weight_bytes =
      weight ? static_cast<double>(formats::packed_layout(*weight, n, k).bytes) : of(b, k, n);
  double total = of(a, m, k) + weight_bytes + of(d, m, n);
  if (c && beta != 0) total += of(*c, m, n);
  if (bias == Bias::per_row) total += static_cast<double>(m) * size_bytes(bias_type);
  if (bias == Bias::per_column) total += static_cast<double>(n) * size_bytes(bias_type);
  return total;
}

}  // namespace gemwright
