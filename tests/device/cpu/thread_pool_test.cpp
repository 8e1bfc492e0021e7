#include "device/cpu/thread_pool.hpp"

#include "device/cpu/helpers.hpp"
#include "device/cpu/topology.hpp"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::cpu {
namespace {

// More workers than this machine may have cores: several share one.
std::vector<int> crowd(int count) {
  const std::vector<int> allowed = allowed_cpus();
  std::vector<int> cpus;
  for (int i = 0; i < count; ++i)
    cpus.push_back(allowed[static_cast<std::size_t>(i) % allowed.size()]);
  return cpus;
}

TEST(ThreadPool, EveryTaskRunsOnceWhateverTheNumbers) {
  ThreadPool pool(crowd(4));
  for (const int tasks : {0, 1, 2, 3, 4, 7, 100}) {
    for (const int threads : {1, 2, 3, 4, 9}) {
      std::vector<std::atomic<int>> counts(static_cast<std::size_t>(tasks));
      pool.run(tasks, threads, [&](int index, int participant) {
        EXPECT_GE(participant, 0);
        EXPECT_LT(participant, threads);
        counts[static_cast<std::size_t>(index)].fetch_add(1);
      });
      for (const auto& count : counts) EXPECT_EQ(count.load(), 1);
    }
  }
}

// Stacks that are larger than what address space is left: no thread can be started.
void forbid_threads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 40);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  const rlimit limit{.rlim_cur = rlim_t{1} << 36, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

TEST(ThreadPool, RunsOnTheCallerWhereNoThreadCanBeStarted) {
#if defined(GEMWRIGHT_SANITIZED)
  GTEST_SKIP() << "sanitizers need address space of their own";
#endif
  const pid_t child = fork();
  if (child == 0) {
    ThreadPool pool(crowd(4));
    forbid_threads();
    int sum = 0;
    bool alone = true;
    pool.run(10, 4, [&](int index, int participant) {
      sum += index;
      alone = alone && participant == 0;
    });
    const auto helpers = start_helpers(3, [] {});
    _exit(sum == 45 && alone && helpers.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, ResultsOfTasksAreSeenAfterARegion) {
  ThreadPool pool(crowd(3));
  std::vector<int> values(64);
  for (int round = 1; round <= 2000; ++round) {
    pool.run(64, 3, [&](int index, int) { values[static_cast<std::size_t>(index)] += index; });
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), round * 63 * 32);
  }
}

TEST(ThreadPool, ParticipantsAreAloneInTheirSlots) {
  ThreadPool pool(crowd(4));
  for (int round = 0; round < 500; ++round) {
    std::vector<std::atomic<bool>> inside(4);
    pool.run(16, 4, [&](int, int participant) {
      auto& slot = inside[static_cast<std::size_t>(participant)];
      EXPECT_FALSE(slot.exchange(true));
      slot.store(false);
    });
  }
}

TEST(ThreadPool, ManyUsersAtOnce) {
  ThreadPool pool(crowd(3));
  std::vector<std::thread> users;
  std::atomic<int> total{0};
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        int own[8] = {};
        pool.run(8, 3, [&](int index, int) { own[index] = 1; });
        total += std::accumulate(own, own + 8, 0);
      }
    });
  }
  for (auto& user : users) user.join();
  EXPECT_EQ(total.load(), 4 * 300 * 8);
}

TEST(ThreadPool, ARegionInsideATaskRuns) {
  ThreadPool pool(crowd(2));
  std::atomic<int> total{0};
  pool.run(4, 2, [&](int, int) { pool.run(3, 2, [&](int, int) { ++total; }); });
  EXPECT_EQ(total.load(), 12);
}

TEST(ThreadPool, WorksInTheChildOfAFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer lets the child of a fork start no threads";
#endif
  std::atomic<int> before{0};
  ThreadPool::global().run(8, 2, [&](int, int) { ++before; });
  ASSERT_EQ(before.load(), 8);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> inside{0};
    ThreadPool::global().run(8, 2, [&](int, int) { ++inside; });
    _exit(inside.load() == 8 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace gemwright::cpu
