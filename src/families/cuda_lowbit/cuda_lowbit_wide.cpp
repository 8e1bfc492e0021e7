// Products with a packed low-bit weight by wgmma. See kernels/cuda/gemm_lowbit_wide.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "families/cuda_lowbit/wide_kernel.hpp"
#include "families/cuda_lowbit/wide_setting.hpp"
#include "formats/packed_layout.hpp"
#include "model/lowbit_wide_cost.hpp"
#include "problem/transposed.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;
using cuda_layout::tiles_of;

constexpr std::array kCols = {8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256};
constexpr int kMostStages = 12;
constexpr std::int64_t kMostSplitRows = 256;
constexpr int kMostSplit = 8;
constexpr int kMostLookedUpCols = 32;
constexpr int kMostAcrossCols = 32;

// One column of tiles where a width holds all rows: each decodes the weight anew. Else little
// padding.
bool worth_columns(int cols, int most, const Problem& p) {
  if (cols > most) return false;
  if (p.m <= std::min(most, 64)) {
    return cols ==
           *std::find_if(kCols.begin(), kCols.end(), [&](int width) { return width >= p.m; });
  }
  const auto padded = [&](int width) { return tiles_of(p.m, width) * width; };
  const auto wide = [&](int width) { return width <= most && (width >= 64 || width == most); };
  std::int64_t least = padded(most);
  for (const int width : kCols) {
    if (wide(width)) least = std::min(least, padded(width));
  }
  return wide(cols) && padded(cols) * 4 <= least * 5;
}

// K is split while that fills SMs that would be idle, and leaves every part some K.
bool worth_splitting(const WideSetting& s, const Problem& p, int multiprocessors) {
  return p.m <= kMostSplitRows &&
         p.k >= std::int64_t{s.across ? 1 : 2} * s.stage_columns() * s.split &&
         tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols) <=
             model::clusters_at_a_time(s.split, multiprocessors);
}

// The last wave of tiles leaves many SMs idle, and there are few waves. Of narrow tiles, adding up
// parts takes longer than that wave (docs/performance/lowbit.md).
bool worth_streaming(const WideSetting& s, const Problem& p, int multiprocessors) {
  constexpr int kLeastCols = 96;
  constexpr int kMostSums = 128;  // of wider ones registers run short
  if (s.consumers == 4 || s.cols < kLeastCols) return false;
  if (scaling_of(p, s.cols) == Scaling::sums && s.cols > kMostSums) return false;
  const double waves =
      static_cast<double>(tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols)) / multiprocessors;
  return waves > 0.25 && waves < 8 && waves / std::ceil(waves) < 0.95 && p.k >= 512;
}

// Times that a block of 64 columns has its sums scaled.
double sums_scaled(const WideSetting& s, const WeightFormat& format) {
  const double groups = 64.0 / format.group;
  return s.part > 0 ? std::max(1.0, groups) : groups;
}

model::LowbitWideWork work_of(const WideSetting& s, const Problem& p) {
  model::LowbitWideWork work;
  work.tiles = static_cast<double>(tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols));
  work.blocks = static_cast<double>(tiles_of(p.k, 64));
  work.cols = s.cols;
  work.consumers = s.consumers;
  work.split = s.split;
  work.stream_k = s.stream_k;
  work.across = s.across;
  const Scaling scaling = scaling_of(p, s.cols);
  if (scaling == Scaling::sums || scaling == Scaling::in_place) {
    work.sums_scaled = sums_scaled(s, *p.weight);
  }
  work.sums_activations = p.weight->zero == Zero::real;
  work.parts = s.part > 0 ? s.cols / s.part : 1;
  work.scales_weights = scaling == Scaling::weights;
  work.arithmetic = p.weight->codes == Codes::integer && s.lookup == 0;
  work.overlaps = overlaps(s, p);
  work.rows_read = static_cast<double>(std::min<std::int64_t>(p.m, s.cols));
  work.row_bytes = 8 * p.weight->bits + scale_bytes(p);
  work.weight_bytes = static_cast<double>(formats::packed_layout(*p.weight, p.n, p.k).bytes);
  work.output_bytes = static_cast<double>(p.m) * static_cast<double>(p.n) * size_bytes(p.d.type);
  return work;
}

class CudaLowbitWide final : public CudaFamily {
 public:
  explicit CudaLowbitWide(bool row_factors) : row_factors_(row_factors) {}

