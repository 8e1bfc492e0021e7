// What a configuration of cpu_lowbit means.
#pragma once

#include "device/profile.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"
#include "families/cpu_packed/setup.hpp"
#include "families/family.hpp"
#include "model/estimate.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::cpu_lowbit {

enum class Isa : std::int32_t { scalar, avx2, avx512, avx512_bf16, avx512_vnni, amx };

enum class Path : std::int32_t {
  stream,    // codes are looked up as they stream past up to 8 rows of A, by AMX up to 64
  panels,    // decoded once into panels, which cpu_packed's micro-kernels multiply with all rows
  integers,  // int8 activations: codes and activations are multiplied as integers
};

/// A decoded configuration. The sizes are cpu_packed's; paths but `panels` have their threads
/// alone.
struct Setup {
  Isa isa = Isa::scalar;
  Path path = Path::panels;
  cpu_packed::Setup blocks;
};

std::span<const std::string_view> parameter_names();
Setup decode(const Configuration& configuration);
Configuration encode(const Setup& setup);

/// That of cpu_packed's kernels which a configuration stores or multiplies by.
cpu_packed::Isa packed_isa(Isa isa);

/// "avx512_stream_t4", "avx512_panels_14x32_n32_k256_t2".
std::string setup_name(const Setup& setup);

/// Names the order in which a configuration sums over K; empty where K is split.
std::string_view summation_name(const Setup& setup);

/// Kernels of a configuration that the CPU has and that take the problem; else null.
const KernelTable* kernels(Isa isa, Path path, const Problem& problem, const CpuFeatures& features);

/// The same product with a dense fp32 B: what the panels are to cpu_packed; and with A as it lies
/// after its rows were rounded or its columns put in the weight's order.
Problem dense(const Problem& problem);

/// Every configuration for the problem.
std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu);

}  // namespace gemwright::cpu_lowbit
