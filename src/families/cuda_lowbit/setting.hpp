// A configuration of cuda_lowbit with names, and how it takes a problem.
#pragma once

#include "families/family.hpp"

#include <array>
#include <string>
#include <string_view>

namespace gemwright {
struct CudaProfile;
}

namespace gemwright::cuda_lowbit {

inline constexpr std::array<std::string_view, 7> kParameters = {
    "warps_k", "warps_n", "tiles", "stages", "cols", "split", "ctas"};

/// One setting of kernels/cuda/gemm_lowbit.cu.
struct Setting {
  int warps_k = 8;  // that share K
  int warps_n = 1;  // groups of those, with tiles of their own
  int tiles = 4;    // of 16 weight rows, a warp and pass
  int stages = 4;   // blocks of 64 columns in flight, the one in use included
  int cols = 8;     // rows of A, padded
  int split = 1;    // CTAs of a cluster that share K
  int ctas = 1;     // resident a multiprocessor

  int threads() const { return 32 * warps_k * warps_n; }
};

Setting setting_of(const Configuration& configuration);
Configuration configuration_of(const Setting& setting);
/// For instance "lowbit_8x1_t4_s4_n8_k1_c1".
std::string name_of(const Setting& setting);

/// Codes, scales and zero points of 16 rows by 64 columns.
int tile_bytes(const Problem& problem);

/// How a launch deals out the work.
struct Dealt {
  int tiles = 0;     // of 16 weight rows
  int share = 0;     // of a cluster
  int passes = 0;    // in which it takes them
  int clusters = 0;  // that share the weight
  int slots = 0;     // of the ring of activations; 0: there is no room
  std::size_t shared_bytes = 0;
};

/// `clusters`: that are resident at once.
Dealt deal(const Setting& setting, const Problem& problem, const CudaProfile& gpu, int clusters);

/// Clusters that the device holds at once, by its shape: what the driver says may differ.
int resident_clusters(const Setting& setting, const CudaProfile& gpu);

}  // namespace gemwright::cuda_lowbit
