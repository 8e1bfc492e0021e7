#include "families/cpu_lowbit/streaming.hpp"

#include "families/cpu_lowbit/rounded.hpp"
#include "families/cpu_lowbit/tile_rows.hpp"
#include "families/cpu_lowbit/weight.hpp"
#include "families/cpu_packed/kernel.hpp"

#include <array>

namespace gemwright::cpu_lowbit {
namespace {

using formats::ceil_div;
using formats::kTile;

std::int64_t packed_row_bytes(const Problem& problem, const StreamKernels& kernels) {
  if (kernels.round != nullptr) return IntegerRow(*problem.weight, problem.k).bytes;
  return ceil_div(problem.k, kTile) * kTile * kernels.a_bytes;
}

// Of all rows of an entry.
std::int64_t packed_bytes(const Problem& problem, const StreamKernels& kernels) {
  if (kernels.in_blocks) return AmxBlocks(problem.m, problem.k).bytes;
  return problem.m * packed_row_bytes(problem, kernels);
}

class Streaming {
 public:
  Streaming(const Problem& problem, const Operands& operands, const StreamKernels& kernels,
            int threads, std::byte* workspace)
      : p_(problem),
        x_(operands),
        threads_(threads),
        kernels_(kernels),
        blocks_(problem.m, problem.k),
        row_bytes_(kernels.in_blocks ? blocks_.tile_bytes : packed_row_bytes(problem, kernels)),
        scales_(reinterpret_cast<float*>(workspace)),
        packed_a_(workspace + row_scale_bytes(problem)),
        rounded_(reinterpret_cast<float*>(packed_a_ + packed_bytes(problem, kernels))),
        weight_(weight_of(problem, operands)),
        epilogue_(*cpu_packed::kernels(cpu_packed::Isa::avx512)) {
    p_.alpha *= global_scale_of(weight_);
  }

  void all() {
    for (std::int64_t batch = 0; batch < p_.batch; ++batch) {
      cpu::ThreadPool::global().run(
          static_cast<int>(p_.m), p_.m > 1 ? threads_ : 1,
          [&](int row, int participant) { pack(batch, row, rounded_ + participant * p_.k); });
      const Keeps keeps = kernels_.in_blocks ? Keeps::rows : Keeps::tiles;
      for_tile_rows(weight_.layout.tiles_n, p_.m, kernels_.most_rows, keeps, threads_,
                    [&](std::int64_t tile_row, std::int64_t row, std::int64_t rows) {
                      multiply(batch, tile_row, row, static_cast<int>(rows));
                    });
    }
  }

 private:
  // `values` is room for a row of numbers.
  void pack(std::int64_t batch, std::int64_t row, float* values) const {
    std::byte* out = packed_a_ + place_of(row);
    if (kernels_.round != nullptr) {
      load_row(p_, weight_, x_.a, batch, row, values);
      scales_[batch * p_.m + row] =
          kernels_.round(values, p_.k, IntegerRow(weight_.format, p_.k), out);
    } else if (rounds(p_)) {
      scales_[batch * p_.m + row] = round_row(p_, weight_, x_.a, batch, row, values);
      kernels_.pack_row(
          {.weight = &weight_, .a = values, .out = out, .tile_bytes = blocks_.tile_bytes});
    } else {
      const std::int64_t at = batch * p_.a.batch_stride + row * p_.a.row_stride;
      kernels_.pack_row({.weight = &weight_,
                         .a = static_cast<const std::byte*>(x_.a) + at * size_bytes(p_.a.type),
                         .type = p_.a.type,
                         .stride = p_.a.col_stride,
                         .ordered = weight_.format.ordered,
                         .out = out,
                         .tile_bytes = blocks_.tile_bytes});
    }
  }

  std::int64_t place_of(std::int64_t row) const {
    if (p_.k == 0) return 0;  // nothing is packed, and there may be nowhere to
    return kernels_.in_blocks ? AmxBlocks::place(row) : row * row_bytes_;
  }

  void multiply(std::int64_t batch, std::int64_t tile_row, std::int64_t row, int rows) const {
    alignas(64) std::array<float, kMostAmxRows * kTile> sums;  // of the kernel that takes most rows
    kernels_.multiply({.weight = &weight_,
                       .tile_row = tile_row,
                       .a = packed_a_ + place_of(row),
                       .row_bytes = row_bytes_,
                       .rows = rows,
                       .sums = sums.data()});
    cpu_packed::store_sums(epilogue_, p_, x_,
                           {.batch = batch,
                            .row = row,
                            .rows = rows,
                            .column = tile_row * kTile,
                            .columns = kTile,
                            .sums = sums.data(),
                            .stride = kTile,
                            .row_scales = rounds(p_) ? scales_ : nullptr});
  }

  Problem p_;
  const Operands& x_;
  int threads_;
  const StreamKernels& kernels_;
  AmxBlocks blocks_;
  std::int64_t row_bytes_;  // or, in blocks, those of a tile of K
  float* scales_;           // of all rows
  std::byte* packed_a_;     // an entry's rows
  float* rounded_;          // a row for each thread
  Weight weight_;
  const cpu_packed::KernelTable& epilogue_;
};

}  // namespace

std::size_t streaming_bytes(const Problem& problem, const StreamKernels& kernels, int threads) {
  const std::int64_t rounded =
      rounds(problem) ? threads * problem.k * std::int64_t{sizeof(float)} : 0;
  return row_scale_bytes(problem) +
         static_cast<std::size_t>(packed_bytes(problem, kernels) + rounded);
}

void run_streaming(const Problem& problem, const Operands& operands, const StreamKernels& kernels,
                   int threads, std::byte* workspace) {
  Streaming(problem, operands, kernels, threads, workspace).all();
}

}  // namespace gemwright::cpu_lowbit
