#include "files/file_lock.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gemwright::files {
namespace {

using Kind = FileLock::Kind;

class FileLockTest : public testing::Test {
 protected:
  ~FileLockTest() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("gemwright_lock_" + std::to_string(::getpid()));
};

TEST_F(FileLockTest, IsHeldByOneAloneOrByManyTogether) {
  {
    const FileLock one(path_, Kind::shared, 0);
    const FileLock two(path_, Kind::shared, 0);
    EXPECT_TRUE(one.held() && two.held());
    EXPECT_FALSE(FileLock(path_, Kind::alone, 0).held());
  }
  EXPECT_TRUE(FileLock(path_, Kind::alone, 0).held());
}

TEST_F(FileLockTest, IsWaitedForOnlySoLongAndThatIsSaidOnce) {
  const FileLock other(path_, Kind::alone, 0);
  int said = 0;
  const auto start = std::chrono::steady_clock::now();
  const FileLock late(path_, Kind::alone, 0.05, [&] { ++said; });
  EXPECT_FALSE(late.held());
  EXPECT_TRUE(late.possible());
  EXPECT_EQ(said, 1);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  EXPECT_FALSE(FileLock(path_, Kind::alone, 1000, {}, [] { return true; }).held());
}

TEST_F(FileLockTest, WhereNoFileCanBeNobodyLocks) {
  const FileLock lock(path_ / "below a file that is not there", Kind::alone, 1);
  EXPECT_FALSE(lock.possible());
  EXPECT_FALSE(lock.held());
}

}  // namespace
}  // namespace gemwright::files
