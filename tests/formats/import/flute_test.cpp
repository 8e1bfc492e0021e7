// FLUTE's packing written forwards: how words of 16 bits come from the codes of W[K][N].
#include "formats/import/import.hpp"
#include "formats/import/parts.hpp"
#include <gemwright/errors.hpp>

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

// 2 and 4 bits. The result is [N/16 * bits][K].
std::vector<std::uint16_t> packed(const std::vector<int>& codes, std::int64_t n, std::int64_t k,
                                  int bits, std::int64_t tile) {
  const std::int64_t columns = 16 / bits;
  std::vector<std::uint16_t> words(at(n * bits / 16 * k));
  for (std::int64_t unit = 0; unit < k / 2 * (n / columns); ++unit) {
    const std::int64_t pair = unit / (n / columns);
    const std::int64_t row = unit % (n / columns);
    const std::int64_t first = row / tile * columns * tile + row % tile;
    const auto code = [&](std::int64_t half, std::int64_t column) {
      return static_cast<std::uint32_t>(codes[at((2 * pair + half) * n + first + column * tile)]);
    };
    for (std::int64_t half = 0; half < 2; ++half) {
      std::uint32_t word = 0;
      int slot = 0;
      for (std::int64_t i = half * columns / 2; i < (half + 1) * columns / 2; ++i) {
        word |= code(1, i) << (bits * slot++);
        word |= code(0, i) << (bits * slot++);
      }
      words[at(row * k + 2 * pair + half)] = static_cast<std::uint16_t>(word);
    }
  }
  return words;
}

// 3 bits, tile 32: 96 bits of 32 codes, dealt out to six words.
std::vector<std::uint16_t> packed_3(const std::vector<int>& codes, std::int64_t n, std::int64_t k) {
  constexpr std::array<int, 16> kColumns{0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14, 15};
  std::vector<std::uint16_t> words(at(n * 3 / 16 * k));
  for (std::int64_t unit = 0; unit < k / 2 * (n / 16); ++unit) {
    const std::int64_t pair = unit / (n / 16);
    const std::int64_t chunk = unit % (n / 16) / 32;
    const std::int64_t p = unit % 32;
    std::array<int, 96> bits{};
    std::size_t filled = 0;
    for (const int column : kColumns) {
      for (const std::int64_t half : {1, 0}) {
        const int code = codes[at((2 * pair + half) * n + (chunk * 16 + column) * 32 + p)];
        for (int bit = 0; bit < 3; ++bit) bits[filled++] = (code >> bit) & 1;
      }
    }
    const auto deal = [&](int half, int part, int to, int from, int count) {
      const std::int64_t row =
          part == 0 ? chunk * 32 + p : n / 16 + (chunk * 2 + part - 1) * 32 + p;
      for (int i = 0; i < count; ++i) {
        words[at(row * k + 2 * pair + half)] |=
            static_cast<std::uint16_t>(bits[at(from + i)] << (to + i));
      }
    };
    for (int part = 0; part < 3; ++part) {
      deal(0, part, 0, 30 * part, 16);
      deal(1, part, 0, 30 * part + 16, 14);
      deal(1, part, 14, 90 + 2 * part, 2);
    }
  }
  return words;
}

TEST(Flute, ReadsEveryWidthAndTile) {
  for (const auto& [bits, tile] : {std::pair{4, 32}, {4, 64}, {2, 32}, {2, 64}, {3, 32}}) {
    constexpr std::int64_t kN = 1024;
    constexpr std::int64_t kK = 128;
    const auto codes = random_codes(kN * kK, 1 << bits);
    const auto words = bits == 3 ? packed_3(codes, kN, kK) : packed(codes, kN, kK, bits, tile);
    const auto table = random_scales(1 << bits, 8);
    const auto scales = random_scales(kN * 2);
    PartsMaker maker;
    maker.add("weight", "I16", {kN * bits / 16, kK}, words);
    maker.add_f16("scales", {kN, 2}, scales);
    maker.add_f16("tables", {1 << bits}, table);
    const CodedWeight weight = import_flute(maker.parts(), {.flute_tile = tile});
    EXPECT_EQ(key(weight.format), "lut" + std::to_string(bits) + ":g64:f16");
    weight.check();
    std::vector<float> values(weight.codes.size());
    dequantise(weight, DataType::f32, values.data());
    for (std::int64_t n = 0; n < kN; ++n) {
      for (std::int64_t k = 0; k < kK; ++k) {
        ASSERT_EQ(values[at(n * kK + k)],
                  table[at(codes[at(k * kN + n)])] * scales[at(n * 2 + k / 64)])
            << bits << " bits, " << n << ", " << k;
      }
    }
  }
}

TEST(Flute, DoesNotGuessTheTile) {
  PartsMaker maker;
  maker.add("weight", "I16", {256, 128}, std::vector<std::uint16_t>(256 * 128));
  maker.add_f16("scales", {1024, 2}, random_scales(2048));
  maker.add_f16("tables", {16}, random_scales(16));
  EXPECT_THROW(import_flute(maker.parts(), {}), InvalidArgument);
}

}  // namespace
}  // namespace gemwright::formats
