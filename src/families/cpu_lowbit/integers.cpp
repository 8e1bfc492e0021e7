#include "families/cpu_lowbit/integers.hpp"

#include "families/cpu_lowbit/rounded.hpp"
#include "families/cpu_lowbit/tile_rows.hpp"
#include "families/cpu_lowbit/weight.hpp"
#include "families/cpu_packed/kernel.hpp"

#include <algorithm>
#include <array>

namespace gemwright::cpu_lowbit {
namespace {

using formats::ceil_div;
using formats::kTile;

class Integers {
 public:
  Integers(const Problem& problem, const Operands& operands, const IntegerKernels& kernels,
           const cpu_packed::KernelTable& epilogue, int threads, std::byte* workspace)
      : p_(problem),
        x_(operands),
        threads_(threads),
        kernels_(kernels),
        epilogue_(epilogue),
        rows_(*problem.weight, problem.k),
        scales_(reinterpret_cast<float*>(workspace)),
        packed_a_(workspace + row_scale_bytes(problem)),
        rounded_(reinterpret_cast<float*>(packed_a_ + problem.m * rows_.bytes)),
        weight_(weight_of(problem, operands)) {
    p_.alpha *= global_scale_of(weight_);
  }

  void all() {
    for (std::int64_t batch = 0; batch < p_.batch; ++batch) {
      cpu::ThreadPool::global().run(
          static_cast<int>(p_.m), p_.m > 1 ? threads_ : 1,
          [&](int row, int participant) { round(batch, row, rounded_ + participant * p_.k); });
      for_tile_rows(weight_.layout.tiles_n, p_.m, kRowsOfBlock, Keeps::tiles, threads_,
                    [&](std::int64_t tile_row, std::int64_t row, std::int64_t rows) {
                      multiply(batch, tile_row, row, rows);
                    });
    }
  }

 private:
  void round(std::int64_t batch, std::int64_t row, float* values) const {
    load_row(p_, weight_, x_.a, batch, row, values);
    scales_[batch * p_.m + row] =
        kernels_.round(values, p_.k, rows_, packed_a_ + row * rows_.bytes);
  }

  void multiply(std::int64_t batch, std::int64_t tile_row, std::int64_t row,
                std::int64_t rows) const {
    alignas(64) std::array<float, kRowsOfBlock * kTile> sums;
    std::fill_n(sums.data(), rows * kTile, 0.0F);
    CodeBlock block;
    for (std::int64_t tile = 0; tile < weight_.layout.tiles_k; tile += kBlockTiles) {
      const std::int64_t end = std::min(tile + kBlockTiles, weight_.layout.tiles_k);
      kernels_.decode(weight_, tile_row, tile, end, block);
      // As evenly as can be: one row alone is the least use of a block.
      const std::int64_t parts = ceil_div(rows, kIntegerRows);
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t first = cpu_packed::part(rows, parts, part);
        const std::byte* a = packed_a_ + (row + first) * rows_.bytes;
        kernels_.multiply(
            {.block = &block,
             .a = reinterpret_cast<const std::int8_t*>(a) + tile * kTile,
             .minus_sums = reinterpret_cast<const std::int32_t*>(a + rows_.columns) +
                           tile * kTile / rows_.segment,
             .row_bytes = rows_.bytes,
             .rows = static_cast<int>(cpu_packed::part(rows, parts, part + 1) - first),
             .sums = sums.data() + first * kTile});
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
  IntegerRow rows_;
  float* scales_;        // of all rows
  std::byte* packed_a_;  // an entry's rows
  float* rounded_;       // a row for each thread
  Weight weight_;
};

}  // namespace

std::size_t integers_bytes(const Problem& problem, int threads) {
  const std::int64_t rounded = threads * problem.k * std::int64_t{sizeof(float)};
  return row_scale_bytes(problem) +
         static_cast<std::size_t>(problem.m * IntegerRow(*problem.weight, problem.k).bytes +
                                  rounded);
}

void run_integers(const Problem& problem, const Operands& operands, const IntegerKernels& kernels,
                  cpu_packed::Isa isa, int threads, std::byte* workspace) {
  Integers(problem, operands, kernels, *cpu_packed::kernels(isa), threads, workspace).all();
}

}  // namespace gemwright::cpu_lowbit
