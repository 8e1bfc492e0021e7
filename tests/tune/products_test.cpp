#include "tune/products.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

// Test data repeat along K: no more than a period of it is multiplied.
TEST(Products, AreWholeSumsWhereTestDataRepeat) {
  Problem problem = Problem::mm(2, 3, 2 * kRandomPeriod + 77, DataType::f32);
  const Values a(problem, Input::a, DataType::f32, kRandomPeriod);
  const Values b(problem, Input::b, DataType::f32, kRandomPeriod);
  const std::vector<std::int64_t> rows = {0, 1};
  const std::vector<std::int64_t> cols = {0, 1, 2};
  const auto got =
      products(rows_of(problem, a), rows, columns_of(problem, b), cols, 0, problem.k, 1);
  ASSERT_EQ(got.size(), rows.size() * cols.size());
  for (const std::int64_t col : cols) {
    for (const std::int64_t row : rows) {
      double sum = 0;
      double a_square = 0;
      double b_square = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const double x = a.at(row * problem.a.row_stride + k * problem.a.col_stride);
        const double y = b.at(k * problem.b.row_stride + col * problem.b.col_stride);
        sum += x * y;
        a_square += x * x;
        b_square += y * y;
      }
      const double norm = std::sqrt(a_square * b_square / static_cast<double>(problem.k));
      const Product& product = got[static_cast<std::size_t>(col * 2 + row)];
      EXPECT_NEAR(product.sum, sum, 1e-9 * norm);
      EXPECT_NEAR(product.norm, norm, 1e-9 * norm);
    }
  }
}

}  // namespace
}  // namespace gemwright::tune
