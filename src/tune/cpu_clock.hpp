// The clock of the core that this thread runs on.
#pragma once

namespace gemwright::tune {

/// In GHz, by timing a chain of dependent additions, one cycle each: hypervisors hide the clock,
/// and the time stamp counter does not follow it. Takes 0.1 ms. 0 on other processors than x86-64.
double cpu_clock_ghz();

}  // namespace gemwright::tune
