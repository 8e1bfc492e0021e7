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
#include <bit>

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
static_assert(std::all_of(kTiles.begin(), kTiles.end(), [](const TileShape& t) {
  return std::has_single_bit(static_cast<unsigned>(t.warps_m)) &&
         std::has_single_bit(static_cast<unsigned>(t.warps_n)) &&
         std::has_single_bit(static_cast<unsigned>(t.warps_k));
}));
constexpr std::array kSplitCounts = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::size_t kAtOnce = 64;  // settings that the model is asked about

bool is_mma_type(DataType type) {
  return type == DataType::f16 || type == DataType::bf16;
}

bool is_bulk(const Configuration& configuration) {
  return configuration.values[kCluster] != 0;
}

bool is_swapped(const Configuration& configuration) {
  return configuration.values[kSwap] != 0;
}

// Not fed by bulk copies, and alike but for their splits.
bool is_same_kernel(const Configuration& a, const Configuration& b) {
  for (const Parameter parameter : {kStages, kTileK, kTileN, kTileM, kWarpsK, kWarpsM, kWarpsN}) {
    if (a.values[parameter] != b.values[parameter]) return false;
  }
  return true;
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

// What each of `count` has of it: a power of two, for estimates are made by the hundred.
int share(int all, int count) {
  return all >> std::countr_zero(static_cast<unsigned>(count));
}

// The problem as a kernel sees it: transposed where it computes D^T.
struct Seen {
  Seen(const Problem& given, bool swap)
      : swapped(swap),
        problem(swap ? transposed(given) : given),
        a(cuda_layout::input_a(problem)),
        b(cuda_layout::input_b(problem)),
        copy_a(a.copy_bytes()),
        copy_b(b.copy_bytes()) {}

  int element() const { return size_bytes(problem.a.type); }

  bool swapped;
  Problem problem;
  Input a, b;
  int copy_a, copy_b;  // as of Input::copy_bytes
};

// A configuration with names, and the problem as its kernel sees it.
struct View {
  View(const Seen& as_seen, const Configuration& configuration)
      : seen(as_seen), values(configuration.values) {}

  int warps() const { return values[kWarpsM] * values[kWarpsN] * values[kWarpsK]; }
  int threads() const { return 32 * warps(); }
  int accumulators() const { return warp_m() * warp_n() / 32; }
  int warp_m() const { return share(values[kTileM], values[kWarpsM]); }
  int warp_n() const { return share(values[kTileN], values[kWarpsN]); }
  int shared_bytes() const {
    return values[kStages] * (values[kTileM] + values[kTileN]) * values[kTileK] * seen.element();
  }
  /// What the compiler needs, as compile tests show: accumulators, two fragments of each operand,
  /// addresses; loads through registers (elements before and after they are packed), and tf32,
  /// whose rounding is scheduled far ahead where steps are many.
  int registers() const {
    const int fragments = 2 * (warp_m() + warp_n()) / 4;
    const int through =
        (seen.copy_a == 0 ? values[kTileM] : 0) + (seen.copy_b == 0 ? values[kTileN] : 0);
    const int element = seen.element();
    const int fetched =
        through == 0 ? 0 : 16 + share(2 * through * values[kTileK] * element / 128, warps());
    const int rounding = element == 4 ? (values[kTileK] >= 32 ? 40 : 16) : 0;
    // Beyond 16 copies a thread, addresses that are kept from one k-tile to the next; beyond 8 that
    // begin together (see MmaMainloop::kParts), those of an M-major A are too many.
    const int copies =
        share((values[kTileM] + values[kTileN]) * values[kTileK] * element / 512, warps());
    const int steps = share(values[kTileK] * element / 32, values[kWarpsK]);
    const bool crowded = copies > (steps > 2 ? 16 : 8) && seen.a.major() == Major::along_rows;
    return accumulators() + fragments + 46 + fetched + rounding + 5 * std::max(0, copies - 16) +
           (crowded ? 20 : 0);
  }

  const Seen& seen;
  const std::array<std::int32_t, kMaxParameters>& values;
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
      (view.seen.copy_a == 0 ? v[kTileM] : 0) + (view.seen.copy_b == 0 ? v[kTileN] : 0);
  if (rows == 0) return true;
  return v[kTileM] * v[kTileN] <= 128 * 128 &&
         rows * v[kTileK] * view.seen.element() <= 8 * 16 * view.threads();
}

bool builds(const View& view, const CudaProfile& gpu) {
  return static_cast<std::size_t>(view.shared_bytes()) <= gpu.shared_per_block &&
         view.registers() <= 255 && compiles_quickly(view) &&
         loads(view.seen.a, view.values[kTileM], view.values[kTileK], view.threads()) &&
         loads(view.seen.b, view.values[kTileN], view.values[kTileK], view.threads());
}

int ctas_per_sm(const View& view, const CudaProfile& gpu) {
  constexpr int kReserved = 1024;  // shared memory that the driver takes of each CTA
  const int by_shared = static_cast<int>(gpu.shared_per_sm) / (view.shared_bytes() + kReserved);
  const int registers = (view.registers() + 7) / 8 * 8;
  const int by_registers = share(65536 / 32, view.warps()) / registers;
  const int threads = gpu.sm == 80 || gpu.sm == 90 ? 2048 : 1536;
  return std::max(1, std::min({by_shared, by_registers, share(threads / 32, view.warps()), 16}));
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
      const Seen seen(problem, swap);
      for (const TileShape& tile : kTiles) {
        if (!fits(seen.problem.m, tile.m, 16) || !fits(seen.problem.n, tile.n, swap ? 8 : 64)) {
          continue;
        }
        add_depths(found, problem, seen, device.profile().cuda, tile);
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
    // By runs of one kind, which share most of what the model computes.
    for (std::size_t first = 0; first < configurations.size();) {
      const Configuration& head = configurations[first];
      const auto other = [&](const Configuration& x) {
        return is_bulk(x) != is_bulk(head) || is_swapped(x) != is_swapped(head);
      };
      const auto next =
          configurations.subspan(first, std::min(kAtOnce, configurations.size() - first));
      const auto end = std::find_if(next.begin(), next.end(), other);
      const auto run = next.first(static_cast<std::size_t>(end - next.begin()));
      const auto found = estimates.subspan(first, run.size());
      if (is_bulk(head)) {
        estimate_bulk(problem, device.profile().cuda, run, found);
      } else {
        estimate_tiled(Seen(problem, is_swapped(head)), device.profile().cuda, run, found);
      }
      first += run.size();
    }
  }

  compile::Source source(const Problem& problem, const Device& device,
                         const Configuration& configuration) const override {
    if (is_bulk(configuration)) {
      return cuda_hopper::kernel_source(problem, bulk_setting(configuration));
    }
    const Seen seen(problem, is_swapped(configuration));
    const View view(seen, configuration);
    const auto& v = view.values;
    compile::Source source;
    source.file = "gemm_mma.cu";
    source.kernel_name = "gemm_mma";
    source.sm = device.profile().cuda.sm;
    source.preamble =
        fmt::format(
            "constexpr int kType = {}, kMajorA = {}, kMajorB = {}, kCopyA = {}, kCopyB = {};\n"
            "constexpr int kTileM = {}, kTileN = {}, kTileK = {}, kWarpsM = {}, kWarpsN = {};\n"
            "constexpr int kWarpsK = {}, kStages = {};\n"
            "constexpr bool kSplits = {};\n",
            static_cast<int>(seen.problem.a.type), static_cast<int>(seen.a.major()),
            static_cast<int>(seen.b.major()), seen.copy_a, seen.copy_b, v[kTileM], v[kTileN],
            v[kTileK], v[kWarpsM], v[kWarpsN], v[kWarpsK], v[kStages], v[kSplits] > 1) +
        cuda_layout::epilogue_preamble(seen.problem, cuda_layout::output_width(seen.problem));
    return source;
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    if (is_bulk(configuration)) {
      return cuda_hopper::build_kernel(*this, problem, device, configuration,
                                       bulk_setting(configuration));
    }
    const Seen seen(problem, is_swapped(configuration));
    return make_gemm_kernel(*this, problem, device, configuration,
                            tile_launch(View(seen, configuration)));
  }

 private:
  // A tile with every depth, number of stages and split that makes sense.
  static void add_depths(std::vector<Configuration>& found, const Problem& problem,
                         const Seen& seen, const CudaProfile& gpu, const TileShape& tile) {
    const bool small = tile.m * tile.n <= 64 * 32;
    const bool thin = tile.m * tile.n < 64 * 32;
    const int element = seen.element();
    for (const int line : {64, 128, 256, 512, 1024}) {  // bytes of K in a tile
      // A k-tile's products should outlast a barrier, and three or four stages fit the smallest
      // device.
      const int least = tile.warps_k > 1 ? (thin ? 128 : 64) * tile.warps_k : small ? 128 : 64;
      if (line < least || line > 2 * least) continue;
      for (const int stages : {3, 4, 6, 8}) {
        // Deep rings are for the tiles that stream weights.
        if (stages == 8 && !small) continue;
        Configuration configuration;
        configuration.values = {tile.m,         tile.n,
                                line / element, tile.warps_m,
                                tile.warps_n,   tile.warps_k,
                                stages,         1,
                                seen.swapped,   0};
        if (builds(View(seen, configuration), gpu)) {
          add_splits(found, problem, seen, gpu, configuration);
        }
      }
    }
  }

  static void add_splits(std::vector<Configuration>& found, const Problem& problem,
                         const Seen& seen, const CudaProfile& gpu, Configuration configuration) {
    const View view(seen, configuration);
    const std::int64_t slots = std::int64_t{gpu.multiprocessors} * ctas_per_sm(view, gpu);
    for (const int splits : kSplitCounts) {
      configuration.values[kSplits] = splits;
      const TileLaunch launch = tile_launch(view);
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

  static void estimate_bulk(const Problem& problem, const CudaProfile& gpu,
                            std::span<const Configuration> run, std::span<Estimate> estimates) {
    std::array<model::HopperSetting, kAtOnce> settings;
    const auto setting = [](const Configuration& x) {
      return cuda_hopper::cost_setting_of(bulk_setting(x));
    };
    std::transform(run.begin(), run.end(), settings.begin(), setting);
    const auto view = cuda_hopper::view_of(problem, is_swapped(run[0]));
    model::hopper_times(gpu, cuda_hopper::product_of(view, true),
                        std::span(settings).first(run.size()), estimates);
  }

  static void estimate_tiled(const Seen& seen, const CudaProfile& gpu,
                             std::span<const Configuration> run, std::span<Estimate> estimates) {
    std::array<model::TiledSetting, kAtOnce> settings;
    const double flops_per_s = peak(seen, gpu);
    double ctas = 0;
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto& v = run[i].values;
      // Neighbours are most often of one kernel, with other splits.
      if (i == 0 || !is_same_kernel(run[i], run[i - 1]))
        ctas = ctas_per_sm(View(seen, run[i]), gpu);
      settings[i] = {.tile_m = static_cast<double>(v[kTileM]),
                     .tile_n = static_cast<double>(v[kTileN]),
                     .tile_k = static_cast<double>(v[kTileK]),
                     .splits = static_cast<double>(v[kSplits]),
                     .ctas_per_sm = ctas,
                     .stages = static_cast<double>(v[kStages]),
                     .flops_per_s = flops_per_s};
    }
    const Problem& p = seen.problem;
    model::TiledProduct product{.m = p.m, .n = p.n, .k = p.k, .batch = p.batch};
    product.shared_a = p.a.batch_stride == 0;
    product.shared_b = p.b.batch_stride == 0;
    product.bytes_a = product.bytes_b = seen.element();
    product.bytes_out = size_bytes(p.d.type) + (p.c ? size_bytes(p.c->type) : 0);
    model::tiled_times(gpu, product, std::span(settings).first(run.size()), estimates);
  }

  // What the fit of model/cuda_cost.cpp gives on sm_90, where mma.sync alone reaches 0.64 of wgmma
  // (638 TFLOP/s on an H200). Older tensor cores have no faster instruction. Elements one by one,
  // through registers: 130 to 160 TFLOP/s on an H200.
  static double peak(const Seen& seen, const CudaProfile& gpu) {
    const bool f32 = seen.problem.a.type == DataType::f32;
    const double all = (f32 ? gpu.tf32_flops : gpu.f16_flops) * (gpu.sm == 90 ? 0.53 : 0.9);
    return seen.copy_a == 0 || seen.copy_b == 0 ? 0.27 * all : all;
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
