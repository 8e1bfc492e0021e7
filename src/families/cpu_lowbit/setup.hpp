// What a configuration of cpu_lowbit means.
#pragma once

#include "device/profile.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"
#include "families/family.hpp"
#include "model/estimate.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::cpu_lowbit {

enum class Isa : std::int32_t { scalar, avx2, avx512, avx512_bf16 };

struct Setup {
  Isa isa = Isa::scalar;
  int threads = 1;
};

std::span<const std::string_view> parameter_names();
Setup decode(const Configuration& configuration);
Configuration encode(const Setup& setup);

/// "avx512_bf16_t4".
std::string setup_name(const Setup& setup);

/// Names the order in which an instruction set's kernels sum over K.
std::string_view summation_name(Isa isa);

/// Kernels of an instruction set that the CPU has and that take the problem; else null.
const KernelTable* kernels(Isa isa, const Problem& problem, const CpuFeatures& features);

/// Every configuration for the problem, on all threads and on one.
std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu);

Estimate cost(const Problem& problem, const CpuProfile& cpu, const Setup& setup);

}  // namespace gemwright::cpu_lowbit
