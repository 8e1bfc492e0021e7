// Many processes, one store.
#include "store/record_json.hpp"
#include "store/samples.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::store {
namespace {

using Processes = StoreTest;

// Starts `count` children at once and returns how many came back well.
int run_children(int count, const std::function<bool(int)>& body) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(body(i) ? 0 : 1);
    children.push_back(child);
  }
  int well = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    well += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  return well;
}

TEST_F(Processes, WriteAtOnceAndLoseNothing) {
  constexpr int kChildren = 8;
  constexpr int kEach = 10;
  EXPECT_EQ(run_children(kChildren,
                         [&](int child) {
                           const auto database = open_file(path());
                           for (int i = 0; i < kEach; ++i) {
                             database->keep(sample(child * kEach + i), false);
                           }
                           return true;
                         }),
            kChildren);
  EXPECT_EQ(open_file(path())->list().size(), std::size_t{kChildren * kEach});
}

TEST_F(Processes, ThatTuneTheSameProblemAgree) {
  EXPECT_EQ(run_children(6,
                         [&](int child) {
                           const auto database = open_file(path());
                           const auto kept =
                               database->keep(sample(1, "by" + std::to_string(child)), false);
                           usleep(100'000);
                           const auto found = open_file(path())->find(kept.problem, kept.device);
                           return found && to_json(*found) == to_json(kept);
                         }),
            6);
}

TEST_F(Processes, MeetADamagedFileTogether) {
  open_file(path())->keep(sample(0), false);
  for (int round = 0; round < 5; ++round) {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << std::string(9000, 'x');
    std::filesystem::remove(path().string() + "-wal");
    EXPECT_EQ(run_children(6,
                           [&](int child) {
                             const auto database = open_file(path());
                             database->keep(sample(child), false);
                             return database->find(problem_key(child), "test device").has_value();
                           }),
              6);
    EXPECT_EQ(open_file(path())->list().size(), 6U);
    EXPECT_EQ(moved_aside(), round + 1);
  }
}

TEST_F(Processes, ForkWithTheStoreOpen) {
  const auto database = open_file(path());
  database->keep(sample(0), false);
  EXPECT_EQ(run_children(4,
                         [&](int child) {
                           database->keep(sample(child + 1), false);
                           return database->find(problem_key(0), "test device").has_value();
                         }),
            4);
  database->keep(sample(9), false);
  EXPECT_EQ(database->list().size(), 6U);
}

TEST_F(Processes, ForkWhileAnotherThreadUsesTheStore) {
#if defined(GEMWRIGHT_SANITIZED)
  GTEST_SKIP() << "a sanitizer's allocator stays locked in a child of a fork during malloc()";
#endif
  const auto database = open_file(path());
  std::thread writer([&] {
    for (int n = 0; n < 50; ++n) database->keep(sample(n), false);
  });
  EXPECT_EQ(run_children(4,
                         [&](int child) {
                           database->keep(sample(100 + child), false);
                           return true;
                         }),
            4);
  writer.join();
  EXPECT_EQ(database->list().size(), 54U);
}

}  // namespace
}  // namespace gemwright::store
