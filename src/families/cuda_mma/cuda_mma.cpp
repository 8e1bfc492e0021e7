// GEMM by mma.sync on sm_80 and newer: fed by cp.async (kernels/cuda/gemm_mma.cu) or, on sm_90, by
// bulk copies (bulk.hpp).
#include "device/profile.hpp"
#include "families/cuda_common/gemm_kernel.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_hopper/kernel.hpp"
#include "families/cuda_mma/bulk.hpp"
#include "model/cuda_cost.hpp"
#include "problem/transposed.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using cuda_layout::Input;
using cuda_layout::Major;
using cuda_layout::tiles_of;

// CTAs of a cluster share a row of tiles; 0 is a kernel that cp.async feeds.
enum Parameter {
  kTileM,
  kTileN,
  kTileK,
  kWarpsM,
  kWarpsN,
  kWarpsK,
  kStages,
  kSplits,
  kSwap,
  kCluster
};
constexpr std::array<std::string_view, 10> kParameters = {"tile_m",  "tile_n",  "tile_k", "warps_m",
                                                          "warps_n", "warps_k", "stages", "splits",
                                                          "swap",    "cluster"};

// Tiles that keep at most 128 accumulators a thread, and the warps that share one. Several warps
// along K make up for tiles too small for four warps, or for eight of 64x64, which is what reads
// least of shared memory for a product.
struct TileShape {
  int m, n, warps_m, warps_n, warps_k;
};
constexpr std::array kTiles = {
    TileShape{16, 8, 1, 1, 4},    TileShape{16, 8, 1, 1, 8},    TileShape{16, 16, 1, 1, 4},
    TileShape{16, 16, 1, 1, 8},   TileShape{16, 64, 1, 4, 1},   TileShape{16, 128, 1, 4, 1},
    TileShape{16, 256, 1, 4, 1},  TileShape{32, 8, 1, 1, 4},    TileShape{32, 8, 2, 1, 4},
    TileShape{32, 16, 1, 1, 4},   TileShape{32, 16, 2, 1, 4},   TileShape{32, 32, 2, 2, 1},
    TileShape{32, 64, 2, 2, 1},   TileShape{32, 64, 1, 2, 4},   TileShape{32, 128, 1, 4, 1},
    TileShape{32, 256, 1, 4, 1},  TileShape{64, 8, 4, 1, 1},    TileShape{64, 8, 4, 1, 2},
    TileShape{64, 16, 4, 1, 1},   TileShape{64, 16, 4, 1, 2},   TileShape{64, 32, 4, 1, 1},
    TileShape{64, 32, 1, 1, 4},   TileShape{64, 64, 2, 2, 1},   TileShape{64, 64, 1, 1, 4},
    TileShape{64, 64, 2, 2, 2},   TileShape{64, 128, 2, 2, 1},  TileShape{64, 256, 1, 4, 1},
    TileShape{96, 128, 2, 2, 1},  TileShape{128, 16, 4, 1, 1},  TileShape{128, 32, 4, 1, 1},
    TileShape{128, 64, 2, 2, 1},  TileShape{128, 64, 2, 1, 4},  TileShape{128, 96, 2, 2, 1},
    TileShape{128, 128, 2, 2, 1}, TileShape{128, 128, 2, 4, 1}, TileShape{128, 128, 2, 2, 2},
    TileShape{128, 192, 2, 4, 1}, TileShape{128, 256, 2, 4, 1}, TileShape{192, 128, 4, 2, 1},
    TileShape{256, 128, 4, 2, 1},
};
constexpr std::array kSplitCounts = {1, 2, 3, 4, 6, 8, 12, 16};

bool is_mma_type(DataType type) {
  return type == DataType::f16 || type == DataType::bf16;
}

bool is_bulk(const Configuration& configuration) {
  return configuration.values[kCluster] != 0;
}

Configuration bulk_configuration(const cuda_hopper::Setting& s, DataType type) {
  Configuration configuration;
  configuration.values = {s.tile_m, s.tile_n, 128 / size_bytes(type), 4,          s.consumers(), 1,
                          s.stages, s.split,  s.swap ? 1 : 0,         s.cluster_n};
  return configuration;
}

cuda_hopper::Setting bulk_setting(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.tile_m = v[kTileM],
          .tile_n = v[kTileN],
          .stages = v[kStages],
          .cluster_n = v[kCluster],
          .split = v[kSplits],
          .swap = v[kSwap] != 0,
          .warps = true};
}

