#include "model/cpu_cost.hpp"

#include "model/cpu_rates.hpp"

#include <algorithm>

namespace gemwright::model {
namespace {

// What oneDNN reaches with plain weights, as measured on Emerald Rapids and Zen 4.
constexpr double kVendorMath = 0.75;
constexpr double kVendorMemory = 0.8;

}  // namespace

Estimate cpu_vendor_cost(const Problem& problem, const CpuProfile& cpu, int threads) {
  // It always takes the dot products of bf16, also where they are the slower way.
  const bool pairs = problem.a.type == DataType::bf16 && cpu.features.avx512_bf16;
  const double rate = (pairs ? cpu.bf16_flops : cpu.f32_flops) * threads * kVendorMath;
  const double math = problem.flops() / rate;
  const double memory = problem.bytes() / (dram_bytes_per_s(cpu, threads) * kVendorMemory);
  const double overhead = threads > 1 ? cpu.fork_join_s : 0;
  return {.us = (std::max(math, memory) + overhead) * 1e6,
          .bound = math > memory ? Bound::math : Bound::memory};
}

}  // namespace gemwright::model
