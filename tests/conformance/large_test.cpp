// Offsets beyond 2^31 and 2^32 elements in every operand, on every CPU family. The memory is
// reserved, not committed: only the pages that a product touches exist.
#include "families/family.hpp"
#include "numeric/convert.hpp"
#include "support/cases.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace gemwright::test {
namespace {

constexpr std::int64_t kGuard = 64;  // elements before and behind each row of D
constexpr double kPoison = 77;

// Zeros as far as an operand spans; null where so much address space is not to be had.
class Reserved {
 public:
  Reserved(std::int64_t elements, DataType type)
      : bytes_(static_cast<std::size_t>((elements + 2 * kGuard) * size_bytes(type))),
        data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  bool exists() const { return data_ != MAP_FAILED; }
  std::byte* first(DataType type) const {
    return static_cast<std::byte*>(data_) + kGuard * size_bytes(type);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

std::int64_t offset_of(const Operand& operand, std::int64_t batch, std::int64_t row,
                       std::int64_t col) {
  return batch * operand.batch_stride + row * operand.row_stride + col * operand.col_stride;
}

// -2 … 2, so that every sum is exact.
double value_of(std::int64_t batch, std::int64_t row, std::int64_t col) {
  return static_cast<double>((batch * 5 + row * 7 + col * 11) % 5 - 2);
}

void fill(const Operand& operand, void* data, std::int64_t batch, std::int64_t rows,
          std::int64_t cols) {
  for (std::int64_t e = 0; e < batch; ++e) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        numeric::store(operand.type, data, offset_of(operand, e, row, col), value_of(e, row, col));
      }
    }
  }
}

// Rows of D, and what lies before and behind each.
void poison(const Problem& p, void* d) {
  for (std::int64_t e = 0; e < p.batch; ++e) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      const std::int64_t start = offset_of(p.d, e, row, 0);
      for (std::int64_t i = -kGuard; i < p.n + kGuard; ++i) {
        numeric::store(p.d.type, d, start + i, kPoison);
      }
    }
  }
}

// The first fault, or "".
std::string compare(const Problem& p, const void* d) {
  for (std::int64_t e = 0; e < p.batch; ++e) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t i = -kGuard; i < p.n + kGuard; ++i) {
        double want = kPoison;
        if (i >= 0 && i < p.n) {
          want = 0;
          for (std::int64_t k = 0; k < p.k; ++k) want += value_of(e, row, k) * value_of(e, k, i);
        }
        const double got = numeric::load(p.d.type, d, offset_of(p.d, e, row, 0) + i);
        if (got != want) {
          return "D[" + std::to_string(e) + "," + std::to_string(row) + "," + std::to_string(i) +
                 "] is " + std::to_string(got) + ", want " + std::to_string(want);
        }
      }
    }
  }
  return "";
}

std::int64_t span(const Operand& operand, std::int64_t batch, std::int64_t rows,
                  std::int64_t cols) {
  return offset_of(operand, batch - 1, rows - 1, cols - 1) + 1;
}

struct Large {
  std::string name;
  Problem problem;
};

// Pitches are no powers of two, and leave the last rows beyond 2^32 elements.
std::vector<Large> large_cases(DataType type) {
  constexpr std::int64_t kPitch = (std::int64_t{1} << 30) + 24;
  std::vector<Large> cases;
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{6}}) {
    Problem plain = Problem::linear(m, 21, 66, type);
    plain.d.row_stride = plain.n + 2 * kGuard;
    const auto add = [&](std::string name, auto&& change) {
      Problem p = plain;
      change(p);
      cases.push_back({std::move(name) + " m=" + std::to_string(m), p});
    };
    const auto far_b = [&](Problem& p) { p.b.col_stride = kPitch / 4; };
    const auto far_rows = [&](Problem& p) { p.a.row_stride = p.d.row_stride = kPitch; };
    add("rows of B^T far apart", far_b);
    add("rows of B far apart", [&](Problem& p) {
      p.b.row_stride = kPitch / 16;
      p.b.col_stride = 1;
    });
    add("columns of A far apart", [&](Problem& p) {
      p.a.row_stride = 1;
      p.a.col_stride = kPitch / 16;
    });
    add("rows of A and D far apart", far_rows);
    add("all far apart", [&](Problem& p) {
      far_b(p);
      far_rows(p);
    });
    add("batches far apart", [&](Problem& p) {
      p.batch = 3;
      p.a.batch_stride = p.b.batch_stride = p.d.batch_stride = 2 * kPitch;
    });
  }
  return cases;
}

class CpuLarge : public testing::TestWithParam<Subject> {};

TEST_P(CpuLarge, OffsetsBeyondTwoToThe32) {
  const auto [family, type] = GetParam();
  const Device device = Device::cpu();
  std::string refusal;
  int checked = 0;
  for (const auto& [name, problem] : large_cases(type)) {
    const Canonical form = canonical(problem);
    if (const auto reason = family->refuse(form.problem, device)) {
      refusal = *reason;
      continue;
    }
    const Reserved a(span(problem.a, problem.batch, problem.m, problem.k), type);
    const Reserved b(span(problem.b, problem.batch, problem.k, problem.n), type);
    const Reserved d(span(problem.d, problem.batch, problem.m, problem.n), type);
    if (!a.exists() || !b.exists() || !d.exists()) {
      GTEST_SKIP() << "no address space for " << name << ", 4 to 17 GB an operand";
    }
    fill(problem.a, a.first(type), problem.batch, problem.m, problem.k);
    fill(problem.b, b.first(type), problem.batch, problem.k, problem.n);
    const Operands given{.a = a.first(type), .b = b.first(type), .d = d.first(type)};
    const Operands operands = form.swapped ? given.transposed() : given;
    const auto configurations = family->configurations(form.problem, device);
    const std::size_t step = std::max<std::size_t>(1, configurations.size() / 6);
    for (std::size_t i = 0; i < configurations.size(); i += step) {
      const auto kernel = family->build(form.problem, device, configurations[i]);
      const auto memory = host_memory();
      const Workspace workspace = make_workspace(*memory, kernel->workspace_bytes(form.problem));
      poison(problem, d.first(type));
      kernel->run(form.problem, operands, workspace.data, {});
      ASSERT_EQ(compare(problem, d.first(type)), "")
          << name << ": " << family->configuration_name(configurations[i]) << ", " << key(problem);
      ++checked;
    }
  }
  if (checked == 0) GTEST_SKIP() << family->name() << " takes no such problem: " << refusal;
}

INSTANTIATE_TEST_SUITE_P(Families, CpuLarge, testing::ValuesIn(subjects(DeviceKind::cpu)),
                         [](const auto& subject) { return name_of(subject.param); });

}  // namespace
}  // namespace gemwright::test
