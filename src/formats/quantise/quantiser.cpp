#include "formats/quantise/quantiser.hpp"

#include "device/cpu/thread_pool.hpp"
#include "formats/codebooks.hpp"
#include "formats/quantise/learn.hpp"
#include "formats/quantise/runs.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <string>

namespace gemwright::formats {
namespace {

constexpr double kLargestE4m3 = 448;

// Lowest and highest value of W, and 0 between them.
std::array<float, 2> ends_of(const Groups& groups, const Source& source) {
  std::array<float, 2> ends{0, 0};
  std::mutex merging;
  const Runs runs(groups);
  auto& pool = cpu::ThreadPool::global();
  pool.run(static_cast<int>(runs.size()), pool.cores(), [&](int index, int) {
    thread_local std::vector<float> values;
    const Run run = runs[index];
    values.resize(static_cast<std::size_t>(run.count));
    source.read(run.at, values);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const std::scoped_lock lock(merging);
    ends[0] = std::min(ends[0], *low);
    ends[1] = std::max(ends[1], *high);
  });
  return ends;
}

// Codes the runs of a slice.
class SliceCoder {
 public:
  SliceCoder(CodedWeight& slice, std::int64_t first_row, const Source& source,
             const GroupScale* tensor)
      : slice_(slice),
        groups_{slice.format, slice.n, slice.k},
        runs_(groups_),
        offset_(first_row * slice.k),
        source_(source),
        tensor_(tensor),
        coder_(slice.format, slice.table, static_cast<double>(slice.global_scale)) {
    if (tensor != nullptr) store(0, *tensor);
  }

  std::int64_t runs() const { return runs_.size(); }

  void code(std::int64_t index) {
    const Run run = runs_[index];
    thread_local RunValues values;
    values.importances.clear();
    values.read(source_, offset_ + run.at, run.count);
    if (slice_.format.grouping == Grouping::block) {
      code_blocks(run, values);
    } else if (slice_.format.codes == Codes::learned_per_row) {
      code_row_with_table(run, values);
    } else {
      code_groups(run, values, coder_);
    }
  }

 private:
  GroupScale scale_of(const Run& run, const RunValues& values, std::int64_t at,
                      const GroupCoder& coder) const {
    if (tensor_ != nullptr) return *tensor_;
    return coder.scale_of(values.group(at, run.group), values.group_importances(at, run.group));
  }

  // The tensor's only scale is there from the start: runs on other threads share its place.
  void keep(std::int64_t index, GroupScale scale) {
    if (tensor_ == nullptr) store(index, scale);
  }

  void store(std::int64_t index, GroupScale scale) {
    slice_.scales[static_cast<std::size_t>(index)] = scale.scale;
    if (!slice_.zeros.empty()) slice_.zeros[static_cast<std::size_t>(index)] = scale.zero;
  }

  void code_groups(const Run& run, const RunValues& values, const GroupCoder& coder) {
    for (std::int64_t at = 0; at < run.count; at += run.group) {
      const GroupScale scale = scale_of(run, values, at, coder);
      coder.code(values.group(at, run.group), scale, slice_.codes.data() + run.at + at);
      keep(run.scale + at / run.group, scale);
    }
  }

  // Scales first, by the largest magnitude; then the codebook that fits them best.
  void code_row_with_table(const Run& run, const RunValues& values) {
    const std::array<float, 2> ends{-1.0F, 1.0F};
    const auto global = static_cast<double>(slice_.global_scale);
    const GroupCoder absmax(slice_.format, ends, global);
    std::vector<GroupScale> scales;
    for (std::int64_t at = 0; at < run.count; at += run.group) {
      scales.push_back(tensor_ != nullptr ? *tensor_
                                          : absmax.scale_of(values.group(at, run.group), {}));
      keep(run.scale + at / run.group, scales.back());
    }
    const auto table = learn_row(slice_.format, values, run.group, scales, global);
    std::copy(table.begin(), table.end(),
              slice_.table.begin() + ((run.at / slice_.k) << slice_.format.bits));
    const GroupCoder coder(slice_.format, table, global);
    for (std::int64_t at = 0; at < run.count; at += run.group) {
      coder.code(values.group(at, run.group), scales[static_cast<std::size_t>(at / run.group)],
                 slice_.codes.data() + run.at + at);
    }
  }

