// The weight that is quantised, as fp32.
#pragma once

#include <gemwright/types.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

namespace gemwright::formats {

/// W[N,K] row-major in memory (mapped from a file, as a rule), and what its columns weigh.
/// Remembers the first element that is no finite number. Safe from many threads.
class Source {
 public:
  Source(const void* w, DataType type, std::int64_t k, std::span<const float> moments)
      : w_(w), type_(type), k_(k), moments_(moments) {}

  /// Elements [at, at + out.size()) of W read as one line; exact.
  void read(std::int64_t at, std::span<float> out) const;

  bool weighted() const { return !moments_.empty(); }
  /// What each of these elements' squared errors weigh; only where weighted.
  void importances(std::int64_t at, std::span<float> out) const;

  /// Throws InvalidArgument naming row and column when an element read so far was not finite.
  void check_finite() const;

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  const void* w_;
  DataType type_;
  std::int64_t k_;
  std::span<const float> moments_;
  mutable std::atomic<std::int64_t> bad_{kNone};
};

}  // namespace gemwright::formats
