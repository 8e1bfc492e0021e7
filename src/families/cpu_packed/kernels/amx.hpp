// AMX: tiles of 16 rows x 64 bytes, multiplied as bf16 pairs into fp32.
//
// A is packed by rows and zero padded to whole steps of 32 k; a tile of B is 16 pairs of k by 16
// columns, which is just how a panel lies. Tiles is the processor's unit, or a test's model of it.
#pragma once

#include "families/cpu_packed/kernels/amx_tiles.hpp"
#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

// Registers: 0-3 hold D (upper and lower rows by left and right panel), 4-5 A, 6-7 B.
template <class Tiles, int kRows, int kPanels>
struct AmxPanel {
  static constexpr int kTileRows = 16;
  static constexpr int kTileBytes = 64;
  static constexpr int kStepsOfTile = 16;  // pairs of k
  static constexpr bool kLower = kRows > kTileRows;
  static constexpr std::int64_t kPitch = kPanels * kPanel * 4;  // bytes of a row of D

  static constexpr TileLayout layout() {
    TileLayout layout;
    for (int tile = 0; tile < 8; ++tile) {
      const bool upper = tile == 0 || tile == 1 || tile == 4;
      const int rows = tile >= 6 ? kStepsOfTile
                       : upper   ? (kLower ? kTileRows : kRows)
                                 : (kLower ? kRows - kTileRows : 1);
      layout.rows[tile] = static_cast<std::uint8_t>(rows);
      layout.row_bytes[tile] = kTileBytes;
    }
    return layout;
  }

  static void begin(const PanelArgs& args) {
    if (!args.accumulate) {
      Tiles::template zero<0>();
      if constexpr (kPanels > 1) Tiles::template zero<1>();
      if constexpr (kLower) Tiles::template zero<2>();
      if constexpr (kLower && kPanels > 1) Tiles::template zero<3>();
      return;
    }
    const float* upper = args.tile;
    const float* lower = upper + kTileRows * kPanels * kPanel;
    Tiles::template load<0>(upper, kPitch);
    if constexpr (kPanels > 1) Tiles::template load<1>(upper + kPanel, kPitch);
    if constexpr (kLower) Tiles::template load<2>(lower, kPitch);
    if constexpr (kLower && kPanels > 1) Tiles::template load<3>(lower + kPanel, kPitch);
  }

  static void end(const PanelArgs& args) {
    float* upper = args.tile;
    float* lower = upper + kTileRows * kPanels * kPanel;
    Tiles::template store<0>(upper, kPitch);
    if constexpr (kPanels > 1) Tiles::template store<1>(upper + kPanel, kPitch);
    if constexpr (kLower) Tiles::template store<2>(lower, kPitch);
    if constexpr (kLower && kPanels > 1) Tiles::template store<3>(lower + kPanel, kPitch);
  }

  static void step(const char* a, std::ptrdiff_t a_row_bytes, const char* b,
                   std::ptrdiff_t b_panel_bytes) {
    Tiles::template load<6>(b, kTileBytes);
    if constexpr (kPanels > 1) Tiles::template load<7>(b + b_panel_bytes, kTileBytes);
    Tiles::template load<4>(a, a_row_bytes);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (kPanels > 1) Tiles::template multiply<1, 4, 7>();
    if constexpr (kLower) {
      Tiles::template load<5>(a + kTileRows * a_row_bytes, a_row_bytes);
      Tiles::template multiply<2, 5, 6>();
      if constexpr (kPanels > 1) Tiles::template multiply<3, 5, 7>();
    }
  }

  static void run(const PanelArgs& args) {
    static constexpr TileLayout kLayout = layout();
    Tiles::configure(kLayout);
    begin(args);
    const char* a = static_cast<const char*>(args.a);
    const char* b = static_cast<const char*>(args.b);
    const char* ahead = args.prefetch.address;
    std::int64_t left = args.steps;
    for (; left >= kStepsOfTile; left -= kStepsOfTile) {
      for (int part = 0; part < kStepsOfTile / 4; ++part, ahead += args.prefetch.advance) {
        for (int stream = 0; stream < args.prefetch.streams; ++stream) {
          const char* line = ahead + stream * args.prefetch.stride;
          for (int i = 0; i < args.prefetch.lines; ++i) __builtin_prefetch(line + i * 64, 0, 2);
        }
      }
      step(a, args.a_row_bytes, b, args.b_panel_bytes);
      a += kTileBytes;
      b += kStepsOfTile * args.b_step_bytes;
    }
    if (left > 0) {
      // Beyond the end of a panel lies another, whose values times A's zeros may be NaN.
      alignas(64) char rest[kPanels][kStepsOfTile * kTileBytes] = {};
      for (int panel = 0; panel < kPanels; ++panel) {
        __builtin_memcpy(rest[panel], b + panel * args.b_panel_bytes,
                         static_cast<std::size_t>(left) * kTileBytes);
      }
      step(a, args.a_row_bytes, rest[0], sizeof rest[0]);
    }
    end(args);
    Tiles::release();
  }
};

// Fills the table for kRows and below.
template <class Tiles, int kPanels, int kRows>
constexpr void add_amx(KernelTable& table) {
  if constexpr (kRows > 0) {
    constexpr int loader = static_cast<int>(Loader::bf16_dot);
    if (table.max_rows[loader][kPanels] < kRows) table.max_rows[loader][kPanels] = kRows;
    table.panel[loader][kPanels][kRows] = &AmxPanel<Tiles, kRows, kPanels>::run;
    add_amx<Tiles, kPanels, kRows - 1>(table);
  }
}

}  // namespace gemwright::cpu_packed
