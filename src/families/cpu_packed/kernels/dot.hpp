// Dot products of a few rows of A with several columns of B that are contiguous along K: every
// weight is read once, straight from where it lies.
#pragma once

#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

template <class Isa, Loader kLoader, int kRows, int kColumns>
struct Dot {
  using V = typename Isa::V;
  static constexpr bool kPairs = kLoader == Loader::bf16_pairs;
  static constexpr int kElement = kLoader == Loader::f32 ? 4 : 2;
  // Elements of K that one step covers.
  static constexpr int kDepth = Isa::kLanes * (kPairs || kLoader == Loader::bf16_dot ? 2 : 1);
  static constexpr int kStepBytes = kDepth * kElement;
  static constexpr int kAStepBytes = kLoader == Loader::bf16_dot ? kDepth * 2 : kDepth * 4;

  [[gnu::always_inline]] static void step(V (&acc)[kRows][kColumns], const DotArgs& args,
                                          const char* a, const char* b,
                                          std::ptrdiff_t column_bytes) {
    V low[kColumns];
    V high[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const char* address = b + c * column_bytes;
      if constexpr (kLoader == Loader::f32 || kLoader == Loader::bf16_dot) {
        low[c] = Isa::load(address);
        if constexpr (kRows > 1) Isa::keep(low[c]);
      }
      if constexpr (kLoader == Loader::f16_rows) low[c] = Isa::load_f16(address);
      if constexpr (kPairs) Isa::load_bf16_pairs(address, low[c], high[c]);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const char* source = a + row * args.a_row_bytes;
      V first = Isa::load(source);
      if constexpr (kColumns > 1) Isa::keep(first);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        if constexpr (kLoader == Loader::bf16_dot) {
          acc[row][c] = Isa::dot(acc[row][c], first, low[c]);
        } else {
          acc[row][c] = Isa::fma(first, low[c], acc[row][c]);
        }
      }
      if constexpr (kPairs) {
        V second = Isa::load(source + Isa::kLanes * 4);
        if constexpr (kColumns > 1) Isa::keep(second);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) acc[row][c] = Isa::fma(second, high[c], acc[row][c]);
      }
    }
  }

  static void run(const DotArgs& args) {
    V acc[kRows][kColumns];
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) acc[row][c] = Isa::zero();
    }
    const char* a = static_cast<const char*>(args.a);
    const char* b = static_cast<const char*>(args.b);
    std::int64_t left = args.k;
    // The last kDotAhead bytes of the columns prefetch what the next call reads first.
    constexpr std::int64_t kTail = kDotAhead / kElement;
    const char* ahead = args.ahead;
    const std::ptrdiff_t advance = kStepBytes / args.ahead_parts;
    for (int phase = 0; phase < 2; ++phase) {
      const std::int64_t until = phase == 0 ? kTail : 0;
      for (; left - kDepth >= until; left -= kDepth) {
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) {
          __builtin_prefetch(ahead + c * args.b_column_bytes, 0, 2);
        }
        step(acc, args, a, b, args.b_column_bytes);
        a += kAStepBytes;
        b += kStepBytes;
        ahead += advance;
      }
      if (args.next != nullptr) ahead = args.next;
    }
    if (left > 0) {
      alignas(64) char rest[kColumns][kStepBytes] = {};
      for (int c = 0; c < kColumns; ++c) {
        __builtin_memcpy(rest[c], b + c * args.b_column_bytes,
                         static_cast<std::size_t>(left) * kElement);
      }
      step(acc, args, a, rest[0], kStepBytes);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        args.tile[row * args.tile_stride + c] = Isa::reduce(acc[row][c]);
      }
    }
  }
};

// The widest tile for kRows rows, and single columns for the rest.
template <class Isa, Loader kLoader, int kRows, int kColumns>
constexpr void add_dot(KernelTable& table) {
  constexpr int loader = static_cast<int>(kLoader);
  table.dot_columns[loader][kRows] = kColumns;
  table.dot[loader][kRows][kColumns] = &Dot<Isa, kLoader, kRows, kColumns>::run;
  table.dot[loader][kRows][1] = &Dot<Isa, kLoader, kRows, 1>::run;
}

// A tile as wide as that of one row more: rows are divided evenly, and some tiles have one less.
template <class Isa, Loader kLoader, int kRows, int kColumns>
constexpr void add_narrow_dot(KernelTable& table) {
  table.dot[static_cast<int>(kLoader)][kRows][kColumns] = &Dot<Isa, kLoader, kRows, kColumns>::run;
}

}  // namespace gemwright::cpu_packed
