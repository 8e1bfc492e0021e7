// A packed weight written piece by piece.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gemwright::formats {

/// Bytes of a packed weight from an offset on.
struct Piece {
  std::int64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// Packs rows [first, first + slice.n) of a weight of `n` rows. Together with those of all other
/// slices and the header, on zeros, the pieces are what pack_weights writes for the whole. Slices
/// begin at multiples of Quantiser::slice_rows(); the pieces are valid until the next call.
class SlicePacker {
 public:
  explicit SlicePacker(std::int64_t n) : n_(n) {}
  std::vector<Piece> pack(const CodedWeight& slice, std::int64_t first);

 private:
  std::int64_t n_;
  std::vector<std::byte> storage_;
  std::vector<std::byte> header_;
};

}  // namespace gemwright::formats
