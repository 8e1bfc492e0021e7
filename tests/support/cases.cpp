#include "support/cases.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>

namespace gemwright::test {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

Case shape_case(const Shape& shape, DataType type, bool weight) {
  const auto [m, n, k] = shape;
  Case result;
  result.name = fmt::format("{}x{}x{} {} {}", m, n, k, weight ? "W[N,K]" : "B[K,N]", name(type));
  result.problem = weight ? Problem::linear(m, n, k, type) : Problem::mm(m, n, k, type);
  const int odd = size_bytes(type);
  // Rows of sizes that are no multiple of 16 bytes leave the pointer promise as the only help.
  result.problem.d.alignment = n % 8 == 0 ? 16 : odd;
  return result;
}

Case named(std::string name, Problem problem, Fill fill = Fill::integers) {
  return {.name = std::move(name), .problem = problem, .fill = fill};
}

}  // namespace

std::vector<Subject> subjects(DeviceKind kind) {
  std::vector<Subject> result;
  for (const Family* family : families::all()) {
    if (family->device_kind() != kind) continue;
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
      result.push_back({family, type});
    }
  }
  return result;
}

std::string name_of(const Subject& subject) {
  return std::string(subject.family->name()) + "_" + std::string(name(subject.type));
}

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << name_of(subject);
}

std::vector<Case> shape_cases(DataType type) {
  constexpr std::array kShapes = {
      Shape{1, 1, 1},       Shape{1, 16, 16},    Shape{1, 33, 70},    Shape{1, 257, 129},
      Shape{2, 64, 64},     Shape{3, 31, 17},    Shape{4, 100, 200},  Shape{5, 127, 65},
      Shape{7, 48, 96},     Shape{8, 128, 128},  Shape{9, 129, 63},   Shape{13, 17, 1},
      Shape{15, 15, 15},    Shape{16, 256, 64},  Shape{17, 97, 33},   Shape{31, 65, 127},
      Shape{32, 32, 32},    Shape{33, 64, 8},    Shape{47, 191, 72},  Shape{63, 16, 256},
      Shape{64, 128, 31},   Shape{65, 129, 40},  Shape{96, 80, 65},   Shape{100, 1, 77},
      Shape{127, 127, 127}, Shape{128, 256, 64}, Shape{129, 63, 130}, Shape{130, 192, 2},
      Shape{192, 48, 16},   Shape{255, 33, 24},  Shape{257, 130, 19}, Shape{16, 24, 0},
      Shape{1, 5, 0},       Shape{1, 1, 5000},   Shape{8, 8, 3001},   Shape{1, 3000, 3},
      Shape{6, 320, 1152},  Shape{64, 8, 520},   Shape{200, 208, 88},
  };
  std::vector<Case> cases;
  for (const Shape& shape : kShapes) {
    cases.push_back(shape_case(shape, type, true));
    cases.push_back(shape_case(shape, type, false));
  }
  return cases;
}

std::vector<Case> stride_cases(DataType type) {
  const int size = size_bytes(type);
  std::vector<Case> cases;
  const auto add = [&](std::string text, const Problem& problem) {
    cases.push_back(named(fmt::format("{} {}", text, name(type)), problem));
  };

  Problem p = Problem::linear(40, 72, 56, type);
  p.a.row_stride = p.b.col_stride = 64;
  p.d.row_stride = 80;
  add("padded rows", p);

  p = Problem::mm(64, 64, 64, type);
  p.a.row_stride = p.b.row_stride = p.d.row_stride = 65;
  add("pitch of 65", p);

  p = Problem::linear(33, 40, 48, type);
  p.a.alignment = p.b.alignment = p.d.alignment = size;
  add("pointers off by one element", p);

  p = Problem::mm(35, 40, 64, type);
  p.a = {.type = type, .row_stride = 1, .col_stride = 35};
  add("A transposed, M % 8 != 0", p);

  p = Problem::mm(40, 64, 48, type);
  p.a = {.type = type, .row_stride = 1, .col_stride = 40};
  p.b = {.type = type, .row_stride = 1, .col_stride = 48};
  add("both transposed", p);

  p = Problem::mm(24, 56, 40, type);
  p.d = {.type = type, .row_stride = 1, .col_stride = 24};
  add("D transposed", p);

  p = Problem::mm(20, 24, 28, type);
  p.d = {.type = type, .row_stride = 50, .col_stride = 2};
  add("D with gaps between columns", p);

  p = Problem::mm(20, 24, 28, type);
  p.a = {.type = type, .row_stride = 64, .col_stride = 2};
  p.b = {.type = type, .row_stride = 80, .col_stride = 3};
  add("no unit stride in A and B", p);

  p = Problem::mm(32, 48, 40, type);
  p.a.row_stride = 0;
  add("row of A broadcast", p);
  p = Problem::mm(32, 48, 40, type);
  p.b.row_stride = 0;
  add("row of B broadcast", p);
  p = Problem::linear(32, 48, 40, type);
  p.b.col_stride = 0;
  add("column of B broadcast", p);
  p = Problem::mm(32, 48, 40, type);
  p.a.col_stride = 0;
  add("column of A broadcast", p);
  p = Problem::mm(5, 8, 40, type);
  p.d.row_stride = 8;
  p.d.col_stride = 5;
  add("rows and columns of D interleaved", p);

  p = Problem::linear(1, 48, 40, type);
  p.a.row_stride = 999'999'937;
  p.d.row_stride = 0;
  add("absurd strides of size-1 dimensions", p);

  p = Problem::bmm(5, 9, 40, 24, type);
  add("batch", p);
  p.b.batch_stride = 0;
  add("batch sharing B", p);
  p.a.batch_stride = 0;
  p.b.batch_stride = 24 * 40;
  add("batch sharing A", p);
  p = Problem::bmm(3, 16, 32, 24, type);
  p.a.batch_stride = 24;  // overlapping windows of rows
  add("batch stride smaller than a matrix", p);
  p = Problem::bmm(4, 8, 32, 24, type);
  p.a.row_stride = 4 * 24;
  p.a.batch_stride = 24;
  p.d.row_stride = 4 * 32;
  p.d.batch_stride = 32;
  add("batch inside the rows", p);
  p = Problem::bmm(6, 1, 40, 24, type);
  add("batch of rows", p);
  return cases;
}

