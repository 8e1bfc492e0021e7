#include "tune/turn.hpp"

#include "tune/fakes.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::tune {
namespace {

class TurnTest : public testing::Test {
 protected:
  TurnTest() { setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
  ~TurnTest() override {
    setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  std::string before_ = std::getenv("XDG_CACHE_HOME");
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("gemwright_turn_" + std::to_string(getpid()));
  Device device_ = small_device();
};

TEST_F(TurnTest, ThreadsTakeTurns) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto work = [&] {
    const Turn turn(device_, 10, {});
    most = std::max<int>(most, ++inside);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --inside;
  };
  {
    std::jthread one(work);
    std::jthread two(work);
  }
  EXPECT_EQ(most, 1);
}

TEST_F(TurnTest, ProcessesTakeTurnsAndPatienceEnds) {
  int ready[2];
  int leave[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(leave), 0);
  char byte = 1;
  const pid_t other = fork();
  if (other == 0) {
    const Turn turn(device_, 10, {});
    const bool told = write(ready[1], &byte, 1) == 1 && read(leave[0], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto start = std::chrono::steady_clock::now();
  { const Turn turn(device_, 0.1, {}); }  // goes on without the lock
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  bool asked = false;
  {
    const Turn turn(device_, 1000, [&] { return asked = true; });
  }
  EXPECT_TRUE(asked);
  ASSERT_EQ(write(leave[1], &byte, 1), 1);
  { const Turn turn(device_, 1000, {}); }  // free once the other has ended
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : {ready[0], ready[1], leave[0], leave[1]}) close(end);
}

TEST_F(TurnTest, WithoutAFolderNobodyWaits) {
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  const Turn turn(device_, 1000, {});
}

}  // namespace
}  // namespace gemwright::tune
