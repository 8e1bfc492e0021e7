// Says how far a long command is.
#pragma once

#include "cli/command.hpp"

#include <string>

namespace gemwright::cli {

/// On a terminal one line that is written over, at most ten times a second, and gone when this is
/// destroyed. Elsewhere a line of its own every ten seconds, in which a log shows that it lives.
class ProgressLine {
 public:
  explicit ProgressLine(const Context& context);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);

 private:
  const Context& context_;
  double shown_at_;
  bool shown_ = false;
};

}  // namespace gemwright::cli