  std::string_view name() const override { return "cuda_lowbit_wide"; }
  int version() const override { return 3; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (auto reason = refuse_weight(p)) return reason;
    if (auto reason = refuse_device(device)) return reason;
    if (p.weight->ordered) return "columns of the weight have an order of their own";
    if (p.a.col_stride != 1 || p.a.alignment % 16 != 0 ||
        (p.m > 1 && (p.a.row_stride <= 0 || p.a.row_stride % 8 != 0))) {
      return "A does not lie as bulk copies take it: K contiguous, rows of whole 16 bytes";
    }
    return std::nullopt;
  }

  std::span<const std::string_view> parameters() const override { return kWideParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    return name_of(wide_setting_of(configuration));
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    const CudaProfile& gpu = device.profile().cuda;
    std::vector<Configuration> found;
    for (const int consumers : {2, 3, 4}) {
      for (const int cols : kCols) {
        if (!worth_columns(cols, most_columns(p, consumers), p)) continue;
        WideSetting s{.cols = cols, .consumers = consumers};
        s.part = part_columns(p, cols, consumers);
        s.along_n = p.m < p.n;
        s.group = std::max(1, 2048 / (s.along_n ? s.cols : s.rows()));
        for (const int lookup : {0, 1, 2}) {
          if (lookup > 0 && (!may_look_up(p) || cols > kMostLookedUpCols)) continue;
          s.lookup = lookup;
          s.across = false;
          add_splits(found, s, p, gpu);
          s.across = true;
          if (cols <= kMostAcrossCols) add_splits(found, s, p, gpu);
        }
      }
    }
    return found;
  }

  static void add_splits(std::vector<Configuration>& found, WideSetting s, const Problem& p,
                         const CudaProfile& gpu) {
    for (int split = 1; split <= kMostSplit; ++split) {
      s.split = split;
      if ((split > 1 || s.across) && !worth_splitting(s, p, gpu.multiprocessors)) continue;
      s.stages = kMostStages;
      const auto fits = [&] {
        return static_cast<std::size_t>(shared_bytes(s, p)) <= gpu.shared_per_block;
      };
      const int least = s.across ? 3 : 2;  // with two, one consumer waits for the slowest other
      while (s.stages > least && !fits()) --s.stages;
      if (!fits()) continue;
      found.push_back(configuration_of(s));
      if (split > 1 || s.across || !worth_streaming(s, p, gpu.multiprocessors)) continue;
      WideSetting streamed = s;
      streamed.stream_k = true;
      found.push_back(configuration_of(streamed));
    }
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const model::LowbitWideWork work = work_of(wide_setting_of(configurations[i]), p);
      estimates[i] = model::lowbit_wide_time(device.profile().cuda, work);
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return build_wide_kernel(*this, problem, device, configuration);
  }

  compile::Source source(const Problem& p, const Device& /*device*/,
                         const Configuration& configuration) const override {
    const WideSetting s = wide_setting_of(configuration);
    const Problem view = transposed(p);
    const DataType c = p.c ? p.c->type : p.d.type;
    constexpr int kDirect = 0;
    constexpr int kColumns = 2;
    std::string preamble = "namespace gemwright_device {\n";
    preamble += fmt::format(
        "constexpr int kType = {}, kTypeD = {}, kStore = {}, kTypeC = {}, kBias = {};\n",
        static_cast<int>(p.a.type), static_cast<int>(p.d.type),
        stores_by_copies(s, p) ? kColumns : kDirect, static_cast<int>(c),
        static_cast<int>(view.bias));
    preamble += fmt::format(
        "constexpr int kTypeBias = {}, kTileN = {}, kStages = {}, kConsumers = {};\n"
        "constexpr int kBuffers = {}, kSplit = {}, kScaling = {}, kPart = {}, kDepth = {};\n"
        "constexpr bool kStreamK = {}, kHasC = {}, kAcross = {}, kOverlap = {}, kFactors = {};\n",
        static_cast<int>(p.bias_type), s.cols, s.stages, s.consumers, buffers(s), s.split,
        static_cast<int>(scaling_of(p, s.cols)), s.part, s.depth(), s.stream_k, p.c.has_value(),
        s.across, overlaps(s, p), row_factors_);
    preamble += weight_preamble(p, s.lookup) + "}\n";
    return {.file = "gemm_lowbit_wide.cu",
            .preamble = std::move(preamble),
            .kernel_name = "gemm_lowbit_wide",
            .sm = 90,
            .arch_specific = true};
  }

 private:
  bool row_factors_;
};

}  // namespace

const CudaFamily& cuda_lowbit::wide_family(bool row_factors) {
  static const CudaLowbitWide plain(false);
  static const CudaLowbitWide with_factors(true);
  return row_factors ? with_factors : plain;
}

namespace families {

const Family& cuda_lowbit_wide() {
  return cuda_lowbit::wide_family(false);
}

}  // namespace families
}  // namespace gemwright
