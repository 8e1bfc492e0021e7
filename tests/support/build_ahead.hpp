// Compiles what tests are about to build, on every core.
#pragma once

#include "families/cuda_family.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

namespace gemwright::test {

/// Compiled kernels are kept by the process. What does not compile fails again, in its test.
inline void build_ahead(std::span<const compile::Source> sources) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        compile::compile(sources[i]);
      } catch (const Error&) {
        continue;
      }
    }
  };
  std::vector<std::jthread> threads;
  const unsigned count = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work);
}

}  // namespace gemwright::test