  // Each square of the line is gathered into one group.
  void code_blocks(const Run& run, const RunValues& line) {
    const std::int64_t rows = run.count / slice_.k;
    RunValues square;
    std::vector<std::uint8_t> codes;
    for (std::int64_t column = 0; column < slice_.k; column += run.group) {
      const std::int64_t width = std::min(run.group, slice_.k - column);
      square.values.clear();
      square.importances.clear();
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto append = [&](std::vector<float>& to, const std::vector<float>& from) {
          const auto begin = from.begin() + row * slice_.k + column;
          to.insert(to.end(), begin, begin + width);
        };
        append(square.values, line.values);
        if (!line.importances.empty()) append(square.importances, line.importances);
      }
      const GroupScale scale = coder_.scale_of(square.values, square.importances);
      codes.resize(square.values.size());
      coder_.code(square.values, scale, codes.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(codes.begin() + row * width, width,
                    slice_.codes.begin() + run.at + row * slice_.k + column);
      }
      keep(run.scale + column / run.group, scale);
    }
  }

  CodedWeight& slice_;
  Groups groups_;
  Runs runs_;
  std::int64_t offset_;
  const Source& source_;
  const GroupScale* tensor_;
  GroupCoder coder_;
};

void check_arguments(const WeightFormat& format, std::int64_t n, std::int64_t k, const void* w,
                     const QuantiseOptions& options) {
  format.check();
  if (format.ordered) {
    throw InvalidArgument("format.ordered", "true",
                          "false: weights are quantised in their own order");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (n < 0 || k < 0 || (k > 0 && n > kMost / k)) {
    throw InvalidArgument("n, k", std::to_string(n) + ", " + std::to_string(k),
                          "sizes of which N K is at most 2^40");
  }
  if (w == nullptr && n > 0 && k > 0) throw InvalidArgument("w", "null", "a pointer to the weight");
  const auto moments = static_cast<std::int64_t>(options.second_moments.size());
  if (moments != 0 && moments != k) {
    throw InvalidArgument("second_moments", std::to_string(moments) + " entries",
                          std::to_string(k) + ", one for each column, or none");
  }
  for (const float moment : options.second_moments) {
    if (std::isfinite(moment) && moment >= 0) continue;
    throw InvalidArgument("second_moments", std::to_string(moment), "finite numbers from 0 on");
  }
}

}  // namespace

Quantiser::Quantiser(const WeightFormat& format, std::int64_t n, std::int64_t k, DataType type,
                     const void* w, const QuantiseOptions& options)
    : groups_{format, n, k}, source_(w, type, k, options.second_moments) {
  check_arguments(format, n, k, w, options);
  if (format.global_scale || format.grouping == Grouping::tensor) {
    const auto ends = ends_of(groups_, source_);
    source_.check_finite();
    const double largest = std::max(-static_cast<double>(ends[0]), static_cast<double>(ends[1]));
    if (format.global_scale && largest > 0) {
      const double top = format.scale == ScaleType::e4m3 ? kLargestE4m3 : 1;
      global_ = static_cast<float>(largest / (reach(format) * top));
    }
    const std::array<float, 2> unit{-1.0F, 1.0F};
    tensor_ = GroupCoder(format, unit, static_cast<double>(global_)).scale_of(ends, {});
  }
  if (format.codes == Codes::learned) {
    table_ = learn_table(groups_, source_, static_cast<double>(global_),
                         format.grouping == Grouping::tensor ? &tensor_ : nullptr);
  }
  source_.check_finite();
}

std::int64_t Quantiser::slice_rows() const {
  const bool across =
      groups_.format.grouping == Grouping::flat || groups_.format.grouping == Grouping::block;
  return across ? std::max<std::int64_t>(groups_.format.group, kTile) : kTile;
}

CodedWeight Quantiser::rows(std::int64_t first, std::int64_t count) const {
  CodedWeight slice;
  slice.format = groups_.format;
  slice.n = count;
  slice.k = groups_.k;
  slice.global_scale = global_;
  slice.table = table_;
  if (slice.format.codes == Codes::learned_per_row) {
    slice.table.resize(static_cast<std::size_t>(count) << slice.format.bits);
  }
  const Groups groups{slice.format, slice.n, slice.k};
  slice.codes.resize(static_cast<std::size_t>(count * slice.k));
  slice.scales.resize(static_cast<std::size_t>(groups.count()));
  if (slice.format.zero != Zero::symmetric) slice.zeros.resize(slice.scales.size());
  const bool one_scale = slice.format.grouping == Grouping::tensor;
  SliceCoder coder(slice, first, source_, one_scale ? &tensor_ : nullptr);
  auto& pool = cpu::ThreadPool::global();
  pool.run(static_cast<int>(coder.runs()), pool.cores(),
           [&coder](int run, int) { coder.code(run); });
  source_.check_finite();
  return slice;
}

}  // namespace gemwright::formats

namespace gemwright {

CodedWeight quantise(const WeightFormat& format, std::int64_t n, std::int64_t k, DataType type,
                     const void* w, const QuantiseOptions& options) {
  return formats::Quantiser(format, n, k, type, w, options).rows(0, n);
}

}  // namespace gemwright
