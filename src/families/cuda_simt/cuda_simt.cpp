// GEMM in fp32 on the CUDA cores, for every type, stride and alignment: see
// kernels/cuda/gemm_simt.cu and gemv_simt.cu.
#include "device/profile.hpp"
#include "families/cuda_common/gemm_kernel.hpp"
#include "families/cuda_common/layout.hpp"
#include "model/cuda_cost.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using cuda_layout::Input;
using cuda_layout::Major;
using cuda_layout::tiles_of;

// thread_m of 0 is the streaming kernel: then a CTA has tile_n columns, tile_m rows at a time, and
// tile_k is the vectors of a column that a thread asks for at once.
enum Parameter { kTileM, kTileN, kTileK, kThreadM, kThreadN, kThreads, kSplits };
constexpr std::array<std::string_view, 7> kParameters = {
    "tile_m", "tile_n", "tile_k", "thread_m", "thread_n", "threads", "splits"};

struct TileShape {
  int m, n, k, thread_m, thread_n;
};
constexpr std::array kTiles = {
    TileShape{32, 64, 16, 4, 4},  TileShape{32, 128, 16, 4, 8}, TileShape{64, 64, 16, 4, 4},
    TileShape{64, 128, 16, 4, 8}, TileShape{64, 128, 16, 8, 8}, TileShape{128, 64, 16, 8, 8},
    TileShape{128, 128, 8, 8, 8},
};
constexpr std::array kSplitCounts = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

struct StreamShape {
  int rows, cols, threads, unroll;
};
// Whatever K and the number of columns are, some of these leave a thread all of its part of K in
// flight at once, and fill the device.
constexpr std::array kStreams = {
    StreamShape{1, 2, 128, 2}, StreamShape{1, 2, 256, 2}, StreamShape{1, 2, 128, 4},
    StreamShape{1, 4, 256, 2}, StreamShape{1, 4, 128, 4}, StreamShape{2, 2, 128, 2},
    StreamShape{2, 2, 256, 2}, StreamShape{2, 4, 128, 2}, StreamShape{2, 4, 256, 2},
    StreamShape{4, 2, 128, 2}, StreamShape{4, 2, 256, 2}, StreamShape{4, 4, 128, 2},
    StreamShape{4, 4, 256, 2}, StreamShape{8, 2, 256, 2}, StreamShape{8, 4, 128, 2},
};

bool streams(const Configuration& configuration) {
  return configuration.values[kThreadM] == 0;
}

/// Elements of K that the streaming kernel reads at once, of both operands.
int stream_vector(const Problem& problem) {
  const Input a = cuda_layout::input_a(problem);
  const Input b = cuda_layout::input_b(problem);
  if (a.major() != Major::along_k || b.major() != Major::along_k) return 1;
  const int elements = std::min(a.vector(16), b.vector(16));
  return std::min(elements, 16 / std::max(size_bytes(a.type), size_bytes(b.type)));
}

TileLaunch tile_launch(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.tile_m = v[kTileM],
          .tile_n = v[kTileN],
          .tile_k = v[kTileK],
          .threads = v[kThreads],
          .splits = v[kSplits]};
}

std::string stream_preamble(const Problem& problem, const Configuration& configuration) {
  const auto& v = configuration.values;
  return fmt::format(
      "constexpr int kTypeA = {}, kTypeB = {}, kVector = {}, kRows = {}, kCols = {};\n"
      "constexpr int kThreads = {}, kUnroll = {};\n",
      static_cast<int>(problem.a.type), static_cast<int>(problem.b.type), stream_vector(problem),
      v[kTileM], v[kTileN], v[kThreads], v[kTileK]);
}

std::string tile_preamble(const Problem& problem, const Configuration& configuration) {
  const auto& v = configuration.values;
  const Input a = cuda_layout::input_a(problem);
  const Input b = cuda_layout::input_b(problem);
  return fmt::format(
      "constexpr int kTypeA = {}, kTypeB = {}, kMajorA = {}, kMajorB = {};\n"
      "constexpr int kVectorA = {}, kVectorB = {}, kTileM = {}, kTileN = {}, kTileK = {};\n"
      "constexpr int kThreadM = {}, kThreadN = {};\n",
      static_cast<int>(a.type), static_cast<int>(b.type), static_cast<int>(a.major()),
      static_cast<int>(b.major()), a.vector(16), b.vector(16), v[kTileM], v[kTileN], v[kTileK],
      v[kThreadM], v[kThreadN]);
}

