// What a configuration of cpu_packed means.
#pragma once

#include "device/profile.hpp"
#include "families/cpu_packed/kernels/table.hpp"
#include "families/family.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::cpu_packed {

enum class Isa : std::int32_t { scalar, avx2, avx512, avx512_bf16, amx_bf16 };

/// How the micro-kernels get at B.
enum class Path : std::int32_t {
  pack,    // panels are packed as they are needed
  direct,  // B as it lies: packed weights, or rows that are contiguous along N
  dot,     // B as it lies, contiguous along K; dot products
};

/// A decoded configuration. Sizes of blocks are in elements; 0 means all.
struct Setup {
  Isa isa = Isa::scalar;
  Path path = Path::pack;
  int rows = 0;    // of a micro-tile; `dot`: rows of A that one pass over B serves
  int panels = 0;  // of a micro-tile; `dot`: unused
  int mc = 0;      // rows of A packed at once
  int nc = 0;      // columns of B packed at once
  int kc = 0;      // depth of a block
  int threads = 1;
  int split_k = 1;
};

std::span<const std::string_view> parameter_names();
Setup decode(const Configuration& configuration);
Configuration encode(const Setup& setup);

/// For instance "avx512_pack_14x32_m512_n512_k512_t2", "avx512_dot_r4_t2_s2".
std::string setup_name(const Setup& setup);

/// Kernels of an instruction set; null when this build has none.
const KernelTable* kernels(Isa isa);

/// Why that instruction set does not run on the device, or nothing.
std::optional<std::string> isa_refusal(Isa isa, const CpuFeatures& features);

/// How B is read; nothing when the path and instruction set do not take the problem's operands.
std::optional<Loader> loader_of(Isa isa, Path path, const Problem& problem);

/// Every configuration worth trying on the device, a few hundred at most.
std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu);

}  // namespace gemwright::cpu_packed
