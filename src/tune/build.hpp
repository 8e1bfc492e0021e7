// Builds candidates in parallel.
#pragma once

#include "model/rank.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gemwright::tune {

/// A kernel, or why there is none.
struct Built {
  std::shared_ptr<const Kernel> kernel;
  std::string failure;
  bool out_of_memory = false;  // the failure says nothing of the candidate
};

/// One for each candidate; a candidate that fails harms no other. Those not yet begun when `stop`
/// says so are left (no kernel, no failure), but the first is always built. `on_built` is called
/// from several threads, one at a time.
std::vector<Built> build_all(const Problem& problem, const Device& device,
                             std::span<const Candidate* const> candidates,
                             const std::function<bool()>& stop,
                             const std::function<void(std::size_t)>& on_built);

}  // namespace gemwright::tune
