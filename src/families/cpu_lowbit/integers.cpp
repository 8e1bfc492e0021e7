#include "families/cpu_lowbit/integers.hpp"

#include "families/cpu_lowbit/rounded.hpp"
#include "families/cpu_lowbit/tile_rows.hpp"
#include "families/cpu_lowbit/weight.hpp"
#include "families/cpu_packed/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gemwright::cpu_lowbit {
namespace {

using formats::ceil_div;
using formats::kTile;

// Rows of A that a block of decoded codes serves: their sums stay in the L2 cache beside it.
constexpr std::int64_t kRowsAtOnce = 32 * kIntegerRows;

// A packed row: the codes of all tiles, then minus the sum of those of each segment.
struct RowLayout {
  std::int64_t columns = 0;  // of whole tiles
  std::int64_t segment = 0;
  std::int64_t bytes = 0;

  explicit RowLayout(const Problem& p)
      : columns(ceil_div(p.k, kTile) * kTile), segment(segment_columns(*p.weight, p.k)) {
    bytes = columns + ceil_div(columns, segment) * std::int64_t{sizeof(std::int32_t)};
  }
};

// Codes as numbers to a packed row.
void pack_row(const float* codes, std::int64_t k, const RowLayout& layout, std::byte* out) {
  auto* packed = reinterpret_cast<std::int8_t*>(out);
  auto* minus_sums = reinterpret_cast<std::int32_t*>(out + layout.columns);
  std::fill_n(minus_sums, ceil_div(layout.columns, layout.segment), 0);
  for (std::int64_t first = 0; first < layout.columns; first += kTile) {
    std::array<std::int8_t, kTile> tile{};
    const std::int64_t count = std::min(kTile, k - first);
    for (std::int64_t i = 0; i < count; ++i) {
      tile[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(codes[first + i]);
    }
    for (std::int64_t step = 0; step < kTile; step += 16) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < 16; ++i) sum += tile[static_cast<std::size_t>(step + i)];
      minus_sums[(first + step) / layout.segment] -= sum;
    }
    // Neighbours stay together.
    for (std::int64_t i = 0; i < kTile; i += 2) {
      std::memcpy(packed + first + i, &tile[static_cast<std::size_t>(integer_column(i / 4, i % 4))],
                  2);
    }
  }
}

class Integers {
 public:
  Integers(const Problem& problem, const Operands& operands, const IntegerKernels& kernels,
           const cpu_packed::KernelTable& epilogue, int threads, std::byte* workspace)
      : p_(problem),
        x_(operands),
        threads_(threads),
        kernels_(kernels),
        epilogue_(epilogue),
        rows_(problem),
        scales_(reinterpret_cast<float*>(workspace)),
        packed_a_(workspace + row_scale_bytes(problem)),
        rounded_(reinterpret_cast<float*>(packed_a_ + problem.m * rows_.bytes)),
        weight_(weight_of(problem, operands)) {
    p_.alpha *= global_scale_of(weight_);
  }

  void all() {
    for (std::int64_t batch = 0; batch < p_.batch; ++batch) {
      cpu::ThreadPool::global().run(
          static_cast<int>(p_.m), p_.m > 1 ? threads_ : 1, [&](int row, int participant) {
            float* codes = rounded_ + participant * p_.k;
            scales_[batch * p_.m + row] = round_row(p_, weight_, x_.a, batch, row, codes);
            pack_row(codes, p_.k, rows_, packed_a_ + row * rows_.bytes);
          });
      for_tile_rows(weight_.layout.tiles_n, p_.m, kRowsAtOnce, threads_,
                    [&](std::int64_t tile_row, std::int64_t row, std::int64_t rows) {
                      multiply(batch, tile_row, row, rows);
                    });
    }
  }

 private:
  void multiply(std::int64_t batch, std::int64_t tile_row, std::int64_t row,
                std::int64_t rows) const {
    alignas(64) std::array<float, kRowsAtOnce * kTile> sums;
    std::fill_n(sums.data(), rows * kTile, 0.0F);
    CodeBlock block;
    for (std::int64_t tile = 0; tile < weight_.layout.tiles_k; tile += kBlockTiles) {
      const std::int64_t end = std::min(tile + kBlockTiles, weight_.layout.tiles_k);
      kernels_.decode(weight_, tile_row, tile, end, block);
      for (std::int64_t i = 0; i < rows; i += kIntegerRows) {
        const std::byte* a = packed_a_ + (row + i) * rows_.bytes;
        kernels_.multiply({.block = &block,
                           .a = reinterpret_cast<const std::int8_t*>(a) + tile * kTile,
                           .row_bytes = rows_.bytes,
                           .minus_sums = reinterpret_cast<const std::int32_t*>(a + rows_.columns) +
                                         tile * kTile / rows_.segment,
                           .rows = static_cast<int>(std::min<std::int64_t>(kIntegerRows, rows - i)),
                           .sums = sums.data() + i * kTile});
      }
    }
    cpu_packed::store_sums(epilogue_, p_, x_,
                           {.batch = batch,
                            .row = row,
                            .rows = rows,
                            .column = tile_row * kTile,
                            .columns = kTile,
                            .sums = sums.data(),
                            .stride = kTile,
                            .row_scales = scales_});
  }

  Problem p_;
  const Operands& x_;
  int threads_;
  const IntegerKernels& kernels_;
  const cpu_packed::KernelTable& epilogue_;
  RowLayout rows_;
  float* scales_;        // of all rows
  std::byte* packed_a_;  // an entry's rows
  float* rounded_;       // a row for each thread
  Weight weight_;
};

}  // namespace

std::size_t integers_bytes(const Problem& problem, int threads) {
  const std::int64_t rounded = threads * problem.k * std::int64_t{sizeof(float)};
  return row_scale_bytes(problem) +
         static_cast<std::size_t>(problem.m * RowLayout(problem).bytes + rounded);
}

void run_integers(const Problem& problem, const Operands& operands, const IntegerKernels& kernels,
                  cpu_packed::Isa isa, int threads, std::byte* workspace) {
  Integers(problem, operands, kernels, *cpu_packed::kernels(isa), threads, workspace).all();
}

}  // namespace gemwright::cpu_lowbit