std::vector<Case> epilogue_cases(DataType type) {
  std::vector<Case> cases;
  const auto add = [&](std::string text, const Problem& problem, bool c_is_d = false) {
    cases.push_back(named(fmt::format("{} {}", text, name(type)), problem));
    cases.back().c_is_d = c_is_d;
  };
  const Problem base = Problem::linear(37, 72, 64, type);

  Problem p = base;
  p.alpha = 2;
  add("alpha", p);
  p.alpha = 0;
  add("alpha of 0", p);

  p = base;
  p.c = p.d;
  p.beta = -2;
  add("beta", p);
  add("beta, C is D", p, true);
  p.c->row_stride = 0;
  add("beta, row of C broadcast", p);
  p.c = {.type = type, .row_stride = 1, .col_stride = 37};
  add("beta, C transposed", p);
  p.k = 0;
  add("beta, K = 0", p);

  p = base;
  p.bias_type = type;
  p.bias = Bias::per_column;
  add("column bias", p);
  p.bias = Bias::per_row;
  add("row bias", p);
  p.bias_type = DataType::f32;
  p.c = p.d;
  p.beta = 1;
  p.alpha = -1;
  add("everything", p);
  p.k = 0;
  add("everything, K = 0", p);
  p = Problem::bmm(3, 9, 40, 24, type);
  p.d.batch_stride += 7;
  p.bias = Bias::per_column;
  p.alpha = 2;
  add("scaled batches with a bias, padded D", p);

  for (const DataType out : {DataType::f32, DataType::f16, DataType::bf16}) {
    p = base;
    p.d.type = out;
    add(fmt::format("output {}", name(out)), p);
  }
  return cases;
}

std::vector<Case> value_cases(DataType type) {
  std::vector<Case> cases;
  const auto add = [&](std::string text, const Problem& problem, Fill fill) {
    cases.push_back(named(fmt::format("{} {}", text, name(type)), problem, fill));
  };
  Problem p = Problem::linear(17, 72, 192, type);
  add("normal", p, Fill::normal);
  add("normal, M = 1", Problem::linear(1, 72, 640, type), Fill::normal);
  add("normal, B[K,N]", Problem::mm(70, 66, 130, type), Fill::normal);
  add("one hot", p, Fill::one_hot);
  add("one hot, B[K,N]", Problem::mm(66, 80, 100, type), Fill::one_hot);
  add("NaN and infinities", p, Fill::special);
  // A K tail beside infinities: padding must not make NaN of them.
  add("NaN and infinities, K tail", Problem::linear(19, 40, 53, type), Fill::special);
  for (const char operand : {'a', 'b'}) {
    cases.push_back(named(fmt::format("infinity at the end of {} {}", operand, name(type)),
                          Problem::linear(19, 40, 53, type)));
    cases.back().values = [operand](char of, std::int64_t index) {
      return of == operand && index % 53 == 52 ? std::numeric_limits<double>::infinity() : 1.0;
    };
  }
  p.c = p.d;
  p.beta = 0;
  add("C full of NaN, beta of 0", p, Fill::normal);
  p.beta = 0.5F;
  p.alpha = 1.5F;
  p.bias = Bias::per_column;
  add("special C and bias", p, Fill::special);
  p = Problem::linear(8, 40, 64, type);
  p.alpha = 60000;
  add("beyond the output's range", p, Fill::integers);
  return cases;
}

std::vector<Case> all_cases(DataType type) {
  std::vector<Case> cases = shape_cases(type);
  for (auto* more : {&stride_cases, &epilogue_cases, &value_cases}) {
    std::vector<Case> extra = more(type);
    cases.insert(cases.end(), std::make_move_iterator(extra.begin()),
                 std::make_move_iterator(extra.end()));
  }
  return cases;
}

}  // namespace gemwright::test
