// The processor's matrix unit: eight tile registers of 16 rows x 64 bytes. Included by files that
// are compiled for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_packed {

/// Layout of the tile registers, as LDTILECFG reads it.
struct alignas(64) TileLayout {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileLayout) == 64);

/// Assembly, because the intrinsics of GCC 12 are macros that take register numbers as text only.
struct AmxTiles {
  static void configure(const TileLayout& layout) { asm volatile("ldtilecfg %0" : : "m"(layout)); }
  static void release() { asm volatile("tilerelease"); }
  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void load(const void* address, std::ptrdiff_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                 :
                 : "r"(address), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  static void store(void* address, std::ptrdiff_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                 :
                 : "r"(address), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kSum, int kA, int kB>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace gemwright::cpu_packed
