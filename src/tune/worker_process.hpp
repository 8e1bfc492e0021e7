// The parent's side of a worker process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

namespace gemwright::tune {

/// A running worker. Killed and reaped when destroyed. Not safe from several threads at once, but
/// may go from one to another.
class WorkerProcess {
 public:
  /// Starts `program worker` in a process group of its own (an interrupt typed at the terminal is
  /// the parent's affair), with none of this process's descriptors. Null when it does not start or
  /// does not answer as this version of the library.
  static std::unique_ptr<WorkerProcess> start(const std::string& program);

  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  enum class State : unsigned char { answered, died, late, stopped };
  struct Answer {
    State state = State::answered;
    std::string text;     // the reply's line; or how it died, for instance "killed by signal 11"
    bool killed = false;  // died by SIGKILL: not of its own doing
  };
  /// Sends a line and waits for the reply, until `stop` says otherwise. After anything but an
  /// answer the worker is gone.
  Answer ask(const std::string& line, double limit_s, const std::function<bool()>& stop = {});

  pid_t pid() const { return pid_; }
  /// False in a process forked from the one that started it.
  bool ours() const;

 private:
  WorkerProcess(pid_t pid, int socket);
  bool send(const std::string& line);
  /// Waits for the process, which has ended or is killed here.
  Answer reap();

  pid_t pid_;
  pid_t parent_;
  int socket_;
  std::string received_;
};

}  // namespace gemwright::tune
