#include "plan/build.hpp"

#include "log/log.hpp"
#include "tune/memory.hpp"
#include <gemwright/errors.hpp>

#include <fmt/format.h>

namespace gemwright {

std::shared_ptr<const Kernel> try_build(const Candidate& candidate, const Problem& problem,
                                        const Device& device, const tune::Failures& failures,
                                        std::string& failure) {
  failure = failures.remembered(candidate);
  if (!failure.empty()) return nullptr;
  try {
    auto kernel = candidate.family->build(problem, device, candidate.configuration);
    const std::size_t bytes = kernel->workspace_bytes(problem);
    if (device.kind() == DeviceKind::cpu && !tune::workspace_fits(bytes)) {
      throw OutOfMemory(
          fmt::format("its workspace of {} MiB does not fit into memory", bytes >> 20));
    }
    return kernel;
  } catch (const Error& error) {
    failure = error.what();
    log::warn("{} does not build: {}", label(candidate), failure);
    return nullptr;
  }
}

}  // namespace gemwright
