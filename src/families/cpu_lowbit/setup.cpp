#include "families/cpu_lowbit/setup.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright::cpu_lowbit {
namespace {

constexpr std::array<std::string_view, 4> kIsaNames{"scalar", "avx2", "avx512", "avx512_bf16"};

// What the kernels that look up by permutes take.
bool looked_up(const Problem& problem) {
  const WeightFormat& format = *problem.weight;
  const bool aligned = format.grouping != Grouping::flat || problem.k % format.group == 0;
  return format.bits == 4 && format.zero == Zero::symmetric &&
         format.codes != Codes::learned_per_row && aligned;
}

// Seconds that a core takes for a code: to decode it, and for each row of A. Of the lookups as
// measured on an Emerald Rapids core (docs/performance/cpu_lowbit.md); of the decoders an estimate.
struct CodeCost {
  double decode;
  double row;
};

CodeCost code_cost(const Setup& setup, const CpuProfile& cpu) {
  switch (setup.isa) {
    case Isa::avx512_bf16:
      return {0.03e-9, 2.8 / cpu.bf16_flops};
    case Isa::avx512:
      return {0.02e-9, 3.8 / cpu.f32_flops};
    case Isa::avx2:
      return {3e-9, 4 / cpu.f32_flops};
    case Isa::scalar:
      return {3e-9, 16 / cpu.f32_flops};
  }
  return {};
}

}  // namespace

std::span<const std::string_view> parameter_names() {
  static constexpr std::array<std::string_view, 2> names{"isa", "threads"};
  return names;
}

Setup decode(const Configuration& configuration) {
  return {static_cast<Isa>(configuration.values[0]), configuration.values[1]};
}

Configuration encode(const Setup& setup) {
  Configuration configuration;
  configuration.values[0] = static_cast<std::int32_t>(setup.isa);
  configuration.values[1] = setup.threads;
  return configuration;
}

std::string setup_name(const Setup& setup) {
  return fmt::format("{}_t{}", kIsaNames.at(static_cast<std::size_t>(setup.isa)), setup.threads);
}

std::string_view summation_name(Isa isa) {
  constexpr std::array<std::string_view, 4> kOrders{"lowbit_scalar", "lowbit_avx2", "lowbit_avx512",
                                                    "lowbit_avx512_bf16"};
  return kOrders.at(static_cast<std::size_t>(isa));
}

const KernelTable* kernels(Isa isa, const Problem& problem, const CpuFeatures& features) {
  switch (isa) {
    case Isa::scalar:
      return scalar_kernels();
    case Isa::avx2:
      return features.avx2_fma && features.f16c ? avx2_kernels() : nullptr;
    case Isa::avx512:
      return features.avx512 && looked_up(problem) ? avx512_kernels() : nullptr;
    case Isa::avx512_bf16: {
      const bool bf16 = problem.a.type == DataType::bf16 && problem.b.type == DataType::bf16;
      const bool has = features.avx512 && features.avx512_bf16;
      return has && bf16 && looked_up(problem) ? avx512_bf16_kernels() : nullptr;
    }
  }
  return nullptr;
}

std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu) {
  std::vector<Setup> result;
  for (const Isa isa : {Isa::avx512_bf16, Isa::avx512, Isa::avx2, Isa::scalar}) {
    if (kernels(isa, problem, cpu.features) == nullptr) continue;
    // The portable kernels are for what the others do not take.
    if (isa <= Isa::avx2 && !result.empty()) break;
    result.push_back({isa, cpu.threads});
    if (cpu.threads > 1) result.push_back({isa, 1});
  }
  return result;
}

Estimate cost(const Problem& problem, const CpuProfile& cpu, const Setup& setup) {
  const CodeCost code = code_cost(setup, cpu);
  const double rows = static_cast<double>(problem.m) * static_cast<double>(problem.batch);
  const double passes = std::max(1.0, rows / kMostRows);
  const double codes = static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const double tasks =
      std::max(1.0, static_cast<double>(formats::ceil_div(problem.n, 64)) * passes);
  const double threads = std::min(static_cast<double>(setup.threads), tasks);
  const double math = codes * (code.decode * passes + code.row * rows) / threads;
  const double rate = setup.threads > 1 ? cpu.dram_bytes_per_s_all : cpu.dram_bytes_per_s_1;
  const double memory = problem.bytes() / rate;
  const double overhead = setup.threads > 1 ? 2 * cpu.fork_join_s : 0;
  return {.us = (std::max(math, memory) + overhead) * 1e6,
          .bound = math > memory ? Bound::math : Bound::memory};
}

}  // namespace gemwright::cpu_lowbit
