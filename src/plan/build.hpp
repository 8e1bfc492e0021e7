// Building the kernel of a candidate that was not run before.
#pragma once

#include "model/rank.hpp"
#include "tune/failures.hpp"

#include <memory>
#include <string>

namespace gemwright {

/// The candidate's kernel; null, with the reason in `failure`, where it is known to fail, does not
/// build, or wants a workspace that there is no memory for.
std::shared_ptr<const Kernel> try_build(const Candidate& candidate, const Problem& problem,
                                        const Device& device, const tune::Failures& failures,
                                        std::string& failure);

}  // namespace gemwright
