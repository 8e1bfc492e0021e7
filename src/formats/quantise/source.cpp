#include "formats/quantise/source.hpp"

#include "numeric/convert.hpp"
#include <gemwright/errors.hpp>

#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace gemwright::formats {
namespace {

template <typename Decode>
void read_words(const void* w, std::int64_t at, std::span<float> out, const Decode& decode) {
  const auto* from = static_cast<const std::byte*>(w) + at * 2;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t word;
    std::memcpy(&word, from + 2 * i, 2);  // files promise no alignment
    out[i] = decode(word);
  }
}

}  // namespace

void Source::read(std::int64_t at, std::span<float> out) const {
  switch (type_) {
    case DataType::f32:
      std::memcpy(out.data(), static_cast<const std::byte*>(w_) + at * 4, out.size_bytes());
      break;
    case DataType::f16:
      read_words(w_, at, out, numeric::from_f16);
      break;
    case DataType::bf16:
      read_words(w_, at, out, numeric::from_bf16);
      break;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isfinite(out[i])) continue;
    const std::int64_t place = at + static_cast<std::int64_t>(i);
    std::int64_t known = bad_.load();
    while (place < known && !bad_.compare_exchange_weak(known, place)) {
    }
    return;
  }
}

void Source::importances(std::int64_t at, std::span<float> out) const {
  std::int64_t column = at % k_;
  for (float& importance : out) {
    importance = moments_[static_cast<std::size_t>(column)];
    if (++column == k_) column = 0;
  }
}

void Source::check_finite() const {
  const std::int64_t bad = bad_.load();
  if (bad == kNone) return;
  throw InvalidArgument("w",
                        fmt::format("no finite number in row {}, column {}", bad / k_, bad % k_),
                        "finite numbers");
}

}  // namespace gemwright::formats
