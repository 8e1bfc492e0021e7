#include "formats/slices.hpp"

#include "formats/quantise/quantiser.hpp"
#include "support/weight_formats.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

TEST(SlicePacker, PiecesMakeTheWhole) {
  constexpr std::int64_t kN = 650;
  constexpr std::int64_t kK = 100;
  std::mt19937 random(1);
  std::normal_distribution<float> draw;
  std::vector<float> w(kN * kK);
  for (float& value : w) value = draw(random);
  for (const std::string_view name : kManyFormats) {
    const WeightFormat format = parse_weight_format(name);
    if (format.ordered) continue;
    const Quantiser quantiser(format, kN, kK, DataType::f32, w.data(), {});
    const std::size_t bytes = packed_weights_bytes(format, kN, kK);
    std::vector<std::byte> storage(bytes + 64);
    std::byte* whole =
        storage.data() + (64 - reinterpret_cast<std::uintptr_t>(storage.data()) % 64) % 64;
    pack_weights(quantiser.rows(0, kN), whole);

    std::vector<std::byte> pieced(bytes);
    SlicePacker packer(kN);
    const std::int64_t step = quantiser.slice_rows();
    for (std::int64_t first = 0; first < kN; first += step) {
      for (const Piece& piece :
           packer.pack(quantiser.rows(first, std::min(step, kN - first)), first)) {
        ASSERT_LE(piece.offset + std::ssize(piece.bytes), std::ssize(pieced));
        std::memcpy(pieced.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
      }
    }
    EXPECT_EQ(std::memcmp(pieced.data(), whole, bytes), 0) << name;
  }
}

}  // namespace
}  // namespace gemwright::formats
