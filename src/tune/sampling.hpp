// Which elements of D are compared with the reference.
#pragma once

#include <gemwright/problem.hpp>

#include <cstdint>
#include <vector>

namespace gemwright::tune {

/// Every row of `rows` with every column of `cols`.
struct SampleBlock {
  std::int64_t batch = 0;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> cols;
};

/// See Reference. The same for the same problem, always.
std::vector<SampleBlock> sample_blocks(const Problem& problem);

}  // namespace gemwright::tune
