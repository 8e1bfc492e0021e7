#include "cli/progress.hpp"

#include <chrono>
#include <ostream>

namespace gemwright::cli {
namespace {

constexpr double kLeastSeconds = 0.1;
constexpr double kLeastSecondsOfALog = 10;
// Fits the narrowest terminal, so that the line never wraps and can be written over.
constexpr std::size_t kLongest = 78;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressLine::ProgressLine(const Context& context)
    : context_(context), shown_at_(context.terminal ? -1 : now()) {}

ProgressLine::~ProgressLine() {
  if (shown_ && context_.terminal) context_.err << "\r\033[K" << std::flush;
}

void ProgressLine::show(const std::string& text) {
  if (now() - shown_at_ < (context_.terminal ? kLeastSeconds : kLeastSecondsOfALog)) return;
  shown_at_ = now();
  shown_ = true;
  if (context_.terminal) {
    context_.err << "\r\033[K" << text.substr(0, kLongest) << std::flush;
  } else {
    context_.err << "gemwright: " << text << std::endl;
  }
}

}  // namespace gemwright::cli
