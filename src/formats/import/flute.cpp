#include "formats/import/column_groups.hpp"
#include "formats/import/import.hpp"
#include <gemwright/errors.hpp>

#include <array>

namespace gemwright::formats {
namespace {

// FLUTE's packed weight is [N/16 * bits][K] words of 16 bits. Two neighbours of K and `columns`
// rows of W that are `tile` apart make one unit, whose words stand in the unit's two columns of K.
class Unit {
 public:
  Unit(const RawTensor& words, std::int64_t n, int bits, int tile)
      : words_(words), k_(words.shape[1]), n_(n), bits_(bits), tile_(tile) {}

  std::uint8_t code(std::int64_t n, std::int64_t k) const {
    const std::int64_t columns = bits_ == 3 ? 16 : 16 / bits_;
    const std::int64_t chunk = n / (tile_ * columns);
    const std::int64_t column = n % (tile_ * columns) / tile_;
    const std::int64_t place = chunk * tile_ + n % tile_;
    return bits_ == 3 ? three_bits(chunk, n % tile_, column, k) : plain(place, column, columns, k);
  }

 private:
  std::uint32_t word(std::int64_t row, std::int64_t k) const { return words_.bits(row * k_ + k); }

  // 2 and 4 bits: half of the columns in either word, the odd k first.
  std::uint8_t plain(std::int64_t place, std::int64_t column, std::int64_t columns,
                     std::int64_t k) const {
    const std::int64_t half = column / (columns / 2);
    const std::int64_t slot = 2 * (column % (columns / 2)) + 1 - k % 2;
    const std::uint32_t value = word(place, k / 2 * 2 + half);
    return static_cast<std::uint8_t>((value >> (bits_ * slot)) & ((1U << bits_) - 1));
  }

  // 32 codes of 3 bits are one stream of 96, cut into 16, 14, 16, 14, 16, 14 and three times 2 that
  // fill up the words of 14. The columns are in an order that goes by threes.
  std::uint8_t three_bits(std::int64_t chunk, std::int64_t place, std::int64_t column,
                          std::int64_t k) const {
    constexpr std::array<int, 16> kSlot{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, 15};
    const std::int64_t slot = 2 * kSlot[static_cast<std::size_t>(column)] + 1 - k % 2;
    std::uint32_t code = 0;
    for (int i = 0; i < 3; ++i) {
      const auto bit = static_cast<int>(3 * slot) + i;
      const int part = bit < 90 ? bit / 30 : (bit - 90) / 2;
      const int half = bit < 90 ? bit % 30 / 16 : 1;
      const int at = bit < 90 ? bit % 30 % 16 : 14 + bit % 2;
      const std::int64_t row =
          part == 0 ? chunk * tile_ + place : n_ / 16 + (2 * chunk + part - 1) * tile_ + place;
      code |= ((word(row, k / 2 * 2 + half) >> at) & 1U) << i;
    }
    return static_cast<std::uint8_t>(code);
  }

  const RawTensor& words_;
  std::int64_t k_;
  std::int64_t n_;
  int bits_;
  std::int64_t tile_;
};

}  // namespace

CodedWeight import_flute(const Parts& parts, const ImportOptions& options) {
  const RawTensor& words = parts.get("weight", "I16", 2);
  const RawTensor& scales = parts.numbers("scales", 2);
  const RawTensor& table = parts.numbers("tables", 1);
  CodedWeight weight;
  weight.n = scales.shape[0];
  weight.k = words.shape[1];
  const std::int64_t bits = weight.n > 0 ? words.shape[0] * 16 / weight.n : 0;
  if (bits < 2 || bits > 4) {
    throw InvalidArgument(words.name + ".shape", std::to_string(bits) + " bits", "2, 3 or 4");
  }
  weight.format.codes = Codes::learned;
  weight.format.bits = static_cast<std::int32_t>(bits);
  weight.format.scale = scale_type_of(scales);
  require_shape(table, {std::int64_t{1} << bits});
  const int tile = bits == 3 ? 32 : options.flute_tile;
  const std::int64_t unit = tile * (bits == 3 ? 16 : 16 / bits);
  if ((tile != 32 && tile != 64) || weight.n % unit != 0 || weight.k % 2 != 0) {
    throw InvalidArgument(
        words.name + ", flute_tile", std::to_string(tile),
        "tileP of the template that packed it (32 or 64), which divides N/16 bits");
  }
  set_groups(weight.format, weight.k, scales.shape[1], options, scales.name);
  weight.format.check();
  const Unit packed(words, weight.n, static_cast<int>(bits), tile);
  weight.codes.reserve(static_cast<std::size_t>(weight.n * weight.k));
  for (std::int64_t row = 0; row < weight.n; ++row) {
    for (std::int64_t column = 0; column < weight.k; ++column) {
      weight.codes.push_back(packed.code(row, column));
    }
  }
  weight.scales = scale_bits_of(scales);
  for (std::int64_t i = 0; i < table.elements(); ++i) weight.table.push_back(table.number(i));
  return weight;
}

}  // namespace gemwright::formats
