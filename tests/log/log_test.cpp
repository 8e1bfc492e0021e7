#include "log/log.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace gemwright::log {
namespace {

TEST(Log, TheEnvironmentNamesALevel) {
  unsetenv("GEMWRIGHT_LOG");
  EXPECT_EQ(environment_level(), Level::off);
  setenv("GEMWRIGHT_LOG", "", 1);
  EXPECT_EQ(environment_level(), Level::off);
  setenv("GEMWRIGHT_LOG", "info", 1);
  EXPECT_EQ(environment_level(), Level::info);
  setenv("GEMWRIGHT_LOG", "loud", 1);
  EXPECT_EQ(environment_level(), std::nullopt);
  unsetenv("GEMWRIGHT_LOG");
}

}  // namespace
}  // namespace gemwright::log
