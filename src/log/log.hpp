// Logging: off by default, levels by $GEMWRIGHT_LOG (error, warn, info, debug), to standard error.
#pragma once

#include <string>

#include <fmt/format.h>

namespace gemwright::log {

enum class Level : unsigned char { off, error, warn, info, debug };

Level level();
void set_level(Level level);
void write(Level level, const std::string& text);

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::warn) write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::debug) {
    write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace gemwright::log
