// What every program under bench/ prints and keeps: a table on the terminal and one JSON file.
#pragma once

#include "cli/clock.hpp"
#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gemwright::bench {

/// One measured problem. Times are in microseconds by competitor, in the order in which they are
/// shown: "chosen", "own" (best own kernel), "vendor_first", "vendor_best", "invariant" (best own
/// one of the batch-invariant mode), "floor" (the roofline), and each peer under its name. What was
/// not measured is left out.
struct Row {
  std::string model;
  std::string role;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  std::string type;    // of A and B, as gemwright::name(DataType)
  std::string format;  // weight format, with "-a8" where activations are rounded; empty when dense
  std::string kernel;  // name of the chosen one
  std::vector<std::pair<std::string, double>> us;

  /// Sizes, type and format of the problem; the rest is left to the caller.
  static Row of(const Problem& problem);
  /// Time of a competitor; 0 when it was not measured.
  double time(const std::string& competitor) const;
};

/// Rows of one bench on one device. Not thread safe.
class Report {
 public:
  Report(std::string bench, Device device);

  void add(Row row) { rows_.push_back(std::move(row)); }
  /// Notes the device's clock of this moment (GPU: from the driver; CPU: measured in 0.1 ms).
  /// Call it a few times while the device is busy.
  void sample_clock() { clock_.take(device_); }

  const std::vector<Row>& rows() const { return rows_; }
  /// Geometric mean of time(numerator) / time(denominator) over the rows that have both and that
  /// `keep` takes; 0 when there is none.
  template <typename Keep>
  double geometric_mean(const std::string& numerator, const std::string& denominator,
                        Keep keep) const {
    std::vector<double> ratios;
    for (const Row& row : rows_) {
      if (keep(row)) ratios.push_back(ratio(row, numerator, denominator));
    }
    return geometric_mean_of_positive(ratios);
  }

  /// All rows: sizes, times, and the chosen kernel.
  void print() const;
  /// Writes `<folder>/<device slug>/<bench>.json` by way of a temporary file and a rename; returns
  /// its path. Throws Error when the disk refuses.
  std::filesystem::path write(const std::filesystem::path& folder) const;

 private:
  static double ratio(const Row& row, const std::string& numerator, const std::string& denominator);
  static double geometric_mean_of_positive(const std::vector<double>& values);

  std::string bench_;
  Device device_;
  std::vector<Row> rows_;
  cli::ClockSamples clock_;
};

}  // namespace gemwright::bench
