// Products with a packed low-bit weight by mma.sync, from sm_80 on. See
// kernels/cuda/gemm_lowbit_mma.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/tile_kernel.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;
using cuda_layout::tiles_of;

enum Parameter { kWarpsN, kWarpsK, kTiles, kCols, kStages, kSplits };
constexpr std::array<std::string_view, 6> kParameters = {"warps_n", "warps_k", "tiles",
                                                         "cols",    "stages",  "splits"};

/// One setting of the kernel.
struct MmaSetting {
  int warps_n = 4;  // of tiles * 16 weight rows each
  int warps_k = 2;  // that share K, a block of 64 each
  int tiles = 2;
  int cols = 8;  // rows of A
  int stages = 4;
  int splits = 1;  // CTAs that share K

  int rows() const { return 16 * warps_n * tiles; }
  int threads() const { return 32 * warps_n * warps_k; }
};

MmaSetting setting_from(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.warps_n = v[kWarpsN],
          .warps_k = v[kWarpsK],
          .tiles = v[kTiles],
          .cols = v[kCols],
          .stages = v[kStages],
          .splits = v[kSplits]};
}

Configuration configuration_from(const MmaSetting& s) {
  Configuration configuration;
  configuration.values = {s.warps_n, s.warps_k, s.tiles, s.cols, s.stages, s.splits};
  return configuration;
}

constexpr std::array kShapes = {
    MmaSetting{4, 2, 2, 8, 6},  MmaSetting{2, 4, 2, 8, 6},  MmaSetting{4, 2, 1, 8, 8},
    MmaSetting{2, 4, 4, 8, 4},  MmaSetting{4, 2, 2, 16, 4}, MmaSetting{2, 4, 2, 16, 4},
    MmaSetting{4, 2, 2, 32, 4}, MmaSetting{2, 4, 2, 32, 3}, MmaSetting{8, 1, 1, 64, 4},
    MmaSetting{4, 2, 2, 64, 3}, MmaSetting{8, 1, 2, 64, 3}};

// A stage, as the kernel has it.
int stage_bytes(const MmaSetting& s, const Problem& p) {
  const int weights = s.rows() * s.warps_k * (8 * p.weight->bits + scale_bytes(p));
  return s.cols * (128 * s.warps_k + 16) + weights;
}

std::size_t shared_bytes(const MmaSetting& s, const Problem& p) {
  const int sums = s.cols * (s.rows() + 4) * 4;
  // Rows of the table have no free halves here.
  return static_cast<std::size_t>(table_bytes(*p.weight) / 2 +
                                  std::max(s.stages * stage_bytes(s, p), sums));
}

// Accumulators, sums of a group, fragments of A, and what decoding takes; as compiled.
bool fits_registers(const MmaSetting& s, const Problem& p) {
  const auto together = static_cast<int>(formats::groups_together(*p.weight, p.k));
  int needed = s.tiles * s.cols + s.cols / 2 + 85 + (together > 1 ? 4 * together : 0);
  if (p.weight->zero == Zero::real) needed += s.cols / 2 + 16;
  if (p.weight->codes == Codes::learned_per_row) needed += 16 * s.tiles + 16;
  return needed <= 255;
}

TileLaunch launch_of(const MmaSetting& s, const Problem& p) {
  return {.tile_m = s.cols,
          .tile_n = s.rows(),
          .tile_k = 64 * s.warps_k,
          .threads = s.threads(),
          .shared_bytes = static_cast<int>(shared_bytes(s, p)),
          .splits = s.splits};
}

