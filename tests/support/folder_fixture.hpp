// A folder of its own for each test, removed afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace gemwright::test {

class FolderFixture : public testing::Test {
 protected:
  FolderFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "gemwright-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~FolderFixture() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

}  // namespace gemwright::test
