// Products of a packed low-bit weight with activations rounded to e4m3, by fp8 wgmma. See
// kernels/cuda/gemm_lowbit_a8.cu.
#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/a8_kernel.hpp"
#include "families/cuda_lowbit/a8_setting.hpp"
#include "families/cuda_lowbit/rounding.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "formats/packed_layout.hpp"
#include "model/lowbit_a8_cost.hpp"
#include "problem/transposed.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;
using cuda_layout::tiles_of;

struct Shape {
  int consumers, cols, part, sums;
  Pace pace;
};

// What registers have room for: sums of a tile and of one or two parts, and one window of
// fragments, or two where they overlap. Measured (docs/performance/lowbit_a8.md).
constexpr std::array kShapes = {
    Shape{4, 16, 16, 1, Pace::overlap}, Shape{4, 32, 32, 1, Pace::overlap},
    Shape{2, 16, 16, 1, Pace::overlap}, Shape{2, 32, 32, 1, Pace::overlap},
    Shape{2, 64, 64, 1, Pace::overlap}, Shape{2, 96, 96, 1, Pace::overlap},
    Shape{2, 128, 128, 1, Pace::turns}, Shape{2, 128, 64, 2, Pace::overlap},
    Shape{2, 192, 96, 2, Pace::turns},  Shape{2, 256, 64, 2, Pace::turns},
    Shape{2, 256, 128, 1, Pace::free}};
constexpr int kMostStages = 12;
constexpr int kLeastStages = 2;
constexpr int kLeastShared = 192;  // columns that CTAs share

// One column of tiles where a width holds all rows: each decodes the weight anew. Else not much
// more padding than is needed.
bool worth_columns(int cols, const Problem& p) {
  if (p.m <= 256) {
    const auto* least = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& shape) {
      return shape.consumers == 2 && shape.cols >= p.m;
    });
    return cols == least->cols || (p.m > 64 && cols >= 64 && cols < least->cols);
  }
  return cols >= 64 && tiles_of(p.m, cols) * cols * 4 <= tiles_of(p.m, 64) * 64 * 5;
}

model::LowbitA8Work work_of(const A8Setting& s, const Problem& p) {
  const double rows = static_cast<double>(p.m);
  model::LowbitA8Work work;
  work.tiles = static_cast<double>(tiles_of(p.n, s.rows()) * tiles_of(p.m, s.cols));
  work.windows = static_cast<double>(tiles_of(p.k, kWindow));
  work.cols = s.cols;
  work.consumers = s.consumers;
  work.cluster = s.cluster;
  work.sums = sums_of_window(s, *p.weight);
  work.decoding = p.weight->bits == 8          ? model::Decoding::none
                  : folds_scales(s, *p.weight) ? model::Decoding::scaled
                                               : model::Decoding::looked_up;
  work.weight_bytes = static_cast<double>(formats::packed_layout(*p.weight, p.n, p.k).bytes);
  work.activation_elements = rows * static_cast<double>(p.k);
  work.activation_bytes = size_bytes(p.a.type);
  return work;
}

class CudaLowbitA8 final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_lowbit_a8"; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (!p.weight) return "B is not a low-bit weight";
    if (p.activations != Activations::e4m3) return "activations are not to be rounded to e4m3";
    if (auto reason = refuse_codes(*p.weight)) return reason;
    if (formats::runs_across_rows(*p.weight, p.k)) {
      return fmt::format("k = {} is no multiple of the flat blocks of {}: they run across rows",
                         p.k, p.weight->group);
    }
    if (auto reason = refuse_sizes(p)) return reason;
    return refuse_device(device);
  }

  std::span<const std::string_view> parameters() const override { return kA8Parameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    return name_of(a8_setting_of(configuration));
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    const std::size_t shared = device.profile().cuda.shared_per_block;
    std::vector<Configuration> found;
    for (const Shape& shape : kShapes) {
      if (!worth_columns(shape.cols, p)) continue;
      A8Setting s{.cols = shape.cols,
                  .part = shape.part,
                  .sums = shape.sums,
                  .stages = kMostStages,
                  .consumers = shape.consumers,
                  .pace = shape.pace,
                  .along_n = p.m < p.n};
      const auto fits = [&] { return static_cast<std::size_t>(shared_bytes(s, p)) <= shared; };
      while (s.stages > kLeastStages && !fits()) --s.stages;
      if (!fits()) continue;
      for (s.cluster = 1; s.cluster <= 2; ++s.cluster) {
        if (s.cluster > 1 && (s.cols < kLeastShared || p.n <= 64 * s.consumers)) continue;
        s.group = std::max(1, 2048 / (s.along_n ? s.cols : s.rows()));
        found.push_back(configuration_of(s));
      }
    }
    return found;
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const model::LowbitA8Work work = work_of(a8_setting_of(configurations[i]), p);
      estimates[i] = model::lowbit_a8_time(device.profile().cuda, work);
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return build_a8_kernel(*this, problem, device, configuration);
  }

  compile::Source source(const Problem& p, const Device& /*device*/,
                         const Configuration& configuration) const override {
    const A8Setting s = a8_setting_of(configuration);
    const DataType c = p.c ? p.c->type : p.d.type;
    constexpr int kDirect = 0;
    constexpr int kColumns = 2;
    std::string preamble = "namespace gemwright_device {\n";
    preamble += fmt::format("constexpr int kTypeD = {}, kStore = {}, kTypeC = {}, kBias = {};\n",
                            static_cast<int>(p.d.type), stores_by_copies(s, p) ? kColumns : kDirect,
                            static_cast<int>(c), static_cast<int>(transposed(p).bias));
    preamble += fmt::format(
        "constexpr int kTypeBias = {}, kTileN = {}, kPart = {}, kSums = {}, kStages = {}, "
        "kConsumers = {};\n"
        "constexpr int kBuffers = 2, kCluster = {};\n"
        "constexpr bool kHasC = {}, kOverlap = {}, kTurns = {};\n",
        static_cast<int>(p.bias_type), s.cols, s.part, s.sums, s.stages, s.consumers, s.cluster,
        p.c.has_value(), s.pace == Pace::overlap, s.pace == Pace::turns);
    preamble += rounding_preamble(p, Rounded::e4m3_bytes);
    preamble += weight_preamble(p) + "}\n";
    return {.file = "gemm_lowbit_a8.cu",
            .preamble = std::move(preamble),
            .kernel_name = "gemm_lowbit_a8",
            .sm = 90,
            .arch_specific = true};
  }
};

}  // namespace

namespace families {

const Family& cuda_lowbit_a8() {
  static const CudaLowbitA8 family;
  return family;
}

}  // namespace families
}  // namespace gemwright
