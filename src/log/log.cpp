#include "log/log.hpp"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace gemwright::log {
namespace {

Level level_from_environment() {
  const char* text = std::getenv("GEMWRIGHT_LOG");
  const std::string_view value = text == nullptr ? "" : text;
  if (value == "error") return Level::error;
  if (value == "warn") return Level::warn;
  if (value == "info") return Level::info;
  if (value == "debug") return Level::debug;
  return Level::off;
}

std::atomic<Level>& current() {
  static std::atomic<Level> level{level_from_environment()};
  return level;
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::error:
      return spdlog::level::err;
    case Level::warn:
      return spdlog::level::warn;
    case Level::info:
      return spdlog::level::info;
    default:
      return spdlog::level::debug;
  }
}

spdlog::logger& logger() {
  // Not registered with spdlog's global registry: the host program's settings stay its own.
  static spdlog::logger instance = [] {
    spdlog::logger made("gemwright", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made.set_level(spdlog::level::debug);
    return made;
  }();
  return instance;
}

}  // namespace

Level level() {
  return current().load(std::memory_order_relaxed);
}

void set_level(Level level) {
  current().store(level, std::memory_order_relaxed);
}

void write(Level level, const std::string& text) {
  logger().log(spdlog_level(level), text);
}

}  // namespace gemwright::log