// A configuration with names, and the problem as its kernel sees it.
struct View {
  View(const Problem& given, const Configuration& configuration)
      : values(configuration.values),
        problem(values[kSwap] != 0 ? transposed(given) : given),
        a(cuda_layout::input_a(problem)),
        b(cuda_layout::input_b(problem)) {}

  int threads() const { return 32 * values[kWarpsM] * values[kWarpsN] * values[kWarpsK]; }
  int element() const { return size_bytes(problem.a.type); }
  int accumulators() const { return warp_m() * warp_n() / 32; }
  int warp_m() const { return values[kTileM] / values[kWarpsM]; }
  int warp_n() const { return values[kTileN] / values[kWarpsN]; }
  int shared_bytes() const {
    return values[kStages] * (values[kTileM] + values[kTileN]) * values[kTileK] * element();
  }
  /// What the compiler needs, as compile tests show: accumulators, two fragments of each operand,
  /// addresses; loads through registers (elements before and after they are packed), and tf32,
  /// whose rounding is scheduled far ahead where steps are many.
  int registers() const {
    const int fragments = 2 * (warp_m() + warp_n()) / 4;
    const int through =
        (a.copy_bytes() == 0 ? values[kTileM] : 0) + (b.copy_bytes() == 0 ? values[kTileN] : 0);
    const int fetched =
        through == 0 ? 0 : 16 + 2 * through * values[kTileK] * element() / threads() / 4;
    const int rounding = element() == 4 ? (values[kTileK] >= 32 ? 40 : 16) : 0;
    // Beyond 16 copies a thread, addresses that are kept from one k-tile to the next; beyond 8 that
    // begin together (see MmaMainloop::kParts), those of an M-major A are too many.
    const int copies =
        (values[kTileM] + values[kTileN]) * values[kTileK] * element() / 16 / threads();
    const int steps = values[kTileK] * element() / 32 / values[kWarpsK];
    const bool crowded = copies > (steps > 2 ? 16 : 8) && a.major() == Major::along_rows;
    return accumulators() + fragments + 46 + fetched + rounding + 5 * std::max(0, copies - 16) +
           (crowded ? 20 : 0);
  }

  std::array<std::int32_t, kMaxParameters> values;
  Problem problem;
  Input a, b;
};

TileLaunch tile_launch(const View& view) {
  return {.tile_m = view.values[kTileM],
          .tile_n = view.values[kTileN],
          .tile_k = view.values[kTileK],
          .threads = view.threads(),
          .shared_bytes = view.shared_bytes(),
          .splits = view.values[kSplits],
          .group = 8,
          .swap = view.values[kSwap] != 0};
}

// Threads fill whole lines of a tile: see TileLoader.
bool loads(const Input& x, int tile_rows, int tile_k, int threads) {
  const int line = (x.major() == Major::along_k ? tile_k : tile_rows) * size_bytes(x.type);
  return line % 16 == 0 && threads % (line / 16) == 0;
}

// Loads through registers, hundreds of them unrolled, take more than half a second to compile
// where a thread has more than 8 chunks of 16 bytes, or beside the products of the largest tiles.
// They bound those no less than smaller ones.
bool compiles_quickly(const View& view) {
  const auto& v = view.values;
  const int rows =
      (view.a.copy_bytes() == 0 ? v[kTileM] : 0) + (view.b.copy_bytes() == 0 ? v[kTileN] : 0);
  if (rows == 0) return true;
  return v[kTileM] * v[kTileN] <= 128 * 128 &&
         rows * v[kTileK] * view.element() <= 8 * 16 * view.threads();
}

bool builds(const View& view, const CudaProfile& gpu) {
  return static_cast<std::size_t>(view.shared_bytes()) <= gpu.shared_per_block &&
         view.registers() <= 255 && compiles_quickly(view) &&
         loads(view.a, view.values[kTileM], view.values[kTileK], view.threads()) &&
         loads(view.b, view.values[kTileN], view.values[kTileK], view.threads());
}

int ctas_per_sm(const View& view, const CudaProfile& gpu) {
  constexpr int kReserved = 1024;  // shared memory that the driver takes of each CTA
  const int by_shared = static_cast<int>(gpu.shared_per_sm) / (view.shared_bytes() + kReserved);
  const int registers = (view.registers() + 7) / 8 * 8;
  const int by_registers = 65536 / (registers * view.threads());
  const int threads = gpu.sm == 80 || gpu.sm == 90 ? 2048 : 1536;
  return std::max(1, std::min({by_shared, by_registers, threads / view.threads(), 16}));
}

