#include "numeric/ceil_div.hpp"

#include <gtest/gtest.h>

namespace gemwright::numeric {
namespace {

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(ceil_div(0, 16), 0);
  EXPECT_EQ(ceil_div(1, 16), 1);
  EXPECT_EQ(ceil_div(16, 16), 1);
  EXPECT_EQ(ceil_div(17, 16), 2);
  EXPECT_EQ(ceil_div(std::int64_t{1} << 40, 3), 366503875926);
}

}  // namespace
}  // namespace gemwright::numeric
