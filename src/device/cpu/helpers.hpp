// Threads that share a caller's work for the length of one call.
#pragma once

#include "log/log.hpp"

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace gemwright::cpu {

/// Starts `count` threads that call `work`, or as many as the system allows: whoever calls this
/// does the work that is left. They are joined when the result is destroyed; `work` must live
/// until then.
template <typename Work>
std::vector<std::jthread> start_helpers(std::size_t count, const Work& work) {
  std::vector<std::jthread> helpers;
  try {
    for (std::size_t i = 0; i < count; ++i) helpers.emplace_back([&work] { work(); });
  } catch (const std::system_error& error) {
    log::warn("{} of {} threads were started: {}", helpers.size(), count, error.what());
  }
  return helpers;
}

}  // namespace gemwright::cpu
