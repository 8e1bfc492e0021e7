#include "files/shared_library.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace gemwright::files {
namespace {

constexpr const char* kOverride = "GEMWRIGHT_TEST_LIBRARY";
constexpr std::array kNames{"libgemwright_missing.so.7", "libm.so.6"};

TEST(SharedLibrary, TheFirstNameThatIsThereIsTaken) {
  ::unsetenv(kOverride);
  const auto library = open_library(kOverride, kNames, nullptr);
  ASSERT_TRUE(library) << library.error;
  EXPECT_EQ(library.path, "libm.so.6");
  EXPECT_NE(library.symbol("cos"), nullptr);
  EXPECT_EQ(library.symbol("no_such_function"), nullptr);
}

TEST(SharedLibrary, AMissingOneSaysWhichWasLookedFor) {
  ::unsetenv(kOverride);
  const auto library = open_library(kOverride, std::span(kNames).first(1), "no_such_package");
  EXPECT_FALSE(library);
  EXPECT_NE(library.error.find(kNames[0]), std::string::npos) << library.error;
  EXPECT_EQ(library.symbol("cos"), nullptr);
}

TEST(SharedLibrary, TheOverrideIsTheOnlyPlace) {
  ::setenv(kOverride, "/nonexistent/library.so", 1);
  const auto library = open_library(kOverride, kNames, nullptr);
  EXPECT_FALSE(library);
  EXPECT_NE(library.error.find("/nonexistent/library.so"), std::string::npos) << library.error;
  EXPECT_NE(library.error.find(kOverride), std::string::npos) << library.error;
  ::unsetenv(kOverride);
}

TEST(SharedLibrary, FoldersExist) {
  ::setenv("CUDA_HOME", "/usr", 1);
  const auto folders = toolkit_folders("include", "cuda_runtime");
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders.front(), "/usr/include");
  ::unsetenv("CUDA_HOME");
}

}  // namespace
}  // namespace gemwright::files
