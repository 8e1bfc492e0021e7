#include "families/cuda_lowbit/a8_setting.hpp"

#include "cuda/params.cuh"
#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/weight.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {
namespace {

bool has_one_scale_a_row(const WeightFormat& format) {
  return format.grouping == Grouping::row || format.grouping == Grouping::tensor;
}

}  // namespace

A8Setting a8_setting_of(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.cols = v[0],
          .part = v[1],
          .sums = v[2],
          .stages = v[3],
          .consumers = v[4],
          .cluster = v[5],
          .pace = static_cast<Pace>(v[6]),
          .group = v[7],
          .along_n = v[8] != 0};
}

Configuration configuration_of(const A8Setting& s) {
  Configuration configuration;
  configuration.values = {
      s.cols,  s.part,           s.sums, s.stages, s.consumers, s.cluster, static_cast<int>(s.pace),
      s.group, s.along_n ? 1 : 0};
  return configuration;
}

std::string name_of(const A8Setting& s) {
  std::string name =
      fmt::format("lowbit_a8_{}x{}p{}x{}{}_s{}_g{}{}", 64 * s.consumers, s.cols, s.part, s.sums,
                  s.pace == Pace::overlap ? "o"
                  : s.pace == Pace::turns ? "t"
                                          : "",
                  s.stages, s.group, s.along_n ? "n" : "m");
  if (s.cluster > 1) name += fmt::format("_c{}", s.cluster);
  return name;
}

std::optional<std::string> refuse_codes(const WeightFormat& format) {
  constexpr int kLeastGroup = 32;
  if (has_codebook(format)) {
    return "entries of a codebook are not exact in e4m3; take activations as given, or a format of "
           "integers, e2m1 or e4m3";
  }
  if (format.codes == Codes::e5m2 || (format.codes == Codes::integer && format.bits == 8)) {
    return "its codes are not exact in e4m3; take activations as given, or e4m3 for the weight";
  }
  if (format.zero == Zero::real) {
    return "zero points are real numbers; take activations as given, or integer zero points";
  }
  if (!has_one_scale_a_row(format) && format.group < kLeastGroup) {
    return fmt::format(
        "groups of {} are shorter than the {} columns that an instruction sums; "
        "take activations as given, or longer groups (mxfp4 for nvfp4)",
        format.group, kLeastGroup);
  }
  return std::nullopt;
}

bool folds_scales(const A8Setting& s, const WeightFormat& format) {
  constexpr int kGroup = 32;
  return s.pace != Pace::overlap && format.codes == Codes::e2m1 &&
         format.scale == ScaleType::e8m0 && format.group == kGroup;
}

int sums_of_window(const A8Setting& s, const WeightFormat& format) {
  const bool one =
      folds_scales(s, format) || has_one_scale_a_row(format) || format.group >= kWindow;
  return one ? 1 : kWindow / format.group;
}

bool stores_by_copies(const A8Setting& s, const Problem& p) {
  return s.cols % 16 == 0 && stores_transposed(p);
}

int chunk_columns(const A8Setting& s, const Problem& p) {
  return gemwright::chunk_columns(p.d.type, s.cols, p.c.has_value());
}

int shared_bytes(const A8Setting& s, const Problem& p) {
  constexpr int kBlocks = kWindow / 64;
  constexpr int kTableBytes = 16;
  const WeightFormat& format = *p.weight;
  const int weights = s.consumers * stage_bytes(p, kBlocks);
  const int ring = s.stages * (s.cols * kWindow + weights);
  const int chunk = stores_by_copies(s, p) ? 64 * size_bytes(p.d.type) * chunk_columns(s, p) : 0;
  const int tables = format.zero == Zero::integer ? kTableBytes * ((1 << format.bits) + 1) : 0;
  constexpr int kBuffers = 2;
  return (ring + 1023) / 1024 * 1024 + s.consumers * kBuffers * chunk + tables + 2 * s.stages * 8;
}

A8Workspace workspace_of(const Problem& p) {
  // Scales of a tile are read whole, past M too.
  constexpr std::size_t kMostColumns = 256;
  const auto rows = static_cast<std::size_t>(p.m);
  A8Workspace w;
  w.pitch = kWindow * static_cast<std::size_t>(
                          std::max<std::int64_t>(1, cuda_layout::tiles_of(p.k, kWindow)));
  w.codes = gemwright_device::kCounterBytes;
  w.scales = w.codes + rows * w.pitch;
  w.bytes = w.scales + (rows + kMostColumns) * sizeof(float);
  return w;
}

}  // namespace gemwright::cuda_lowbit