class CudaSimt final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_simt"; }
  int version() const override { return 2; }

  std::optional<std::string> refuse(const Problem& problem, const Device& device) const override {
    if (device.profile().cuda.sm < 80) {
      return fmt::format("{} is sm_{}; kernels are built for sm_80 and newer", device.name(),
                         device.profile().cuda.sm);
    }
    if (auto reason = cuda_layout::refuse_sizes(problem)) return reason;
    if (grid_size(problem, {.tile_m = 128, .tile_n = 128, .tile_k = 16}) == 0) {
      return "the output has more tiles than a grid can hold";
    }
    return std::nullopt;
  }

  std::string_view summation_order(const Problem& /*problem*/,
                                   const Configuration& configuration) const override {
    return !streams(configuration) && configuration.values[kSplits] == 1 ? "fma" : "";
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    const auto& v = configuration.values;
    if (streams(configuration)) {
      return fmt::format("gemv_{}x{}_t{}_u{}", v[kTileM], v[kTileN], v[kThreads], v[kTileK]);
    }
    return fmt::format("simt_{}x{}x{}_{}x{}_k{}", v[kTileM], v[kTileN], v[kTileK], v[kThreadM],
                       v[kThreadN], v[kSplits]);
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    std::vector<Configuration> found;
    if (problem.m <= 16 && cuda_layout::input_b(problem).major() == Major::along_k) {
      for (const StreamShape& shape : kStreams) {
        if (shape.rows > 1 && shape.rows >= 2 * problem.m) continue;
        Configuration configuration;
        configuration.values = {shape.rows, shape.cols, shape.unroll, 0, 0, shape.threads, 1};
        if (grid_size(problem, tile_launch(configuration)) > 0) found.push_back(configuration);
      }
    }
    for (const TileShape& tile : kTiles) {
      const bool smallest = tile.m == 32 && tile.n == 64;
      const bool padding = tile.m >= 2 * problem.m || tile.n >= 2 * problem.n;
      // The largest stays in too: it is the one whose grid takes every output.
      if (padding && !smallest && tile.m * tile.n < 128 * 128) continue;
      add_splits(found, problem, device, tile);
    }
    return found;
  }

  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    constexpr std::size_t kAtOnce = 64;
    std::array<model::TiledSetting, kAtOnce> settings;
    const CudaProfile& gpu = device.profile().cuda;
    const model::TiledProduct product = product_of(problem);
    const double narrow = narrowness(problem);
    const int vector = stream_vector(problem);
    for (std::size_t first = 0; first < configurations.size(); first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, configurations.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const Configuration& configuration = configurations[first + i];
        settings[i] = streams(configuration) ? stream_setting(configuration, gpu, vector)
                                             : tile_setting(configuration, gpu, narrow);
      }
      model::tiled_times(gpu, product, std::span(settings).first(count),
                         estimates.subspan(first, count));
    }
    const bool columns_apart = cuda_layout::output_width(problem) == 1;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      if (columns_apart) estimates[i].us *= 1.02;
      // Whole rows of B by plain loads, once: faster than the tiles that the model was fitted to,
      // at all of 8 shapes from 8 to 117 MB.
      const auto& v = configurations[i].values;
      if (streams(configurations[i]) && problem.m <= v[kTileM]) estimates[i].us *= 0.92;
    }
  }

  compile::Source source(const Problem& problem, const Device& device,
                         const Configuration& configuration) const override {
    const bool stream = streams(configuration);
    compile::Source source;
    source.file = stream ? "gemv_simt.cu" : "gemm_simt.cu";
    source.kernel_name = stream ? "gemv_simt" : "gemm_simt";
    source.sm = device.profile().cuda.sm;
    source.preamble =
        stream
            ? stream_preamble(problem, configuration) + cuda_layout::epilogue_preamble(problem, 1)
            : tile_preamble(problem, configuration) +
                  cuda_layout::epilogue_preamble(problem, cuda_layout::output_width(problem));
    return source;
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return make_gemm_kernel(*this, problem, device, configuration, tile_launch(configuration));
  }

 private:
  static void add_splits(std::vector<Configuration>& found, const Problem& problem,
                         const Device& device, const TileShape& tile) {
    Configuration configuration;
    const int threads = tile.m * tile.n / (tile.thread_m * tile.thread_n);
    configuration.values = {tile.m, tile.n, tile.k, tile.thread_m, tile.thread_n, threads, 1};
    const std::int64_t steps = tiles_of(problem.k, tile.k);
    const std::int64_t slots = std::int64_t{device.profile().cuda.multiprocessors} * 512 / threads;
    for (const int splits : kSplitCounts) {
      configuration.values[kSplits] = splits;
      const TileLaunch launch = tile_launch(configuration);
      const std::int64_t grid = grid_size(problem, launch);
      if (grid == 0) break;
      if (splits > 1 && (grid > slots || steps < 8 * splits)) break;
      if (effective_splits(problem, launch) != splits) break;
      found.push_back(configuration);
    }
  }

  static model::TiledProduct product_of(const Problem& p) {
    model::TiledProduct product{.m = p.m, .n = p.n, .k = p.k, .batch = p.batch};
    product.shared_a = p.a.batch_stride == 0;
    product.shared_b = p.b.batch_stride == 0;
    product.bytes_a = size_bytes(p.a.type);
    product.bytes_b = size_bytes(p.b.type);
    product.bytes_out = size_bytes(p.d.type) + (p.c ? size_bytes(p.c->type) : 0);
    return product;
  }

  // Loads that find their vector too narrow cost as many instructions as elements.
  static double narrowness(const Problem& p) {
    return 1.0 / cuda_layout::input_a(p).vector(16) + 1.0 / cuda_layout::input_b(p).vector(16);
  }

  static model::TiledSetting tile_setting(const Configuration& configuration,
                                          const CudaProfile& gpu, double narrow) {
    const auto& v = configuration.values;
    const int registers = v[kThreadM] * v[kThreadN] + 90;
    // Of four issue slots the loads of a fragment take some: 8x8 outputs need 4 for 64 products.
    const double products = v[kThreadM] * v[kThreadN];
    const double loads = (v[kThreadM] + v[kThreadN]) / 4.0;
    const double issued = products / (products + 2 * loads);
    return {
        .tile_m = static_cast<double>(v[kTileM]),
        .tile_n = static_cast<double>(v[kTileN]),
        .tile_k = static_cast<double>(v[kTileK]),
        .splits = static_cast<double>(v[kSplits]),
        .ctas_per_sm = static_cast<double>(std::clamp(65536 / (registers * v[kThreads]), 1, 16)),
        .stages = 2,
        .flops_per_s = 0.75 * gpu.f32_flops * issued / (1 + 0.25 * narrow)};
  }

  static model::TiledSetting stream_setting(const Configuration& configuration,
                                            const CudaProfile& gpu, int vector) {
    const auto& v = configuration.values;
    const int registers = 24 + 8 * v[kTileN] + 13 * (v[kTileM] - 1);  // as compiled
    const int ctas = std::clamp(65536 / (registers * v[kThreads]), 1, 2048 / v[kThreads]);
    // Beside the products, every element of a row and of a column is converted, every vector
    // loaded.
    const double products = static_cast<double>(v[kTileM]) * v[kTileN] * vector;
    const double others = static_cast<double>(v[kTileM] + v[kTileN]) * (vector + 1);
    return {.tile_m = static_cast<double>(v[kTileM]),
            .tile_n = static_cast<double>(v[kTileN]),
            .tile_k = static_cast<double>(v[kThreads] * vector),
            .ctas_per_sm = static_cast<double>(ctas),
            .stages = 3,    // two rounds of loads are in flight
            .shared_a = 4,  // mostly from L1
            .flops_per_s = 0.45 * gpu.f32_flops * products / (products + others),
            .step_overhead_s = 0};
  }
};

}  // namespace

namespace families {

const Family& cuda_simt() {
  static const CudaSimt family;
  return family;
}

}  // namespace families
}  // namespace gemwright
