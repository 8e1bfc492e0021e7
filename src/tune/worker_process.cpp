#include "tune/worker_process.hpp"

#include "log/log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>  // environ

namespace gemwright::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kHelloLimit = 5;  // a cold start from a slow disk
constexpr int kStopInterval = 50;  // milliseconds

// Attributes and file actions of a spawn, freed together.
class SpawnSetup {
 public:
  explicit SpawnSetup(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
    if (log::level() == log::Level::off) {
      posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);

    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  pid_t spawn(const std::string& program) {
    std::string name = program;
    std::string subcommand = "worker";
    char* arguments[] = {name.data(), subcommand.data(), nullptr};
    pid_t pid = -1;
    const int error =
        posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments, environ);
    return error == 0 ? pid : -1;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

int milliseconds_until(Clock::time_point deadline) {
  const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
  return static_cast<int>(std::ceil(std::clamp(left.count(), 0.0, 1e9)));
}

}  // namespace

std::unique_ptr<WorkerProcess> WorkerProcess::start(const std::string& program) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return nullptr;
  const pid_t pid = SpawnSetup(sockets[1]).spawn(program);
  close(sockets[1]);
  if (pid < 0) {
    close(sockets[0]);
    log::warn("the worker {} does not start", program);
    return nullptr;
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(pid, sockets[0]));
  const Answer hello = worker->ask(R"({"hello":")" GEMWRIGHT_VERSION R"("})", kHelloLimit);
  if (hello.state == State::answered) {
    const auto message = nlohmann::json::parse(hello.text, nullptr, false);
    if (message.is_object() && message.value("hello", nlohmann::json()) == GEMWRIGHT_VERSION)
      return worker;
  }
  log::warn("the worker {} does not answer as version " GEMWRIGHT_VERSION, program);
  return nullptr;
}

WorkerProcess::WorkerProcess(pid_t pid, int socket)
    : pid_(pid), parent_(getpid()), socket_(socket) {}

WorkerProcess::~WorkerProcess() {
  reap();
}

bool WorkerProcess::ours() const {
  return parent_ == getpid();
}

bool WorkerProcess::send(const std::string& line) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

WorkerProcess::Answer WorkerProcess::ask(const std::string& line, double limit_s,
                                         const std::function<bool()>& stop) {
  if (socket_ < 0 || !send(line + "\n")) return reap();
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(std::min(limit_s, 1e6)));
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      Answer answer{State::answered, received_.substr(0, end), false};
      received_.erase(0, end + 1);
      return answer;
    }
    pollfd input{.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = poll(&input, 1, std::min(milliseconds_until(deadline), kStopInterval));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      const bool late = Clock::now() >= deadline;
      if (!late && !(stop && stop())) continue;
      reap();
      return {late ? State::late : State::stopped, late ? "passed its time limit" : "was stopped",
              true};
    }
    char buffer[4096];
    const ssize_t count = read(socket_, buffer, sizeof buffer);
    if (count <= 0) return reap();
    received_.append(buffer, static_cast<std::size_t>(count));
  }
}

WorkerProcess::Answer WorkerProcess::reap() {
  if (socket_ < 0) return {State::died, "is gone", true};
  close(socket_);
  socket_ = -1;
  // Its end of the socket closes just before it becomes waitable; let it say how it died.
  int status = 0;
  pid_t done = 0;
  for (int attempt = 0; attempt < 100 && done == 0; ++attempt) {
    done = waitpid(pid_, &status, WNOHANG);
    if (done == 0) usleep(1000);
  }
  if (done == 0) {
    kill(pid_, SIGKILL);
    while ((done = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  if (done < 0) return {State::died, "is gone", true};  // the host reaps children itself
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {State::died,
            "killed by signal " + std::to_string(signal) + " (" + sigdescr_np(signal) + ")",
            signal == SIGKILL};
  }
  return {State::died, "ended with status " + std::to_string(WEXITSTATUS(status)), false};
}

}  // namespace gemwright::tune
