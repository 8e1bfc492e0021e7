#include "formats/tiles.hpp"

#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace gemwright::formats {
namespace {

// One plane of a tile: which bits of the codes it holds, and where.
struct Plane {
  int bits;
  int from;             // lowest bit of the code
  std::int64_t offset;  // in the tile, bytes
};

constexpr std::array<Plane, 2> kThreeBits{{{2, 0, 0}, {1, 2, 1024}}};
constexpr std::array<Plane, 1> kTwoBits{{{2, 0, 0}}};
constexpr std::array<Plane, 1> kFourBits{{{4, 0, 0}}};
constexpr std::array<Plane, 1> kEightBits{{{8, 0, 0}}};

std::span<const Plane> planes_of(int bits) {
  if (bits == 2) return kTwoBits;
  if (bits == 3) return kThreeBits;
  return bits == 4 ? std::span<const Plane>(kFourBits) : std::span<const Plane>(kEightBits);
}

// The places of a plane's codes, [row][column]: computed once a process.
std::span<const CodePlace> places_of(int plane_bits, bool is_paired) {
  const auto all = [](int bits, bool pairs) {
    std::vector<CodePlace> places;
    for (std::int64_t at = 0; at < kTile * kTile; ++at) {
      places.push_back(code_place(bits, pairs, at / kTile, at % kTile));
    }
    return places;
  };
  static const std::array<std::vector<CodePlace>, 7> places{
      all(1, false), all(1, true), all(2, false), all(2, true),
      all(4, false), all(4, true), all(8, true)};
  if (plane_bits == 8) return places[6];
  const std::size_t at = plane_bits == 1 ? 0 : plane_bits == 2 ? 2 : 4;
  return places[at + (is_paired ? 1 : 0)];
}

// What a plane holds of one code, and where.
struct Part {
  std::int64_t byte;  // in the tile
  int shift;          // in the byte
  int from;           // in the code
  unsigned mask;
};

// Calls visit(part, row, column) for every part of every code of the extent.
template <typename Visit>
void for_parts(const WeightFormat& format, TileExtent extent, Visit visit) {
  for (const Plane& plane : planes_of(format.bits)) {
    const auto places = places_of(plane.bits, paired(format));
    const unsigned mask = (1U << plane.bits) - 1;
    for (std::int64_t row = 0; row < extent.rows; ++row) {
      for (std::int64_t column = 0; column < extent.columns; ++column) {
        const CodePlace& place = places[static_cast<std::size_t>(row * kTile + column)];
        visit(Part{plane.offset + place.byte, place.shift, plane.from, mask}, row, column);
      }
    }
  }
}

}  // namespace

void pack_tile(const WeightFormat& format, const std::uint8_t* codes, std::int64_t stride,
               TileExtent extent, std::byte* tile) {
  std::memset(tile, 0, static_cast<std::size_t>(kTile * kTile / 8 * format.bits));
  for_parts(format, extent, [&](const Part& part, std::int64_t row, std::int64_t column) {
    const unsigned bits = (codes[row * stride + column] >> part.from) & part.mask;
    tile[part.byte] |= static_cast<std::byte>(bits << part.shift);
  });
}

void unpack_tile(const WeightFormat& format, const std::byte* tile, TileExtent extent,
                 std::uint8_t* codes, std::int64_t stride) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    std::memset(codes + row * stride, 0, static_cast<std::size_t>(extent.columns));
  }
  for_parts(format, extent, [&](const Part& part, std::int64_t row, std::int64_t column) {
    const unsigned bits = (static_cast<unsigned>(tile[part.byte]) >> part.shift) & part.mask;
    codes[row * stride + column] |= static_cast<std::uint8_t>(bits << part.from);
  });
}

}  // namespace gemwright::formats
