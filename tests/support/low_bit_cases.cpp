#include "support/cases.hpp"
#include "support/weight_formats.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace gemwright::test {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

// Around tiles of 64 x 64 and groups of 16 to 256; short last groups; few rows and many.
constexpr std::array kShapes = {
    Shape{1, 64, 64},   Shape{1, 1, 1},     Shape{2, 63, 100},  Shape{1, 200, 257},
    Shape{5, 65, 63},   Shape{8, 128, 320}, Shape{16, 130, 96}, Shape{17, 96, 130},
    Shape{33, 64, 192}, Shape{64, 72, 65},  Shape{70, 191, 40}, Shape{130, 136, 136},
    Shape{3, 48, 1000}, Shape{1, 320, 520},
};

Case low_bit_case(std::string_view format, const Shape& shape, DataType type, Fill fill) {
  Case result;
  result.name = fmt::format("{} {}x{}x{} {}", format, shape.m, shape.n, shape.k, name(type));
  result.problem = Problem::linear(shape.m, shape.n, shape.k, type, parse_weight_format(format));
  result.problem.d.alignment = shape.n % 8 == 0 ? 16 : size_bytes(type);
  result.problem.a.alignment = shape.k % 8 == 0 ? 16 : size_bytes(type);
  result.fill = fill;
  return result;
}

// The same product with so few of K that many rows have no NaN or infinity.
Case special_rows(Case one, std::int64_t k) {
  const DataType type = one.problem.a.type;
  const Activations to = one.problem.activations;
  const std::string name = one.name;
  one = low_bit_case(key(*one.problem.weight), {one.problem.m, one.problem.n, k}, type,
                     Fill::special);
  one.problem.activations = to;
  one.name = name + " special";
  return one;
}

}  // namespace

std::vector<Case> low_bit_cases(DataType type) {
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const std::string_view format : kManyFormats) {
    // Another five shapes for each format.
    for (int i = 0; i < 5; ++i, turn += 3) {
      const Fill fill = i == 0 ? Fill::one_hot : Fill::normal;
      Case one = low_bit_case(format, kShapes[turn % kShapes.size()], type, fill);
      if (i == 1) one.problem.d.type = DataType::f32;
      if (i == 2) {
        one.problem.bias = Bias::per_column;
        one.problem.bias_type = type;
        one.problem.alpha = 0.5F;
      }
      if (i == 3) {
        one.problem.c = one.problem.d;
        one.problem.beta = -1.5F;
      }
      one.problem.d.alignment = std::max(one.problem.d.alignment, size_bytes(one.problem.d.type));
      if (one.problem.c) one.problem.c->alignment = one.problem.d.alignment;
      cases.push_back(std::move(one));
    }
  }
#if defined(GEMWRIGHT_SANITIZED)
  // Every second one: five for a format, so that each loses others than the one before.
  std::size_t index = 0;
  std::erase_if(cases, [&index](const Case&) { return index++ % 2 != 0; });
#endif
  // K = 0 reads no weight; entries of a codebook as they stand.
  cases.push_back(low_bit_case("nf4:g64:bf16", {4, 70, 0}, type, Fill::normal));
  cases.push_back(low_bit_case("nf4:g64:f32", {4, 70, 100}, type, Fill::normal));
  cases.back().problem.b.type = DataType::f32;
  return cases;
}

std::vector<Case> rounded_cases(DataType type) {
  // Every kind of codes, zero points and grouping, with tiles of K and groups that end short.
  constexpr std::string_view kFormats[] = {
      "nf4:g64:bf16",    "fp4:flat64:f32",  "int4:g128:f16",     "int4z:g32:f16:order",
      "int3z:g64:bf16",  "int3r:g64:f16",   "int2:g16:bf16",     "int8:row:f32",
      "int8z:g256:f32",  "int4z:g16:bf16",  "e2m1:g32:e8m0",     "e4m3:row:f32",
      "lut8:g64:f32",    "rowlut4:row:f16", "int2z:g64:bf16",    "int4:row:f32",
      "int3:tensor:f32", "int8:g32:f16",    "e2m1:g16:e4m3*f32", "int4:flat256:f32",
  };
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    for (const std::string_view format : kFormats) {
      for (int i = 0; i < 3; ++i, turn += 5) {
        Case one = low_bit_case(format, kShapes[turn % kShapes.size()], type, Fill::normal);
        one.problem.activations = to;
        one.name += fmt::format(" {}", name(to));
        if (i == 1) {
          one.problem.bias = Bias::per_column;
          one.problem.alpha = -0.5F;
        }
        // Rows with a NaN or an infinity beside rows without.
        if (i == 2) one = special_rows(std::move(one), 41);
        cases.push_back(std::move(one));
      }
    }
  }
#if defined(GEMWRIGHT_SANITIZED)
  std::size_t index = 0;
  std::erase_if(cases, [&index](const Case&) { return index++ % 2 != 0; });
#endif
  return cases;
}

}  // namespace gemwright::test
