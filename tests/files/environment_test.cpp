#include "files/environment.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace gemwright::files {
namespace {

TEST(Environment, EmptyIsAsNotSet) {
  const char* name = "GEMWRIGHT_TEST_VARIABLE";
  unsetenv(name);
  EXPECT_EQ(environment(name), "");
  setenv(name, "", 1);
  EXPECT_EQ(environment(name), "");
  setenv(name, "a b", 1);
  EXPECT_EQ(environment(name), "a b");
  unsetenv(name);
}

}  // namespace
}  // namespace gemwright::files
