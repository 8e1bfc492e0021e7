// One line on a terminal that says how far a long command is.
#pragma once

#include "cli/command.hpp"

#include <string>

namespace gemwright::cli {

/// Writes over itself, at most ten times a second; gone when destroyed. Silent when the context has
/// no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(const Context& context) : context_(context) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);

 private:
  const Context& context_;
  double shown_at_ = -1;
};

}  // namespace gemwright::cli
