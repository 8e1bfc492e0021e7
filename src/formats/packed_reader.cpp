#include "formats/packed_reader.hpp"

#include "formats/codebooks.hpp"
#include "numeric/convert.hpp"

#include <cstring>

namespace gemwright::formats {
namespace {

double rounded(float value, DataType type) {
  std::uint32_t bits = 0;
  numeric::store(type, &bits, 0, static_cast<double>(value));
  return numeric::load(type, &bits, 0);
}

std::uint32_t load(const std::byte* from, int size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(size));
  return bits;
}

float load_float(const std::byte* from) {
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

PackedReader::PackedReader(const void* packed, const WeightFormat& format, std::int64_t n,
                           std::int64_t k, DataType entries)
    : packed_(static_cast<const std::byte*>(packed)),
      format_(format),
      k_(k),
      layout_(packed_layout(format, n, k)),
      entries_(entries) {
  if (format.global_scale) {
    global_scale_ = load_float(packed_ + offsetof(PackedHeader, global_scale));
  }
  for (int code = 0; code < 1 << format.bits; ++code) {
    values_[static_cast<std::size_t>(code)] =
        has_codebook(format) ? entry(0, static_cast<std::uint32_t>(code))
                             : code_value(format, static_cast<std::uint8_t>(code));
  }
}

double PackedReader::entry(std::int64_t row, std::uint32_t code) const {
  const std::int64_t at = format_.codes == Codes::learned_per_row ? row << format_.bits : 0;
  return rounded(load_float(packed_ + layout_.table + (at + code) * 4), entries_);
}

std::uint32_t PackedReader::code(std::int64_t row, std::int64_t column) const {
  const std::byte* tile = packed_ + layout_.codes +
                          (row / kTile * layout_.tiles_k + column / kTile) * layout_.tile_bytes;
  const auto part = [&](int bits, std::int64_t offset) {
    const CodePlace place = code_place(bits, paired(format_), row % kTile, column % kTile);
    return (load(tile + offset + place.byte, 1) >> place.shift) & ((1U << bits) - 1);
  };
  return format_.bits == 3 ? part(2, 0) | part(1, 1024) << 2 : part(format_.bits, 0);
}

double PackedReader::value(std::int64_t row, std::int64_t column) const {
  const std::uint32_t bits = code(row, column);
  const double number = format_.codes == Codes::learned_per_row ? entry(row, bits) : values_[bits];
  const std::int64_t group = (column + phase(format_, row, k_)) / group_columns(format_, k_);
  const std::int64_t at = row / kTile * layout_.groups * kTile +
                          scale_place(groups_together(format_, k_), row % kTile, group);
  const int size = size_bytes(format_.scale);
  const double scale = scale_value(format_.scale, load(packed_ + layout_.scales + at * size, size));
  double zero = 0;
  if (format_.zero == Zero::integer) zero = load(packed_ + layout_.zeros + at, 1);
  if (format_.zero == Zero::real) {
    zero = scale_value(format_.scale, load(packed_ + layout_.zeros + at * size, size));
  }
  return (number - zero) * (scale * static_cast<double>(global_scale_));
}

std::int64_t PackedReader::column_of(std::int64_t packed_column) const {
  if (!format_.ordered) return packed_column;
  return load(packed_ + layout_.order + packed_column * 4, 4);
}

}  // namespace gemwright::formats
