// Codes into tiles of the packed layout, and out of them.
#pragma once

#include "formats/packed_layout.hpp"

#include <cstdint>

namespace gemwright::formats {

/// Rows and columns of a tile that the weight has; the rest is padding.
struct TileExtent {
  std::int64_t rows = kTile;
  std::int64_t columns = kTile;
};

/// Fills the tile from one byte a code, rows `stride` bytes apart. All of the tile is written.
void pack_tile(const WeightFormat& format, const std::uint8_t* codes, std::int64_t stride,
               TileExtent extent, std::byte* tile);

void unpack_tile(const WeightFormat& format, const std::byte* tile, TileExtent extent,
                 std::uint8_t* codes, std::int64_t stride);

}  // namespace gemwright::formats
