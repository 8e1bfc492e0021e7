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
  double seconds = 0;          // that it took
};

/// Gives each candidate's to `on_built` as it is done, from several threads, one at a time; a
/// candidate that fails harms no other. Those not yet begun when `stop` says so are left out, but
/// the first is always built.
void build_each(const Problem& problem, const Device& device,
                std::span<const Candidate* const> candidates, const std::function<bool()>& stop,
                const std::function<void(std::size_t, Built)>& on_built);

/// One for each candidate, all of them.
std::vector<Built> build_all(const Problem& problem, const Device& device,
                             std::span<const Candidate* const> candidates);

}  // namespace gemwright::tune
