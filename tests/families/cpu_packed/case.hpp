// One problem with operands of random or given values, checked against the fp64 reference.
#pragma once

#include "families/family.hpp"
#include "numeric/convert.hpp"
#include "problem/extent.hpp"
#include <gemwright/device.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::testing {

inline constexpr std::size_t kGuard = 256;

/// Storage of an operand, ended exactly where its last element does.
struct Storage {
  std::vector<std::byte> bytes;
  std::size_t offset = 0;
  void* data() { return bytes.data() + offset; }
};

/// `fill(operand, index)` gives the value of an element of storage; operands are 'a', 'b', 'c', 'v'
/// (the bias).
using Fill = std::function<double(char, std::int64_t)>;

inline Fill normal(unsigned seed = 1) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](char, std::int64_t) { return std::normal_distribution<double>()(*random); };
}

/// Small integers: every product and sum is exact in fp32, so results are exact.
inline Fill integers(unsigned seed = 1) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](char, std::int64_t) {
    return static_cast<double>(static_cast<int>((*random)() % 9U)) - 4.0;
  };
}

class Case {
 public:
  explicit Case(const Problem& problem, const Fill& fill = normal()) : problem_(problem) {
    a_ = make(problem.a, problem.m, problem.k, 'a', fill);
    b_ = make(problem.b, problem.k, problem.n, 'b', fill);
    if (problem.c) c_ = make(*problem.c, problem.m, problem.n, 'c', fill);
    Operand bias{.type = problem.bias_type, .row_stride = 0, .col_stride = 1};
    bias.alignment = size_bytes(bias.type);
    bias_ = make(bias, 1, std::max(problem.m, problem.n), 'v', fill);
    expected_ = run_reference(false);
    // Error bounds come from the same sum over absolute values.
    bound_ = run_reference(true);
  }

  /// Runs a kernel of the problem (perhaps with packed weights) and checks every byte of D.
  void check(const Family& family, const Device& device, const Configuration& configuration,
             const Problem& planned, const void* b) {
    const auto kernel = family.build(planned, device, configuration);
    ASSERT_TRUE(kernel->serves(planned));
    std::vector<std::byte> d(expected_.size(), std::byte{0xFF});
    std::vector<std::byte> workspace(kernel->workspace_bytes(planned) + 256 + kGuard,
                                     std::byte{0xFF});
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    void* aligned = workspace.data() + (256 - address % 256) % 256;
    kernel->run(planned, operands(b, d.data() + kGuard), aligned, {});
    compare(d, family.configuration_name(configuration));
  }

  void check_all(const Family& family, const Device& device) {
    for (const auto& configuration : family.configurations(problem_, device)) {
      check(family, device, configuration, problem_, b_.data());
      if (::testing::Test::HasFailure()) return;
    }
  }

  void* b() { return b_.data(); }

 private:
  static Storage make(const Operand& operand, std::int64_t rows, std::int64_t cols, char which,
                      const Fill& fill) {
    const std::int64_t count = span_elements(operand, rows, cols, 64);
    Storage storage;
    // Off by one element where no more is promised.
    storage.offset = operand.alignment >= 16 ? 0 : static_cast<std::size_t>(operand.alignment);
    storage.bytes.resize(storage.offset +
                         static_cast<std::size_t>(count * size_bytes(operand.type)));
    for (std::int64_t i = 0; i < count; ++i) {
      numeric::store(operand.type, storage.data(), i, fill(which, i));
    }
    return storage;
  }

  Operands operands(const void* b, void* d) {
    Operands result{.a = a_.data(), .b = b, .c = nullptr, .d = d, .bias = nullptr};
    if (problem_.c) result.c = c_.data();
    if (problem_.bias != Bias::none) result.bias = bias_.data();
    return result;
  }

  static void make_absolute(Storage& storage, DataType type) {
    const auto count =
        static_cast<std::int64_t>(storage.bytes.size() - storage.offset) / size_bytes(type);
    for (std::int64_t i = 0; i < count; ++i) {
      numeric::store(type, storage.data(), i, std::abs(numeric::load(type, storage.data(), i)));
    }
  }

  std::vector<std::byte> run_reference(bool absolute) {
    Problem problem = problem_;
    Case* self = this;
    Storage a = a_;
    Storage b = b_;
    Storage c = c_;
    Storage bias = bias_;
    if (absolute) {
      make_absolute(a_, problem.a.type);
      make_absolute(b_, problem.b.type);
      if (problem.c) make_absolute(c_, problem.c->type);
      make_absolute(bias_, problem.bias_type);
      problem.alpha = std::abs(problem.alpha);
      problem.beta = std::abs(problem.beta);
    }
    const auto bytes =
        span_elements(problem.d, problem.m, problem.n, problem.batch) * size_bytes(problem.d.type);
    std::vector<std::byte> d(static_cast<std::size_t>(bytes) + 2 * kGuard, std::byte{0xFF});
    const Family& family = *families::find("cpu_reference");
    const Device device = Device::cpu(1);
    family.build(problem, device, {})
        ->run(problem, self->operands(b_.data(), d.data() + kGuard), nullptr, {});
    a_ = a;
    b_ = b;
    c_ = c;
    bias_ = bias;
    return d;
  }

  void compare(const std::vector<std::byte>& d, const std::string& name) const {
    const DataType type = problem_.d.type;
    const double unit = type == DataType::f32 ? 0x1p-24 : type == DataType::f16 ? 0x1p-11 : 0x1p-8;
    const double growth = static_cast<double>(problem_.k + 4) * 0x1p-24;
    std::vector<bool> written(d.size());
    for_each_output([&](std::int64_t at, std::int64_t row, std::int64_t col) {
      const double got = numeric::load(type, d.data() + kGuard, at);
      const double want = numeric::load(type, expected_.data() + kGuard, at);
      const double most = numeric::load(type, bound_.data() + kGuard, at);
      const double tolerance = 2.02 * unit * std::abs(want) + growth * most + 0x1p-149;
      const bool same =
          (std::isnan(got) && std::isnan(want)) || got == want || std::abs(got - want) <= tolerance;
      EXPECT_TRUE(same) << name << ' ' << key(problem_) << ": D[" << row << ',' << col << "] is "
                        << got << ", not " << want << " +- " << tolerance;
      for (int byte = 0; byte < size_bytes(type); ++byte) {
        written[kGuard + static_cast<std::size_t>(at * size_bytes(type) + byte)] = true;
      }
      return same;
    });
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (!written[i]) {
        ASSERT_EQ(d[i], std::byte{0xFF})
            << name << ' ' << key(problem_) << ": byte " << i << " outside D was written";
      }
    }
  }

  template <typename Body>
  void for_each_output(Body body) const {
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
      for (std::int64_t row = 0; row < problem_.m; ++row) {
        for (std::int64_t col = 0; col < problem_.n; ++col) {
          const std::int64_t at = batch * problem_.d.batch_stride + row * problem_.d.row_stride +
                                  col * problem_.d.col_stride;
          if (!body(at, row, col)) return;
        }
      }
    }
  }

  Problem problem_;
  Storage a_;
  Storage b_;
  Storage c_;
  Storage bias_;
  std::vector<std::byte> expected_;
  std::vector<std::byte> bound_;
};

}  // namespace gemwright::testing