// Tiles that are mostly padding lose to smaller ones without being tried.
bool fits(std::int64_t size, int tile, int smallest) {
  return tile <= smallest || tile < 2 * size;
}

class CudaMma final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_mma"; }
  int version() const override { return 3; }

  std::optional<std::string> refuse(const Problem& problem, const Device& device) const override {
    if (device.profile().cuda.sm < 80) {
      return fmt::format("{} is sm_{}; mma.sync of bf16 and tf32, and cp.async, need sm_80",
                         device.name(), device.profile().cuda.sm);
    }
    if (problem.a.type != problem.b.type) {
      return fmt::format("A is {} and B is {}; the tensor cores take equal types",
                         gemwright::name(problem.a.type), gemwright::name(problem.b.type));
    }
    if (!is_mma_type(problem.a.type) && !problem.allow_tf32) {
      return "full fp32 is asked for; allow_tf32 lets the tensor cores round inputs to tf32";
    }
    if (auto reason = cuda_layout::refuse_sizes(problem)) return reason;
    if (grid_size(problem, {.tile_m = 16, .tile_n = 64}) == 0) {
      return "the output has more tiles than a grid can hold";
    }
    return std::nullopt;
  }

  // One chain in the order of K. Registers are rounded to tf32 otherwise than bulk copies do it.
  std::string_view summation_order(const Problem& problem,
                                   const Configuration& configuration) const override {
    const auto& v = configuration.values;
    if (v[kWarpsK] > 1 && !is_bulk(configuration)) return "";
    if (v[kSplits] > 1) return "";
    if (is_bulk(configuration)) return cuda_layout::kTensorCoreOrder;
    // Whole k-tiles, of which those of 128 bytes exist for every M.
    if (problem.k % v[kTileK] != 0 || problem.k * size_bytes(problem.a.type) % 128 != 0) return "";
    return problem.a.type == DataType::f32 ? "mma_tf32" : cuda_layout::kTensorCoreOrder;
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    const auto& v = configuration.values;
    const std::string feed = is_bulk(configuration) ? fmt::format("_bulk{}", v[kCluster]) : "";
    return fmt::format("mma_{}x{}x{}_w{}x{}x{}_s{}_k{}{}{}", v[kTileM], v[kTileN], v[kTileK],
                       v[kWarpsM], v[kWarpsN], v[kWarpsK], v[kStages], v[kSplits],
                       v[kSwap] != 0 ? "_t" : "", feed);
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    std::vector<Configuration> found;
    for (const bool swap : {false, true}) {
      // The transpose stores columns of D: worth it only where it saves most of a tile.
      if (swap && problem.m > 64) continue;
      for (const TileShape& tile : kTiles) {
        const std::int64_t m = swap ? problem.n : problem.m;
        const std::int64_t n = swap ? problem.m : problem.n;
        if (!fits(m, tile.m, 16) || !fits(n, tile.n, swap ? 8 : 64)) continue;
        add_depths(found, problem, device, tile, swap);
      }
    }
    for (const auto& setting : cuda_mma::bulk_settings(problem, device)) {
      found.push_back(bulk_configuration(setting, problem.a.type));
    }
    return found;
  }

  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      if (is_bulk(configurations[i])) {
        estimates[i] = model::hopper_cost(
            cuda_hopper::work_of(problem, bulk_setting(configurations[i])), device.profile().cuda);
        continue;
      }
      estimates[i] =
          model::tiled_time(device.profile().cuda, work(View(problem, configurations[i]), device));
    }
  }

  compile::Source source(const Problem& problem, const Device& device,
                         const Configuration& configuration) const override {
    if (is_bulk(configuration)) {
      return cuda_hopper::kernel_source(problem, bulk_setting(configuration));
    }
    const View view(problem, configuration);
    const auto& v = view.values;
    compile::Source source;
    source.file = "gemm_mma.cu";
    source.kernel_name = "gemm_mma";
    source.sm = device.profile().cuda.sm;
    source.preamble =
        fmt::format(
            "constexpr int kType = {}, kMajorA = {}, kMajorB = {}, kCopyA = {}, kCopyB = {};\n"
            "constexpr int kTileM = {}, kTileN = {}, kTileK = {}, kWarpsM = {}, kWarpsN = {};\n"
            "constexpr int kWarpsK = {}, kStages = {};\n",
            static_cast<int>(view.problem.a.type), static_cast<int>(view.a.major()),
            static_cast<int>(view.b.major()), view.a.copy_bytes(), view.b.copy_bytes(), v[kTileM],
            v[kTileN], v[kTileK], v[kWarpsM], v[kWarpsN], v[kWarpsK], v[kStages]) +
        cuda_layout::epilogue_preamble(view.problem, cuda_layout::output_width(view.problem));
    return source;
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    if (is_bulk(configuration)) {
      return cuda_hopper::build_kernel(*this, problem, device, configuration,
                                       bulk_setting(configuration));
    }
    return make_gemm_kernel(*this, problem, device, configuration,
                            tile_launch(View(problem, configuration)));
  }

 private:
  // A tile with every depth, number of stages and split that makes sense.
  static void add_depths(std::vector<Configuration>& found, const Problem& problem,
                         const Device& device, const TileShape& tile, bool swap) {
    const bool small = tile.m * tile.n <= 64 * 32;
    const bool thin = tile.m * tile.n < 64 * 32;
    const int element = size_bytes(problem.a.type);
    for (const int line : {64, 128, 256, 512, 1024}) {  // bytes of K in a tile
      // A k-tile's products should outlast a barrier, and three or four stages fit the smallest
      // device.
      const int least = tile.warps_k > 1 ? (thin ? 128 : 64) * tile.warps_k : small ? 128 : 64;
      if (line < least || line > 2 * least) continue;
      for (const int stages : {3, 4, 6, 8}) {
        // Deep rings are for the tiles that stream weights.
        if (stages == 8 && !small) continue;
        Configuration configuration;
        configuration.values = {
            tile.m, tile.n, line / element, tile.warps_m, tile.warps_n, tile.warps_k, stages, 1,
            swap,   0};
        if (!builds(View(problem, configuration), device.profile().cuda)) continue;
        add_splits(found, problem, device, configuration);
      }
    }
  }

  static void add_splits(std::vector<Configuration>& found, const Problem& problem,
                         const Device& device, Configuration configuration) {
    const View view(problem, configuration);
    const CudaProfile& gpu = device.profile().cuda;
    const std::int64_t slots =
        static_cast<std::int64_t>(gpu.multiprocessors) * ctas_per_sm(view, gpu);
    for (const int splits : kSplitCounts) {
      configuration.values[kSplits] = splits;
      const TileLaunch launch = tile_launch(View(problem, configuration));
      const std::int64_t grid = grid_size(problem, launch);
      if (grid == 0) continue;
      const std::int64_t steps = tiles_of(problem.k, view.values[kTileK]);
      // Splitting pays where it fills the device and each part is worth its reduction.
      if (splits > 1 && (grid > slots || steps < 4 * splits)) break;
      if (effective_splits(problem, launch) != splits) break;
      const bool idle = 2 * grid <= gpu.multiprocessors;
      if (idle && steps >= 8 * splits && splits < kSplitCounts.back()) continue;
      found.push_back(configuration);
    }
  }

  static model::TiledWork work(const View& view, const Device& device) {
    const CudaProfile& gpu = device.profile().cuda;
    const Problem& p = view.problem;
    const bool f32 = p.a.type == DataType::f32;
    // What the fit of model/cuda_cost.cpp gives on sm_90, where mma.sync alone reaches 0.64 of
    // wgmma (638 TFLOP/s on an H200). Older tensor cores have no faster instruction.
    double peak = (f32 ? gpu.tf32_flops : gpu.f16_flops) * (gpu.sm == 90 ? 0.53 : 0.9);
    // Elements one by one, through registers: 130 to 160 TFLOP/s on an H200.
    if (view.a.copy_bytes() == 0 || view.b.copy_bytes() == 0) peak *= 0.27;
    model::TiledWork work;
    work.m = p.m, work.n = p.n, work.k = p.k, work.batch = p.batch;
    work.shared_a = p.a.batch_stride == 0;
    work.shared_b = p.b.batch_stride == 0;
    work.bytes_a = work.bytes_b = view.element();
    work.bytes_out = size_bytes(p.d.type) + (p.c ? size_bytes(p.c->type) : 0);
    work.tile_m = view.values[kTileM];
    work.tile_n = view.values[kTileN];
    work.tile_k = view.values[kTileK];
    work.splits = view.values[kSplits];
    work.stages = view.values[kStages];
    work.ctas_per_sm = ctas_per_sm(view, gpu);
    work.flops_per_s = peak;
    return work;
  }
};

}  // namespace

namespace families {

const Family& cuda_mma() {
  static const CudaMma family;
  return family;
}

}  // namespace families
}  // namespace gemwright
