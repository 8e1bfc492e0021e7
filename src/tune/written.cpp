#include "tune/written.hpp"

#include "numeric/convert.hpp"
#include "tune/products.hpp"
#include "tune/testbed.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gemwright::tune {
namespace {

struct Counts {
  std::int64_t nan = 0;
  std::int64_t poison = 0;
};

template <typename Word>
Counts count_words(const std::byte* data, std::int64_t count, std::uint32_t infinity) {
  constexpr Word kMagnitude = static_cast<Word>(~Word{0}) >> 1;
  // Counts as wide as the words: the loop stays in vectors, and cannot overflow.
  constexpr std::int64_t kBlock = 16384;
  Counts counts;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    Word nan = 0;
    Word poison = 0;
    const std::int64_t last = std::min(count, first + kBlock);
    for (std::int64_t i = first; i < last; ++i) {
      Word word;
      std::memcpy(&word, data + i * static_cast<std::int64_t>(sizeof word), sizeof word);
      nan += static_cast<Word>(word & kMagnitude) > static_cast<Word>(infinity) ? 1 : 0;
      poison += word == static_cast<Word>(~Word{0}) ? 1 : 0;
    }
    counts.nan += nan;
    counts.poison += poison;
  }
  return counts;
}

Counts count(DataType type, const std::byte* data, std::int64_t elements) {
  if (size_bytes(type) == 4) {
    return count_words<std::uint32_t>(data, elements, infinity_bits(type));
  }
  return count_words<std::uint16_t>(data, elements, infinity_bits(type));
}

Counts count(DataType type, std::span<const std::byte> data, int threads) {
  constexpr std::int64_t kShare = 1 << 20;
  const std::int64_t elements = std::ssize(data) / size_bytes(type);
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> nan{0};
  std::atomic<std::int64_t> poison{0};
  const auto work = [&] {
    for (std::int64_t at = next.fetch_add(kShare); at < elements; at = next.fetch_add(kShare)) {
      const Counts counts =
          count(type, data.data() + at * size_bytes(type), std::min(kShare, elements - at));
      nan += counts.nan;
      poison += counts.poison;
    }
  };
  on_threads(elements > 4 * kShare ? threads : 1, work);
  return {nan, poison};
}

bool intact(std::span<const std::byte> guard) {
  return std::all_of(guard.begin(), guard.end(), [](std::byte b) { return b == kPoison; });
}

}  // namespace

std::uint32_t infinity_bits(DataType type) {
  switch (type) {
    case DataType::f32:
      return 0x7F800000U;
    case DataType::f16:
      return 0x7C00U;
    case DataType::bf16:
      return 0x7F80U;
  }
  return 0;
}

Written look_through(DataType type, std::span<const std::byte> output, int threads) {
  const auto body = output.subspan(kGuardBytes, output.size() - 2 * kGuardBytes);
  const Counts counts = count(type, body, threads);
  return {.outside = !intact(output.first(kGuardBytes)) || !intact(output.last(kGuardBytes)),
          .poison = counts.poison,
          .nan = counts.nan};
}

std::vector<double> values_at(DataType type, std::span<const std::byte> output,
                              std::span<const std::int64_t> places) {
  std::vector<double> values;
  values.reserve(places.size());
  for (const std::int64_t at : places) {
    values.push_back(numeric::load(type, output.data() + kGuardBytes, at));
  }
  return values;
}

}  // namespace gemwright::tune
