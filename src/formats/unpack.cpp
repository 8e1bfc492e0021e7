// The packed layout back into coded weights.
#include "device/cpu/thread_pool.hpp"
#include "formats/groups.hpp"
#include "formats/packed_header.hpp"
#include "formats/packed_layout.hpp"
#include "formats/tiles.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace gemwright {
namespace formats {

PackedHeader read_header(const void* packed, std::size_t bytes) {
  const auto refuse = [](const std::string& given, const std::string& allowed) {
    throw InvalidArgument("packed", given, allowed);
  };
  PackedHeader header;
  if (packed == nullptr || bytes < sizeof header) {
    refuse(std::to_string(bytes) + " bytes", "a packed weight, which begins with 256 bytes");
  }
  std::memcpy(&header, packed, sizeof header);
  if (header.magic != PackedHeader{}.magic) refuse("other data", "a packed weight");
  if (header.version != kPackedVersion) {
    refuse("version " + std::to_string(header.version),
           "version " + std::to_string(kPackedVersion));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const bool sizes = header.n >= 0 && header.k >= 0 && header.n <= kMost && header.k <= kMost &&
                     (header.k == 0 || header.n <= kMost / header.k);
  if (!sizes) refuse("absurd sizes", "N and K of which N K is at most 2^40");
  return header;
}

WeightFormat format_of(const PackedHeader& header) {
  const auto end = std::find(header.format.begin(), header.format.end(), '\0');
  return parse_weight_format(
      {header.format.data(), static_cast<std::size_t>(end - header.format.begin())});
}

}  // namespace formats

namespace {

using namespace formats;

std::uint32_t load_bits(const std::byte* from, int size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(size));
  return bits;
}

void read_codes(CodedWeight& weight, const PackedLayout& layout, const std::byte* from) {
  auto& pool = cpu::ThreadPool::global();
  weight.codes.resize(static_cast<std::size_t>(weight.n * weight.k));
  pool.run(static_cast<int>(layout.tiles_n), pool.cores(), [&](int tile_row, int) {
    const std::int64_t row = tile_row * kTile;
    for (std::int64_t tile = 0; tile < layout.tiles_k; ++tile) {
      const std::int64_t column = tile * kTile;
      const TileExtent extent{std::min(kTile, weight.n - row), std::min(kTile, weight.k - column)};
      unpack_tile(weight.format,
                  from + layout.codes + (tile_row * layout.tiles_k + tile) * layout.tile_bytes,
                  extent, weight.codes.data() + row * weight.k + column, weight.k);
    }
  });
}

void read_scales(CodedWeight& weight, const PackedLayout& layout, const std::byte* from) {
  const Groups groups{weight.format, weight.n, weight.k};
  const int size = size_bytes(weight.format.scale);
  const int zero_size = weight.format.zero == Zero::integer ? 1 : size;
  const std::int64_t together = groups_together(weight.format, weight.k);
  weight.scales.resize(static_cast<std::size_t>(groups.count()));
  if (weight.format.zero != Zero::symmetric) weight.zeros.resize(weight.scales.size());
  for (std::int64_t row = 0; row < weight.n && weight.k > 0; ++row) {
    for (std::int64_t group = 0; group < groups.of_row(row); ++group) {
      const std::int64_t at =
          row / kTile * layout.groups * kTile + scale_place(together, row % kTile, group);
      const auto to = static_cast<std::size_t>(groups.first(row) + group);
      weight.scales[to] = load_bits(from + layout.scales + at * size, size);
      if (weight.zeros.empty()) continue;
      weight.zeros[to] = load_bits(from + layout.zeros + at * zero_size, zero_size);
    }
  }
}

void read_rest(CodedWeight& weight, const PackedLayout& layout, const std::byte* from) {
  const std::size_t entries = std::size_t{1} << weight.format.bits;
  if (weight.format.codes == Codes::learned) weight.table.resize(entries);
  if (weight.format.codes == Codes::learned_per_row) {
    weight.table.resize(static_cast<std::size_t>(weight.n) * entries);
  }
  if (!weight.table.empty()) {
    std::memcpy(weight.table.data(), from + layout.table, weight.table.size() * 4);
  }
  if (weight.format.ordered) weight.order.resize(static_cast<std::size_t>(weight.k));
  if (!weight.order.empty()) {
    std::memcpy(weight.order.data(), from + layout.order, weight.order.size() * 4);
  }
}

}  // namespace

CodedWeight unpack_weights(const void* packed, std::size_t bytes) {
  const PackedHeader header = read_header(packed, bytes);
  CodedWeight weight;
  weight.format = format_of(header);
  weight.n = header.n;
  weight.k = header.k;
  weight.global_scale = header.global_scale;
  const PackedLayout layout = packed_layout(weight.format, weight.n, weight.k);
  if (static_cast<std::int64_t>(bytes) < layout.bytes) {
    throw InvalidArgument("packed", std::to_string(bytes) + " bytes",
                          std::to_string(layout.bytes) + ", as its header says");
  }
  const auto* from = static_cast<const std::byte*>(packed);
  read_codes(weight, layout, from);
  read_scales(weight, layout, from);
  read_rest(weight, layout, from);
  weight.check();
  return weight;
}

}  // namespace gemwright
