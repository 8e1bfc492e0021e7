// Rates that a CPU sustains with a number of threads.
#pragma once

#include "device/profile.hpp"
#include <gemwright/problem.hpp>

#include <algorithm>

namespace gemwright::model {

/// Bytes per second read from memory by `threads` threads together.
inline double dram_bytes_per_s(const CpuProfile& cpu, int threads) {
  if (threads >= cpu.threads && threads > 1) return cpu.dram_bytes_per_s_all;
  return std::min(cpu.dram_bytes_per_s_1 * threads,
                  std::max(cpu.dram_bytes_per_s_1, cpu.dram_bytes_per_s_all));
}

/// Of AMX on pairs of bf16, a core: 512 multiply-adds a clock, beside 32 of fp32 vectors.
inline double amx_flops(const CpuProfile& cpu) {
  return 16 * cpu.f32_flops;
}

/// Best flop/s of one core. Only pairs of bf16 have instructions of their own, and those pay only
/// where they are faster than widening to fp32; fp16 is always widened.
inline double flops_per_core(const CpuProfile& cpu, DataType a, DataType b) {
  const bool pairs = a == DataType::bf16 && b == DataType::bf16;
  if (pairs && cpu.features.amx_bf16) return amx_flops(cpu);
  return pairs ? std::max(cpu.bf16_flops, cpu.f32_flops) : cpu.f32_flops;
}

/// The same for a problem: int8 activations may be multiplied four at a time by VNNI.
inline double flops_per_core(const CpuProfile& cpu, const Problem& problem) {
  const bool dots = problem.activations == Activations::int8 && cpu.features.avx512_vnni;
  return dots ? 4 * cpu.f32_flops : flops_per_core(cpu, problem.a.type, problem.b.type);
}

}  // namespace gemwright::model
