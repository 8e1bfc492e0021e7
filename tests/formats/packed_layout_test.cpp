#include "formats/packed_layout.hpp"

#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

TEST(PackedLayout, EveryCodeHasAPlaceOfItsOwn) {
  for (const int bits : {1, 2, 4, 8}) {
    for (const bool is_paired : {false, true}) {
      if (bits == 8 && !is_paired) continue;
      std::set<std::int64_t> taken;
      for (std::int64_t row = 0; row < kTile; ++row) {
        for (std::int64_t column = 0; column < kTile; ++column) {
          const CodePlace place = code_place(bits, is_paired, row, column);
          ASSERT_LE(place.shift + bits, 8);
          for (int bit = 0; bit < bits; ++bit) taken.insert(place.byte * 8 + place.shift + bit);
        }
      }
      EXPECT_EQ(taken.size(), 4096U * static_cast<unsigned>(bits));
      EXPECT_EQ(*taken.rbegin(), 4096 * bits - 1);
    }
  }
}

// Element by element as the fragment of m64k16 (and of m16n8k16's A) has it: lane 4 g + t of warp w
// holds rows 16 w + g and 8 below it, columns 2 t, 2 t + 1 and 8 after them.
TEST(PackedLayout, AThreadHoldsItsFragmentOfFourSteps) {
  for (std::int64_t thread = 0; thread < 128; ++thread) {
    const std::int64_t row = 16 * (thread / 32) + thread % 32 / 4;
    const std::int64_t column = 2 * (thread % 4);
    for (std::int64_t step = 0; step < 4; ++step) {
      for (std::int64_t i = 0; i < 4; ++i) {
        for (std::int64_t half = 0; half < 2; ++half) {
          const std::int64_t r = row + 8 * (i % 2);
          const std::int64_t c = 16 * step + column + 8 * (i / 2) + half;
          const CodePlace paired = code_place(4, true, r, c);
          EXPECT_EQ(paired.byte, 16 * thread + 4 * step + i);
          EXPECT_EQ(paired.shift, 4 * half);
          const CodePlace split = code_place(4, false, r, c);
          EXPECT_EQ(split.byte * 8 + split.shift, (16 * thread + 4 * step) * 8 + 4 * i + 16 * half);
          const CodePlace bytes = code_place(8, true, r, c);
          EXPECT_EQ(bytes.byte, 2048 * (step / 2) + 16 * thread + 8 * (step % 2) + 2 * i + half);
          const CodePlace two = code_place(2, false, r, c);
          EXPECT_EQ(two.byte * 8 + two.shift,
                    (8 * thread + 4 * (step / 2)) * 8 + 2 * (4 * (step % 2) + i) + 16 * half);
          const CodePlace one = code_place(1, true, r, c);
          EXPECT_EQ(one.byte * 8 + one.shift, 4 * thread * 8 + 2 * (4 * step + i) + half);
        }
      }
    }
  }
}

TEST(PackedLayout, EveryScaleHasAPlaceOfItsOwn) {
  for (const std::int64_t together : {1, 2, 4}) {
    std::set<std::int64_t> taken;
    for (std::int64_t group = 0; group < 8; ++group) {
      for (std::int64_t row = 0; row < kTile; ++row)
        taken.insert(scale_place(together, row, group));
    }
    EXPECT_EQ(taken.size(), 8U * 64U);
    EXPECT_EQ(*taken.rbegin(), 8 * 64 - 1);
  }
  // Rows r and r + 8, then the groups of the tile.
  EXPECT_EQ(scale_place(4, 16 + 3, 6), 2 * (4 * (32 + 8 + 3) + 2));
  EXPECT_EQ(scale_place(4, 16 + 11, 6), 2 * (4 * (32 + 8 + 3) + 2) + 1);
}

TEST(PackedLayout, GroupsShorterThanATileStandTogether) {
  EXPECT_EQ(groups_together(parse_weight_format("nvfp4"), 100), 4);
  EXPECT_EQ(groups_together(parse_weight_format("mxfp4"), 100), 2);
  EXPECT_EQ(groups_together(parse_weight_format("nf4"), 100), 1);
  EXPECT_EQ(groups_together(parse_weight_format("nf4:flat32:f32"), 128), 2);
  EXPECT_EQ(groups_together(parse_weight_format("nf4:flat32:f32"), 100), 1);
}

TEST(PackedLayout, SectionsFollowEachOther) {
  const WeightFormat format = parse_weight_format("int4z:g128:f16:order");
  const PackedLayout layout = packed_layout(format, 100, 200);
  EXPECT_EQ(layout.tiles_n, 2);
  EXPECT_EQ(layout.tiles_k, 4);
  EXPECT_EQ(layout.groups, 2);
  EXPECT_EQ(layout.codes, 256);
  EXPECT_EQ(layout.scales, layout.codes + 8 * 2048);
  EXPECT_EQ(layout.zeros, layout.scales + 2 * 2 * 64 * 2);
  EXPECT_EQ(layout.table, layout.zeros + 256);
  EXPECT_EQ(layout.order, layout.table);
  EXPECT_EQ(layout.bytes, layout.order + 256 * 4);
}

TEST(PackedLayout, FlatBlocksMayBeginBeforeARow) {
  const WeightFormat format = parse_weight_format("nf4:flat64:f32");
  EXPECT_EQ(phase(format, 3, 100), 300 % 64);
  EXPECT_EQ(phase(format, 3, 128), 0);
  // The worst row begins 63 columns into a block: 163 columns, and the tile's rest.
  EXPECT_EQ(packed_layout(format, 64, 100).groups, (128 + 63 + 63) / 64);
  EXPECT_EQ(packed_layout(format, 64, 128).groups, 2);
}

}  // namespace
}  // namespace gemwright::formats
