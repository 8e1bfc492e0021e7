#include "log/log.hpp"

#include "files/environment.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace gemwright::log {
namespace {

std::atomic<Level>& current() {
  static std::atomic<Level> level{environment_level().value_or(Level::off)};
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

struct Told {
  std::mutex mutex;
  Listener listener;
};

Told& told() {
  static Told instance;
  return instance;
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

std::optional<Level> parse_level(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Level>, 6> kNames{{
      {"", Level::off},
      {"off", Level::off},
      {"error", Level::error},
      {"warn", Level::warn},
      {"info", Level::info},
      {"debug", Level::debug},
  }};
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

std::optional<Level> environment_level() {
  return parse_level(files::environment("GEMWRIGHT_LOG"));
}

void set_listener(Listener listener) {
  const std::lock_guard lock(told().mutex);
  told().listener = std::move(listener);
}

void notice(const std::string& text) {
  {
    const std::lock_guard lock(told().mutex);
    if (told().listener) {
      told().listener(text);
      return;
    }
  }
  warn("{}", text);
}

void write(Level level, const std::string& text) {
  logger().log(spdlog_level(level), text);
}

}  // namespace gemwright::log
