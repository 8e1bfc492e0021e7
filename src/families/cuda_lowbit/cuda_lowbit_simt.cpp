// Products with a packed low-bit weight of any format in fp32 on the CUDA cores. See
// kernels/cuda/gemm_lowbit_simt.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/tile_kernel.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;
using cuda_layout::tiles_of;

enum Parameter { kTileM, kTileN, kThreadM, kThreadN, kSplits };
constexpr std::array<std::string_view, 5> kParameters = {"tile_m", "tile_n", "thread_m", "thread_n",
                                                         "splits"};
constexpr int kTileK = 16;

struct TileShape {
  int m, n, thread_m, thread_n;
};
constexpr std::array kTiles = {TileShape{32, 64, 4, 4}, TileShape{64, 64, 4, 8},
                               TileShape{128, 64, 8, 8}};

TileLaunch tile_launch(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.tile_m = v[kTileM],
          .tile_n = v[kTileN],
          .tile_k = kTileK,
          .threads = v[kTileM] * v[kTileN] / (v[kThreadM] * v[kThreadN]),
          .splits = v[kSplits]};
}

class CudaLowbitSimt final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_lowbit_simt"; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (!p.weight) return "B is not a low-bit weight";
    if (auto reason = refuse_activations(p)) return reason;
    const int sm = device.profile().cuda.sm;
    if (sm < 80) return fmt::format("needs sm_80 or newer; this device is sm_{}", sm);
    if (auto reason = refuse_sizes(p)) return reason;
    if (grid_size(p, {.tile_m = 128, .tile_n = 64, .tile_k = kTileK}) == 0) {
      return "the output has more tiles than a grid can hold";
    }
    return std::nullopt;
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    const auto& v = configuration.values;
    return fmt::format("lowbit_simt_{}x{}_k{}", v[kTileM], v[kTileN], v[kSplits]);
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    std::vector<Configuration> found;
    for (const TileShape& tile : kTiles) {
      if (tile.m >= 2 * p.m && tile.m > kTiles[0].m && tile.m < kTiles.back().m) continue;
      Configuration configuration;
      for (const int splits : {1, 2, 4, 8, 16}) {
        configuration.values = {tile.m, tile.n, tile.thread_m, tile.thread_n, splits};
        const TileLaunch launch = tile_launch(configuration);
        const std::int64_t grid = grid_size(p, launch);
        const std::int64_t most = std::int64_t{device.profile().cuda.multiprocessors} * 8;
        if (grid == 0 || (splits > 1 && (grid > most || tiles_of(p.k, kTileK) < 4 * splits))) break;
        if (effective_splits(p, launch) != splits) break;
        found.push_back(configuration);
      }
    }
    return found;
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    const CudaProfile& gpu = device.profile().cuda;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const TileLaunch launch = tile_launch(configurations[i]);
      // An element of the weight is decoded by about 85 instructions, once for each tile of rows.
      constexpr double kDecode = 85;
      const auto rows = static_cast<double>(tiles_of(p.m, launch.tile_m));
      const double products = rows * launch.tile_m / (0.6 * gpu.f32_flops / 2);
      const double decoding = rows * kDecode / (gpu.multiprocessors * 96 * gpu.clock_ghz * 1e9);
      const double work =
          static_cast<double>(p.n) * static_cast<double>(p.k) * (products + decoding);
      const double ctas = static_cast<double>(grid_size(p, launch)) * launch.threads / 512;
      const double busy = std::min(1.0, ctas / gpu.multiprocessors);
      constexpr double kStart = 4;
      estimates[i].us = kStart + 1e6 * work / busy + (launch.splits > 1 ? 1.0 : 0.0);
      estimates[i].bound = Bound::math;
    }
  }

  compile::Source source(const Problem& p, const Device& device,
                         const Configuration& configuration) const override {
    const auto& v = configuration.values;
    const auto a = cuda_layout::input_a(p);
    const WeightFormat& format = *p.weight;
    compile::Source source;
    source.file = "gemm_lowbit_simt.cu";
    source.kernel_name = "gemm_lowbit_simt";
    source.sm = device.profile().cuda.sm;
    source.preamble = fmt::format(
        "constexpr int kTypeA = {}, kMajorA = {}, kVectorA = {}, kTypeB = {};\n"
        "constexpr bool kOrdered = {}, kPaired = {}, kAcross = {};\n"
        "constexpr int kTileM = {}, kTileN = {}, kTileK = {}, kThreadM = {}, kThreadN = {};\n",
        static_cast<int>(a.type), static_cast<int>(a.major()), a.vector(16),
        static_cast<int>(p.b.type), format.ordered, formats::paired(format),
        formats::runs_across_rows(format, p.k), v[kTileM], v[kTileN], kTileK, v[kThreadM],
        v[kThreadN]);
    source.preamble += weight_preamble(p);
    source.preamble += cuda_layout::epilogue_preamble(p, cuda_layout::output_width(p));
    return source;
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return make_tile_kernel(*this, problem, device, configuration, tile_launch(configuration));
  }
};

}  // namespace

namespace families {

const Family& cuda_lowbit_simt() {
  static const CudaLowbitSimt family;
  return family;
}

}  // namespace families
}  // namespace gemwright