class CudaLowbitMma final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_lowbit_mma"; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (auto reason = refuse_weight(p)) return reason;
    const int sm = device.profile().cuda.sm;
    if (sm < 80) return fmt::format("needs sm_80 or newer; this device is sm_{}", sm);
    if (p.weight->ordered) return "columns of the weight have an order of their own";
    if (p.a.col_stride != 1 || p.a.alignment % 16 != 0 || p.k % 8 != 0 ||
        (p.m > 1 && p.a.row_stride % 8 != 0)) {
      return "A does not lie in whole 16 bytes along K";
    }
    if (grid_size(p, {.tile_m = 8, .tile_n = 64, .tile_k = 64}) == 0) {
      return "the output has more tiles than a grid can hold";
    }
    return std::nullopt;
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    const MmaSetting s = setting_from(configuration);
    return fmt::format("lowbit_mma_{}x{}_w{}x{}_s{}_k{}", s.rows(), s.cols, s.warps_n, s.warps_k,
                       s.stages, s.splits);
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    const CudaProfile& gpu = device.profile().cuda;
    std::vector<Configuration> found;
    for (MmaSetting s : kShapes) {
      // Tiles that hold all rows, or the widest; half of them where those do not fit.
      if (s.cols / 4 >= p.m && s.cols > 8) continue;
      if (s.cols * 4 < p.m && s.cols < 64 && !needs_narrow(p)) continue;
      if (!fits_registers(s, p)) continue;
      while (s.stages > 2 && !fits(s, p, gpu)) --s.stages;
      if (!fits(s, p, gpu)) continue;
      const std::int64_t tiles = tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols);
      for (const int splits : {1, 2, 3, 4, 6, 8}) {
        s.splits = splits;
        if (splits > 1 && (tiles * splits > 2 * gpu.multiprocessors ||
                           tiles_of(p.k, 64 * s.warps_k) < 2 * splits)) {
          break;
        }
        if (grid_size(p, launch_of(s, p)) == 0) break;
        if (effective_splits(p, launch_of(s, p)) != splits) break;
        found.push_back(configuration_from(s));
      }
    }
    return found;
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      estimates[i] = time_of(setting_from(configurations[i]), p, device.profile().cuda);
    }
  }

  compile::Source source(const Problem& p, const Device& device,
                         const Configuration& configuration) const override {
    const MmaSetting s = setting_from(configuration);
    compile::Source source;
    source.file = "gemm_lowbit_mma.cu";
    source.kernel_name = "gemm_lowbit_mma";
    source.sm = device.profile().cuda.sm;
    source.preamble = fmt::format(
        "constexpr int kType = {}, kWarpsN = {}, kWarpsK = {}, kTiles = {}, kCols = {}, "
        "kStages = {};\n",
        static_cast<int>(p.a.type), s.warps_n, s.warps_k, s.tiles, s.cols, s.stages);
    source.preamble += weight_preamble(p);
    source.preamble += cuda_layout::epilogue_preamble(p, cuda_layout::output_width(p));
    return source;
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return make_tile_kernel(*this, problem, device, configuration,
                            launch_of(setting_from(configuration), problem));
  }

 private:
  static bool fits(const MmaSetting& s, const Problem& p, const CudaProfile& gpu) {
    constexpr std::size_t kStatic = 128;
    return shared_bytes(s, p) + kStatic <= gpu.shared_per_block;
  }

  // The widest tiles do not fit its registers.
  static bool needs_narrow(const Problem& p) {
    return std::none_of(kShapes.begin(), kShapes.end(),
                        [&](const MmaSetting& s) { return s.cols == 64 && fits_registers(s, p); });
  }

  // Waves of tiles; each as long as its products, its instructions or its bytes take.
  static Estimate time_of(const MmaSetting& s, const Problem& p, const CudaProfile& gpu) {
    const double clock = gpu.clock_ghz * 1e9;
    const auto tiles = static_cast<double>(tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols));
    const double waves = std::ceil(tiles * s.splits / gpu.multiprocessors);
    const double steps = std::ceil(static_cast<double>(tiles_of(p.k, 64 * s.warps_k)) / s.splits);
    const double flops = 2.0 * s.rows() * s.cols * 64 * s.warps_k;
    const double matrix = flops / (0.6 * gpu.f16_flops / gpu.multiprocessors);
    // Clocks of a warp's fragment of 16 x 16, as measured on an H200: decoding, products of 8
    // columns each, and scaling once a group.
    constexpr double kDecode = 40;
    const double fragments = s.tiles * 4.0 * s.warps_n * s.warps_k / 4;  // a scheduler
    const double vector = fragments * (kDecode + s.cols / 8.0 * 16) / clock;
    constexpr double kLatency = 900;  // clocks of a step at least
    const double step = std::max({matrix, vector, kLatency / clock});
    const double bytes = static_cast<double>(formats::packed_layout(*p.weight, p.n, p.k).bytes);
    const double busy = std::min(1.0, tiles * s.splits / gpu.multiprocessors);
    const double memory = bytes / (0.85 * gpu.memory_bytes_per_s * busy);
    const double math = waves * steps * step;
    constexpr double kStart = 5;
    Estimate estimate;
    estimate.us = kStart + 1e6 * (std::max(math, memory) + 0.3 * std::min(math, memory)) +
                  (s.splits > 1 ? 2.0 : 0.0);
    estimate.bound = math > memory ? Bound::math : Bound::memory;
    return estimate;
  }
};

}  // namespace

namespace families {

const Family& cuda_lowbit_mma() {
  static const CudaLowbitMma family;
  return family;
}

}  // namespace families
}  // namespace gemwright
