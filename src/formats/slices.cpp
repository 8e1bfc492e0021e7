#include "formats/slices.hpp"

#include <cstring>

namespace gemwright::formats {

std::vector<Piece> SlicePacker::pack(const CodedWeight& slice, std::int64_t first) {
  const PackedLayout part = packed_layout(slice.format, slice.n, slice.k);
  const PackedLayout whole = packed_layout(slice.format, n_, slice.k);
  storage_.resize(static_cast<std::size_t>(part.bytes) + 64);
  std::byte* packed =
      storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) % 64;
  pack_weights(slice, packed);

  header_.assign(packed, packed + sizeof(PackedHeader));
  std::memcpy(header_.data() + offsetof(PackedHeader, n), &n_, sizeof n_);
  std::vector<Piece> pieces{{0, header_}};
  // Sections are by rows of tiles, of the same size in both; padding stays zero.
  const std::int64_t tile_row = first / kTile;
  const auto add = [&](std::int64_t from, std::int64_t from_end, std::int64_t to,
                       std::int64_t bytes_a_row) {
    const std::int64_t bytes = bytes_a_row * part.tiles_n;
    if (bytes == 0 || from == from_end) return;
    pieces.push_back(
        {to + tile_row * bytes_a_row, {packed + from, static_cast<std::size_t>(bytes)}});
  };
  const int scale = size_bytes(slice.format.scale);
  const int zero = slice.format.zero == Zero::integer ? 1 : scale;
  const std::int64_t scales = part.groups * kTile;
  const std::int64_t entries = std::int64_t{4} << slice.format.bits;
  add(part.codes, part.scales, whole.codes, part.tiles_k * part.tile_bytes);
  add(part.scales, part.zeros, whole.scales, scales * scale);
  add(part.zeros, part.table, whole.zeros, scales * zero);
  if (slice.format.codes == Codes::learned_per_row) {
    add(part.table, part.order, whole.table, kTile * entries);
  } else if (part.order > part.table) {
    pieces.push_back({whole.table, {packed + part.table, static_cast<std::size_t>(entries)}});
  }
  return pieces;
}

}  // namespace gemwright::formats
