// Coded weights into the packed layout.
#include "device/cpu/thread_pool.hpp"
#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
#include "formats/packed_layout.hpp"
#include "formats/tiles.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace formats;

void store_bits(std::byte* to, std::uint32_t bits, int size) {
  std::memcpy(to, &bits, static_cast<std::size_t>(size));  // little endian
}

class Packer {
 public:
  Packer(const CodedWeight& weight, std::byte* out)
      : weight_(weight),
        groups_{weight.format, weight.n, weight.k},
        layout_(packed_layout(weight.format, weight.n, weight.k)),
        out_(out) {}

  void run() {
    write_header();
    const std::int64_t padded =
        layout_.scales - layout_.codes - layout_.tiles_n * layout_.tiles_k * layout_.tile_bytes;
    std::memset(out_ + layout_.scales - padded, 0, static_cast<std::size_t>(padded));
    std::memset(out_ + layout_.scales, 0, static_cast<std::size_t>(layout_.bytes - layout_.scales));
    auto& pool = cpu::ThreadPool::global();
    pool.run(static_cast<int>(layout_.tiles_n), pool.cores(), [this](int tile_row, int) {
      write_codes(tile_row);
      write_scales(tile_row);
    });
    write_table();
    write_order();
  }

 private:
  void write_header() {
    PackedHeader header;
    header.global_scale = weight_.global_scale;
    header.n = weight_.n;
    header.k = weight_.k;
    const std::string format = key(weight_.format);
    std::copy(format.begin(), format.end(), header.format.begin());
    std::memcpy(out_, &header, sizeof header);
  }

  void write_codes(std::int64_t tile_row) {
    const std::int64_t row = tile_row * kTile;
    for (std::int64_t tile = 0; tile < layout_.tiles_k; ++tile) {
      const std::int64_t column = tile * kTile;
      const TileExtent extent{std::min(kTile, weight_.n - row),
                              std::min(kTile, weight_.k - column)};
      pack_tile(weight_.format, weight_.codes.data() + row * weight_.k + column, weight_.k, extent,
                out_ + layout_.codes + (tile_row * layout_.tiles_k + tile) * layout_.tile_bytes);
    }
  }

  void write_scales(std::int64_t tile_row) {
    const int size = size_bytes(weight_.format.scale);
    const int zero_size = weight_.format.zero == Zero::integer ? 1 : size;
    const std::int64_t rows = std::min(kTile, weight_.n - tile_row * kTile);
    const std::int64_t together = groups_together(weight_.format, weight_.k);
    for (std::int64_t row = 0; row < rows && weight_.k > 0; ++row) {
      const std::int64_t first = groups_.first(tile_row * kTile + row);
      const std::int64_t count = groups_.of_row(tile_row * kTile + row);
      for (std::int64_t group = 0; group < count; ++group) {
        const std::int64_t at =
            tile_row * layout_.groups * kTile + scale_place(together, row, group);
        const auto from = static_cast<std::size_t>(first + group);
        store_bits(out_ + layout_.scales + at * size, weight_.scales[from], size);
        if (weight_.zeros.empty()) continue;
        store_bits(out_ + layout_.zeros + at * zero_size, weight_.zeros[from], zero_size);
      }
    }
  }

  void write_table() {
    const auto fixed = fixed_codebook(weight_.format);
    if (!fixed.empty()) std::memcpy(out_ + layout_.table, fixed.data(), fixed.size_bytes());
    if (!weight_.table.empty()) {
      std::memcpy(out_ + layout_.table, weight_.table.data(), weight_.table.size() * 4);
    }
  }

  void write_order() {
    if (weight_.order.empty()) return;
    std::memcpy(out_ + layout_.order, weight_.order.data(), weight_.order.size() * 4);
    const std::size_t padding = static_cast<std::size_t>(layout_.tiles_k * kTile - weight_.k) * 4;
    std::memset(out_ + layout_.order + weight_.k * 4, 0xFF, padding);
  }

  const CodedWeight& weight_;
  Groups groups_;
  PackedLayout layout_;
  std::byte* out_;
};

}  // namespace

std::size_t packed_weights_bytes(const WeightFormat& format, std::int64_t n, std::int64_t k) {
  format.check();
  return static_cast<std::size_t>(packed_layout(format, n, k).bytes);
}

void pack_weights(const CodedWeight& weight, void* out) {
  weight.check();
  if (out == nullptr || reinterpret_cast<std::uintptr_t>(out) % 64 != 0) {
    throw InvalidArgument("out", fmt::format("{}", out), "a multiple of 64 bytes, not null");
  }
  Packer(weight, static_cast<std::byte*>(out)).run();
}

}  // namespace gemwright
