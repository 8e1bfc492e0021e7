#include "tune/worker_process.hpp"

#include "tune/worker.hpp"
#include "tune/worker_pool.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::tune {
namespace {

using State = WorkerProcess::State;

// Not even a zombie of it is left; a zombie that is another's to reap counts as gone.
bool gone(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(stat >> number >> name >> state) || state == "Z";
}

bool gone_soon(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (gone(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(WorkerProcess, AnswersAndIsReaped) {
  pid_t pid = 0;
  {
    const auto worker = WorkerProcess::start(worker_program());
    ASSERT_NE(worker, nullptr);
    pid = worker->pid();
    const auto answer = worker->ask(R"({"release":true})", 10);
    EXPECT_EQ(answer.state, State::answered);
    EXPECT_EQ(answer.text, R"({"kind":"right","reason":""})");
  }
  EXPECT_EQ(kill(pid, 0), -1) << "the process or its zombie is left";
}

TEST(WorkerProcess, BadRequestsAreRefusedNotFatal) {
  const auto worker = WorkerProcess::start(worker_program());
  ASSERT_NE(worker, nullptr);
  for (const char* request : {R"({"problem":"nonsense","device":"cpu"})", R"({"family":"none"})",
                              R"({"problem":7})", R"({})"}) {
    const auto answer = worker->ask(request, 10);
    EXPECT_EQ(answer.state, State::answered);
    EXPECT_NE(answer.text.find("undone"), std::string::npos) << answer.text;
  }
}

TEST(WorkerProcess, SaysHowItDied) {
  const auto worker = WorkerProcess::start(worker_program());
  ASSERT_NE(worker, nullptr);
  kill(worker->pid(), SIGKILL);
  const auto answer = worker->ask(R"({"release":true})", 10);
  EXPECT_EQ(answer.state, State::died);
  EXPECT_TRUE(answer.killed);
  EXPECT_NE(answer.text.find("signal 9"), std::string::npos) << answer.text;
  EXPECT_EQ(worker->ask(R"({"release":true})", 10).state, State::died);
}

TEST(WorkerProcess, HasNoneOfOurDescriptorsAndItsOwnGroup) {
  const int inherited = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  const auto worker = WorkerProcess::start(worker_program());
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(getpgid(worker->pid()), worker->pid());
  const std::filesystem::path descriptors = "/proc/" + std::to_string(worker->pid()) + "/fd";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(descriptors)) {
    static_cast<void>(entry);
    ++count;
  }
  EXPECT_LE(count, 4);  // input, output, errors, and the replies' own
  close(inherited);
}

TEST(WorkerProcess, EndsWithItsParent) {
  int numbers[2];
  ASSERT_EQ(pipe(numbers), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto worker = WorkerProcess::start(worker_program());
    const pid_t pid = worker ? worker->pid() : 0;
    const bool told = write(numbers[1], &pid, sizeof pid) == sizeof pid;
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(parent, &status, 0);
  pid_t worker = 0;
  ASSERT_EQ(read(numbers[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  ASSERT_GT(worker, 0);
  EXPECT_TRUE(gone_soon(worker));
  close(numbers[0]);
  close(numbers[1]);
}

TEST(WorkerProcess, AProgramThatIsNoWorkerIsNone) {
  EXPECT_EQ(WorkerProcess::start("/nowhere/gemwright"), nullptr);
  EXPECT_EQ(WorkerProcess::start("/bin/true"), nullptr);
  EXPECT_EQ(WorkerProcess::start("/bin/echo"), nullptr);
}

TEST(WorkerProcess, AGreetingOfAnotherTypeIsNone) {
  const auto program =
      std::filesystem::temp_directory_path() / ("gemwright_greeting_" + std::to_string(getpid()));
  std::ofstream(program) << "#!/bin/sh\nread line\necho '{\"hello\": 5}'\nread line\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(WorkerProcess::start(program), nullptr);
  std::filesystem::remove(program);
}

TEST(WorkerPool, ReusesAnIdleWorker) {
  WorkerPool& pool = WorkerPool::instance();
  auto worker = pool.take();
  ASSERT_NE(worker, nullptr);
  const pid_t pid = worker->pid();
  pool.give_back(std::move(worker));
  worker = pool.take();
  EXPECT_EQ(worker->pid(), pid);
  auto second = pool.take();
  EXPECT_NE(second->pid(), pid);
}

}  // namespace
}  // namespace gemwright::tune
