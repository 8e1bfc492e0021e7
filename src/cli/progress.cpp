#include "cli/progress.hpp"

#include <chrono>
#include <ostream>

namespace gemwright::cli {
namespace {

constexpr double kLeastSeconds = 0.1;
// Fits the narrowest terminal, so that the line never wraps and can be written over.
constexpr std::size_t kLongest = 78;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressLine::~ProgressLine() {
  if (shown_at_ >= 0) context_.err << "\r\033[K" << std::flush;
}

void ProgressLine::show(const std::string& text) {
  if (!context_.terminal || now() - shown_at_ < kLeastSeconds) return;
  shown_at_ = now();
  context_.err << "\r\033[K" << text.substr(0, kLongest) << std::flush;
}

}  // namespace gemwright::cli
