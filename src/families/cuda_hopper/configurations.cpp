#include "families/cuda_hopper/configurations.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "problem/transposed.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gemwright::cuda_hopper {
namespace {

using cuda_layout::tiles_of;

struct Tile {
  int m;
  int n;
  bool ping_pong;
};

// Narrow steps of N let some tile fill the last wave of any shape. Taking turns hides the epilogue,
// up to 192 accumulators a thread: with more, ptxas spills.
constexpr std::array kTiles = {
    Tile{64, 16, false},   Tile{64, 24, false},   Tile{64, 40, false},   Tile{64, 56, false},
    Tile{64, 72, false},   Tile{64, 32, false},   Tile{64, 48, false},   Tile{64, 64, false},
    Tile{64, 80, false},   Tile{64, 96, false},   Tile{64, 112, false},  Tile{64, 128, false},
    Tile{64, 192, false},  Tile{64, 256, false},  Tile{128, 64, false},  Tile{128, 96, false},
    Tile{128, 128, false}, Tile{128, 192, false}, Tile{128, 208, false}, Tile{128, 224, false},
    Tile{128, 256, false}, Tile{192, 128, false}, Tile{256, 96, false},  Tile{256, 112, false},
    Tile{256, 128, false}, Tile{256, 160, false}, Tile{64, 96, true},    Tile{64, 128, true},
    Tile{128, 64, true},   Tile{128, 80, true},   Tile{128, 96, true},   Tile{128, 112, true},
    Tile{128, 128, true},  Tile{128, 144, true},  Tile{128, 160, true},  Tile{128, 176, true},
    Tile{128, 192, true}};

constexpr std::int64_t kMostSwappedRows = 512;
constexpr std::int64_t kFewRows = 64;

// Larger ones leave SMs of a GPC idle.
struct Cluster {
  int m;
  int n;
};
constexpr std::array kClusters = {Cluster{1, 1}, Cluster{2, 1}, Cluster{1, 2}};

// Accumulators that leave enough registers where threads load, as compile tests show.
int most_accumulators(const Setting& s, const View& view) {
  const bool both = view.load_a != Load::bulk && view.load_b != Load::bulk;
  if (both) return 64;
  return view.problem.c || s.split > 1 ? 96 : 128;
}

// Two warpgroups of loading threads leave consumers 176 registers, and ptxas 128 for an
// instruction: no more than 192 columns. They serve their own CTA only.
bool loads(const Setting& s, const View& view) {
  return !view.threads_load() ||
         (!s.ping_pong && s.cluster_m * s.cluster_n == 1 && s.consumers() <= 2 && s.tile_n <= 192 &&
          s.accumulators() <= most_accumulators(s, view));
}

// Parts of a tile are exchanged in chunks of 16 columns.
bool exchanges(const Setting& s) {
  return s.columns_stored() % 16 == 0;
}

// Shares of a tile are whole swizzle atoms, and boxes of an M- or N-major operand are 64 wide.
bool fits(const Setting& s, const View& view) {
  if (s.tile_m % (8 * s.cluster_n) != 0 || s.tile_n % (8 * s.cluster_m) != 0) return false;
  if (view.b_major_n && s.tile_n % 64 != 0) return false;
  if (!loads(s, view)) return false;
  return s.split == 1 || (!s.ping_pong && exchanges(s));
}

// Narrow tiles are for few rows of A: they share out the rows of the weight evenly. Copies by
// threads and chunks of C want multiples of 16.
bool is_narrow(const Tile& tile) {
  return tile.n < 32 || tile.n % 16 != 0;
}

bool takes_narrow(const Tile& tile, const Problem& problem, const View& view, bool swap) {
  if (problem.m > kFewRows || view.threads_load() || problem.c) return false;
  return !swap || (tile.n % 16 == 0 && problem.m <= tile.n);
}

// More columns of a swapped tile than there are rows of A, when fewer would do.
bool is_too_wide(const Tile& tile, const Problem& problem) {
  return problem.m <= kFewRows && tile.n >= 2 * std::max<std::int64_t>(problem.m, 16);
}

// Computed over wanted elements of D. What a lone tile has more of the few rows of A than there are
// is neither loaded nor counted.
double padding(const Setting& s, const Problem& p) {
  const auto padded = [](std::int64_t size, int tile, int cluster) {
    const std::int64_t lone = std::min<std::int64_t>(tile, kFewRows);
    const std::int64_t counted = std::max(size, lone);
    return static_cast<double>(tiles_of(size, tile * cluster)) * tile * cluster /
           static_cast<double>(counted);
  };
  return padded(p.m, s.tile_m, s.cluster_m) * padded(p.n, s.tile_n, s.cluster_n);
}

std::int64_t tiles(const Setting& s, const Problem& p) {
  return tiles_of(p.m, s.tile_m) * tiles_of(p.n, s.tile_n) * p.batch;
}

// Exchanging parts of a tile takes registers, and so does reading C: ptxas spills where both meet
// many accumulators, or the smaller budget of a third consumer.
bool has_registers_to_exchange(const Setting& s, const Problem& p) {
  if (p.c) return s.accumulators() <= 96 && s.consumers() <= 2;
  return s.accumulators() <= 128;
}

// With one tile for each CTA nobody has a turn to take: sharing it is as good, and one is enough.
bool takes_turns_in_vain(const Setting& s, const Problem& p, int multiprocessors) {
  const auto shared = [&](const Tile& t) {
    return !t.ping_pong && t.m == s.tile_m && t.n == s.tile_n;
  };
  return s.ping_pong && tiles(s, p) <= multiprocessors &&
         std::any_of(kTiles.begin(), kTiles.end(), shared);
}

// K is split while that fills SMs that would be idle, and leaves every part some K.
bool worth_splitting(const Setting& s, const Problem& p, int multiprocessors) {
  if (!has_registers_to_exchange(s, p)) return false;
  const int tile_k = 128 / size_bytes(p.a.type);
  return tiles(s, p) * s.split <= multiprocessors && p.k >= 4 * tile_k * s.split;
}

// The last wave of tiles leaves many SMs idle, and there are few waves.
bool worth_streaming(const Setting& s, const Problem& p, int multiprocessors) {
  if (!exchanges(s) || !has_registers_to_exchange(s, p)) return false;
  const double waves = static_cast<double>(tiles(s, p)) / multiprocessors;
  return waves > 0.25 && waves < 8 && waves / std::ceil(waves) < 0.9 && p.k >= 1024;
}

// The group's footprint in L2 is smallest when it is about as wide as it is high.
void set_raster(Setting& s, const Problem& p) {
  s.along_n = p.n < p.m;
  const int edge = s.along_n ? s.tile_n * s.cluster_n : s.tile_m * s.cluster_m;
  s.group = std::max(1, 2048 / edge);
}

}  // namespace

