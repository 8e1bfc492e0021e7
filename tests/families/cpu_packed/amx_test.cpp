// The AMX micro-kernel on a model of the processor's tiles, since few machines have them.
#include "families/cpu_packed/kernels/amx.hpp"

#include "numeric/convert.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::cpu_packed {
namespace {

// Eight registers of 16 rows x 64 bytes, as the instruction set's manual describes them.
struct ModelTiles {
  static inline TileLayout layout;
  static inline bool configured = false;
  static inline char registers[8][16][64];

  static void configure(const TileLayout& wanted) {
    layout = wanted;
    configured = true;
    std::memset(registers, 0, sizeof registers);
  }
  static void release() { configured = false; }
  template <int kTile>
  static void zero() {
    std::memset(registers[kTile], 0, sizeof registers[kTile]);
  }
  template <int kTile>
  static void load(const void* address, std::ptrdiff_t row_bytes) {
    ASSERT_TRUE(configured);
    zero<kTile>();
    for (int row = 0; row < layout.rows[kTile]; ++row) {
      std::memcpy(registers[kTile][row], static_cast<const char*>(address) + row * row_bytes,
                  layout.row_bytes[kTile]);
    }
  }
  template <int kTile>
  static void store(void* address, std::ptrdiff_t row_bytes) {
    for (int row = 0; row < layout.rows[kTile]; ++row) {
      std::memcpy(static_cast<char*>(address) + row * row_bytes, registers[kTile][row],
                  layout.row_bytes[kTile]);
    }
  }
  template <int kSum, int kA, int kB>
  static void multiply() {
    ASSERT_EQ(layout.rows[kSum], layout.rows[kA]);
    ASSERT_EQ(layout.row_bytes[kA], 4 * layout.rows[kB]);
    for (int m = 0; m < layout.rows[kA]; ++m) {
      for (int n = 0; n < layout.row_bytes[kB] / 4; ++n) {
        float sum;
        std::memcpy(&sum, &registers[kSum][m][4 * n], 4);
        for (int k = 0; k < layout.row_bytes[kA] / 2; ++k) {
          sum += bf16(registers[kA][m], k) * bf16(registers[kB][k / 2], 2 * n + k % 2);
        }
        std::memcpy(&registers[kSum][m][4 * n], &sum, 4);
      }
    }
  }
  static float bf16(const char* row, int index) {
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * index, 2);
    return numeric::from_bf16(bits);
  }
};

std::uint16_t small_integer(std::mt19937& random) {
  return numeric::to_bf16(static_cast<float>(random() % 9U) - 4.0F);
}

template <int kRows, int kPanels>
void check(int k, bool accumulate) {
  std::mt19937 random(1);
  const int padded = (k + 31) / 32 * 32;
  const int units = (k + 1) / 2;
  std::vector<std::uint16_t> a(static_cast<std::size_t>(kRows * padded), 0);
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < k; ++i)
      a[static_cast<std::size_t>(row * padded + i)] = small_integer(random);
  }
  // Panels lie apart; between them is what must not be read.
  const int panel_elements = units * kPanel * 2 + 64;
  std::vector<std::uint16_t> b(static_cast<std::size_t>(kPanels * panel_elements), 0x7FC0);
  const auto b_at = [&](int i, int column) -> std::uint16_t& {
    return b[static_cast<std::size_t>(column / kPanel * panel_elements + i / 2 * kPanel * 2 +
                                      column % kPanel * 2 + i % 2)];
  };
  for (int column = 0; column < kPanels * kPanel; ++column) {
    for (int i = 0; i < 2 * units; ++i) b_at(i, column) = i < k ? small_integer(random) : 0;
  }
  constexpr int kColumns = kPanels * kPanel;
  std::vector<float> tile(static_cast<std::size_t>(kRows * kColumns + 16), 7.0F);
  PanelArgs args;
  args.a = a.data();
  args.a_row_bytes = padded * 2;
  args.b = b.data();
  args.b_panel_bytes = panel_elements * 2;
  args.b_step_bytes = kPanel * 4;
  args.steps = units;
  args.tile = tile.data();
  args.accumulate = accumulate;
  AmxPanel<ModelTiles, kRows, kPanels>::run(args);
  EXPECT_FALSE(ModelTiles::configured);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      float expected = accumulate ? 7.0F : 0.0F;
      for (int i = 0; i < k; ++i) {
        expected += numeric::from_bf16(a[static_cast<std::size_t>(row * padded + i)]) *
                    numeric::from_bf16(b_at(i, column));
      }
      ASSERT_EQ(tile[static_cast<std::size_t>(row * kColumns + column)], expected)
          << kRows << 'x' << kPanels << " k " << k << " at " << row << ',' << column;
    }
  }
  for (std::size_t i = kRows * kColumns; i < tile.size(); ++i) EXPECT_EQ(tile[i], 7.0F);
}

template <int... kRows>
void check_rows(std::integer_sequence<int, kRows...>) {
  for (const int k : {1, 2, 31, 32, 33, 64, 95}) {
    for (const bool accumulate : {false, true}) {
      (check<kRows + 1, 1>(k, accumulate), ...);
      (check<kRows + 1, 2>(k, accumulate), ...);
    }
  }
}

TEST(AmxPanel, EveryHeightAndDepthIsExact) {
  check_rows(std::make_integer_sequence<int, 32>{});
}

TEST(AmxPanel, NoDepthWritesZeros) {
  check<5, 2>(0, false);
}

}  // namespace
}  // namespace gemwright::cpu_packed
