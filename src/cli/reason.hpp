// Why a plan's kernel is the one, in a sentence.
#pragma once

#include "tune/contender.hpp"
#include <gemwright/plan.hpp>

#include <string>

namespace gemwright::cli {

/// What follows "chosen KERNEL: ". `policy` is that of the device, by whose bands one that was not
/// the fastest may have been kept.
std::string reason_of(const Explanation& explanation, const tune::Policy& policy);

}  // namespace gemwright::cli
