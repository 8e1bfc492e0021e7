#include "support/checked.hpp"

#include "tune/build.hpp"
#include "tune/validate.hpp"

#include <thread>

#include <fmt/format.h>

namespace gemwright::bench {

std::vector<Checked> build_checked(const Problem& problem, const Device& device,
                                   const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> pointers;
  for (const Candidate& candidate : candidates) pointers.push_back(&candidate);
  const auto built = tune::build_all(problem, device, pointers);
  const tune::Reference reference(problem, static_cast<int>(std::thread::hardware_concurrency()));
  const auto testbed = tune::make_testbed(problem, device, {.copies = 1});
  std::vector<Checked> checked;
  for (std::size_t i = 0; i < built.size(); ++i) {
    std::string fault = built[i].failure;
    if (built[i].kernel) fault = tune::validate(*built[i].kernel, problem, *testbed, reference);
    if (fault.empty()) {
      checked.push_back({i, built[i].kernel});
    } else {
      fmt::print("dropped {}: {}\n", label(candidates[i]), fault);
    }
  }
  return checked;
}

}  // namespace gemwright::bench
