// Whether rows of a product keep their bits when the number of rows changes.
#pragma once

#include "model/rank.hpp"
#include "support/gemm_case.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gemwright::test {

/// `problem` with its first `m` rows only, batch-invariant.
inline Problem first_rows(Problem problem, std::int64_t m) {
  problem.m = m;
  problem.batch_invariant = true;
  return problem;
}

/// At most `most` candidates for the first `m` rows of `problem`, from all over the ranking.
inline std::vector<Candidate> invariant_candidates(const Problem& problem, std::int64_t m,
                                                   const Device& device, std::size_t most) {
  std::vector<Refusal> refusals;
  const auto all = model::rank(canonical(first_rows(problem, m)).problem, device, refusals);
  std::vector<Candidate> some;
  const std::size_t step = all.size() / most + 1;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

/// Runs candidates for the first rows of `problem` (A and D row-major, no batch), as many of them
/// as `counts` say, all of them first; "" when every row has the same bits each time, and is right.
inline std::string rows_change(const Problem& problem, std::span<const std::int64_t> counts,
                               const Device& device, Memory& memory, std::size_t most) {
  Fixture fixture({"rows", problem, Fill::normal, false}, memory);
  std::vector<std::byte> expected;
  std::string first;  // who computed it
  std::string others;
  for (const std::int64_t m : counts) {
    const Canonical form = canonical(first_rows(problem, m));
    const auto candidates = invariant_candidates(problem, m, device, most);
    if (candidates.empty()) return "no candidate for m = " + std::to_string(m);
    for (const Candidate& candidate : candidates) {
      const auto kernel = candidate.family->build(form.problem, device, candidate.configuration);
      const auto workspace = make_workspace(memory, kernel->workspace_bytes(form.problem));
      const Operands operands = form.swapped ? fixture.operands().transposed() : fixture.operands();
      fixture.reset();
      kernel->run(form.problem, operands, workspace.data, memory.stream());
      const std::string name = candidate.family->configuration_name(candidate.configuration) +
                               " for m = " + std::to_string(m);
      if (expected.empty()) {
        if (auto fault = fixture.compare(); !fault.empty()) return name + ": " + fault;
        expected = fixture.output();
        first = name;
      }
      const auto bits = fixture.output();
      const auto bytes = m * problem.d.row_stride * size_bytes(problem.d.type);
      if (!std::equal(bits.begin(), bits.begin() + bytes, expected.begin()))
        others += "\n  " + name;
    }
  }
  return others.empty() ? "" : "unlike " + first + ":" + others;
}

}  // namespace gemwright::test
