// A configuration of cuda_stream with names, and the problem as its kernels see it.
#pragma once

#include "families/family.hpp"

#include <array>
#include <string>
#include <string_view>

namespace gemwright {
struct CudaProfile;
}

namespace gemwright::cuda_stream {

/// Which device file: weights straight into mma.sync fragments, or a ring of bulk copies and wgmma.
enum class Path : int { direct = 0, ring = 1 };

struct Setting {
  Path path = Path::direct;
  int rows = 16;      // of weights: of a CTA's tile (direct), that a CTA takes at most (ring)
  int cols = 8;       // rows of activations, padded
  int warps = 8;      // direct: that share K
  int unroll = 4;     // direct: steps in flight of each warp; ring: 128-byte blocks of K a stage
  int ring_kb = 0;    // ring: at most, of shared memory
  int split = 1;      // CTAs of a cluster that share K
  int ctas = 1;       // resident a multiprocessor
  bool swap = false;  // the weights are A, and D is computed transposed

  int consumers() const { return rows / 64; }
  int threads() const { return path == Path::direct ? 32 * warps : 128 * consumers() + 64; }
};

inline constexpr std::array<std::string_view, 9> kParameters = {
    "path", "rows", "cols", "warps", "unroll", "ring_kb", "split", "ctas", "swap"};

Setting setting_of(const Configuration& configuration);
Configuration configuration_of(const Setting& setting);
/// For instance "stream_mma_16x8_w8_u4_k2_c2", "stream_ring_64x8_b2_r64_k1_c1_t".
std::string name_of(const Setting& setting);

/// The problem with the weights as B (of N columns) and the activations as A.
Problem view_of(const Problem& problem, bool swap);

/// How many weight rows every CTA of a launch takes, so that they end together.
struct RingPlan {
  int rows = 0;   // 0: the problem does not fit this setting
  int tiles = 0;  // of one batch entry
  int stages = 0;
  std::int64_t grid = 0;  // CTAs
};

/// `slots`: CTAs that are resident at once on the device. `view` is view_of(problem).
RingPlan plan_ring(const Setting& setting, const Problem& view, int slots);

/// Dynamic shared memory of the ring, allowances included.
int ring_shared_bytes(const Setting& setting);
/// The largest ring_kb with which `setting.ctas` CTAs fit on a multiprocessor.
int most_ring_kb(const Setting& setting, const CudaProfile& gpu);

}  // namespace gemwright::cuda_stream
