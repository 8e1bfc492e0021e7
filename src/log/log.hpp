// Logging: off by default, levels by $GEMWRIGHT_LOG (off, error, warn, info, debug), to standard
// error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace gemwright::log {

enum class Level : unsigned char { off, error, warn, info, debug };

Level level();
void set_level(Level level);
/// A level by its name; nothing when there is none of that name. Empty is off.
std::optional<Level> parse_level(std::string_view name);
/// That of $GEMWRIGHT_LOG; nothing when it names none, which counts as off.
std::optional<Level> environment_level();
void write(Level level, const std::string& text);

/// Who is told, at any level, what a person at a terminal has to know: that a store was moved
/// aside, say. Null: nobody, and it is a warning like others. The command line sets one; one at a
/// time.
using Listener = std::function<void(const std::string& text)>;
void set_listener(Listener listener);
/// Tells the listener, else writes a warning where warnings are wanted.
void notice(const std::string& text);

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