std::vector<Configuration> enumerate(const Problem& problem, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  std::vector<Setting> settings;
  for (const bool swap : {false, true}) {
    // With many rows either orientation has tiles of every form.
    if (swap && problem.m > kMostSwappedRows) continue;
    const View view = view_of(problem, swap);
    const Problem& p = view.problem;
    for (const Tile& tile : kTiles) {
      if (is_narrow(tile) && !takes_narrow(tile, problem, view, swap)) continue;
      if (swap && is_too_wide(tile, problem)) continue;
      for (const Cluster& cluster : kClusters) {
        for (const int split : {1, 2, 4}) {
          Setting s{.tile_m = tile.m,
                    .tile_n = tile.n,
                    .cluster_m = cluster.m,
                    .cluster_n = cluster.n,
                    .split = split,
                    .ping_pong = tile.ping_pong,
                    .swap = swap};
          if (tile.n % split != 0 || s.cluster() > 4) continue;
          s.stages = most_stages(s, view, gpu.shared_per_block);
          if (s.stages < 2 || !fits(s, view)) continue;
          if (takes_turns_in_vain(s, p, gpu.multiprocessors)) continue;
          if (split > 1 && !worth_splitting(s, p, gpu.multiprocessors)) continue;
          set_raster(s, p);
          settings.push_back(s);
          if (split == 1 && worth_streaming(s, p, gpu.multiprocessors)) {
            s.stream_k = true;
            settings.push_back(s);
          }
        }
      }
    }
  }
  if (settings.empty()) return {};
  const auto waste = [&](const Setting& s) {
    return padding(s, s.swap ? transposed(problem) : problem);
  };
  double least = waste(settings.front());
  for (const Setting& s : settings) least = std::min(least, waste(s));
  std::vector<Configuration> result;
  for (const Setting& s : settings) {
    if (waste(s) <= 1.5 * least) result.push_back(configuration_of(s));
  }
  return result;
}

}  // namespace gemwright::cuda_hopper
