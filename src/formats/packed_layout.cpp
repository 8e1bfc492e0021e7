#include "formats/packed_layout.hpp"

namespace gemwright::formats {
namespace {

std::int64_t groups_of(const WeightFormat& format, std::int64_t tiles_k, std::int64_t k) {
  switch (format.grouping) {
    case Grouping::row:
    case Grouping::tensor:
      return 1;
    case Grouping::flat:
      // Blocks begin anywhere in a row unless they divide it.
      if (k % format.group != 0) return ceil_div(tiles_k * kTile + format.group - 1, format.group);
      [[fallthrough]];
    case Grouping::along_k:
    case Grouping::block:
      return ceil_div(tiles_k * kTile, format.group);
  }
  return 0;
}

std::int64_t zero_bytes(const WeightFormat& format) {
  if (format.zero == Zero::symmetric) return 0;
  return format.zero == Zero::integer ? 1 : size_bytes(format.scale);
}

std::int64_t table_entries(const WeightFormat& format, std::int64_t tiles_n) {
  if (!has_codebook(format)) return 0;
  const std::int64_t entries = std::int64_t{1} << format.bits;
  return format.codes == Codes::learned_per_row ? tiles_n * kTile * entries : entries;
}

}  // namespace

PackedLayout packed_layout(const WeightFormat& format, std::int64_t n, std::int64_t k) {
  PackedLayout layout;
  layout.tiles_n = ceil_div(n, kTile);
  layout.tiles_k = ceil_div(k, kTile);
  layout.groups = groups_of(format, layout.tiles_k, k);
  layout.tile_bytes = kTile * kTile / 8 * format.bits;

  std::int64_t at = sizeof(PackedHeader);
  const auto section = [&at](std::int64_t bytes) {
    const std::int64_t begin = at;
    at = ceil_div(at + bytes, kSectionAlignment) * kSectionAlignment;
    return begin;
  };
  const std::int64_t scales = layout.tiles_n * layout.groups * kTile;
  layout.codes = section(layout.tiles_n * layout.tiles_k * layout.tile_bytes);
  layout.scales = section(scales * size_bytes(format.scale));
  layout.zeros = section(scales * zero_bytes(format));
  layout.table = section(table_entries(format, layout.tiles_n) * 4);
  layout.order = section(format.ordered ? layout.tiles_k * kTile * 4 : 0);
  layout.bytes = at;
  return layout;
}

}  // namespace gemwright::formats
