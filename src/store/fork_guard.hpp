// Closing files before a fork.
#pragma once

namespace gemwright::store {

/// An object that must not be carried across fork() as it is: SQLite keeps its locks by process,
/// and a connection that is open while the process forks can be used in neither safely.
class ForkGuard {
 public:
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 protected:
  ForkGuard();
  /// By the destructor of the most derived class, before its members go.
  void leave_fork_guard();
  ~ForkGuard() = default;

 private:
  friend struct ForkGuards;
  /// In the process that forks: wait for others, close, and keep others out.
  virtual void before_fork() = 0;
  /// In both processes.
  virtual void after_fork() = 0;
};

}  // namespace gemwright::store
