#include "tune/validate.hpp"

namespace gemwright::tune {

std::string validate(const Kernel& kernel, const Problem& problem, Testbed& testbed,
                     const Reference& reference) {
  const int runs = kernel.workspace_bytes(problem) > 0 ? 2 : 1;
  for (int run = 0; run < runs; ++run) {
    testbed.poison();
    testbed.run(kernel, run == 0);
    std::string failure = reference.check(testbed);
    if (!failure.empty()) return run == 0 ? failure : "on its second run: " + failure;
  }
  return {};
}

}  // namespace gemwright::tune
