#include "cli/command.hpp"
#include "tune/worker.hpp"

#include <atomic>
#include <csignal>
#include <iostream>
#include <string_view>

#include <unistd.h>

namespace {

std::atomic<bool> interrupted{false};

// The first interrupt asks the command to end with what it has; the second ends the process.
void on_interrupt(int) {
  interrupted.store(true);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  // A write beyond the limit of a file's size then fails as any other, and is said.
  std::signal(SIGXFSZ, SIG_IGN);
  // Started by the tuner, which runs candidates first where a crash harms nobody.
  if (argc == 2 && std::string_view(argv[1]) == "worker") return gemwright::tune::worker_main();

  gemwright::cli::Context context{
      std::cout, std::cerr, interrupted, isatty(STDERR_FILENO) == 1, {}, catch_interrupts};
  return gemwright::cli::run({argv + 1, argv + argc}, context);
}
