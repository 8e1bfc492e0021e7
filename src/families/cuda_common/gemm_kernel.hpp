// The kernels that take GemmParams: one grid of tiles, a part of K each.
#pragma once

#include "families/cuda_family.hpp"

namespace gemwright {

/// What the host must know to launch one of them.
struct TileLaunch {
  int tile_m = 0;
  int tile_n = 0;
  int tile_k = 0;
  int threads = 0;
  int shared_bytes = 0;  // dynamic
  int splits = 1;        // wanted; small problems get fewer
  int group = 8;         // rows of tiles walked together
  bool swap = false;     // the kernel computes D^T = B^T A^T
};

/// Parts of K that a launch really has: no more than tiles of K, nor than there are counters for.
int effective_splits(const Problem& problem, const TileLaunch& launch);

/// Workspace that the parts of K take; 0 where there is one.
std::size_t split_bytes(const Problem& problem, const TileLaunch& launch);

/// CTAs of a launch; 0 when a grid cannot hold them.
std::int64_t grid_size(const Problem& problem, const TileLaunch& launch);

/// A compiled kernel of `family`. It serves every problem that would have been compiled from the
/// same source.
std::shared_ptr<const Kernel> make_gemm_kernel(const CudaFamily& family, const Problem& problem,
                                               const Device& device,
                                               const Configuration& configuration,
                                               const TileLaunch& launch);

}  // namespace gemwright
