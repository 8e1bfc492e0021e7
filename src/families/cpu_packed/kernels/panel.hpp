// The micro-kernel: a tile of kRows x (kPanels * 16) accumulators that stay in registers.
//
// Isa is a type of an anonymous namespace, so that every file that includes this, each compiled for
// another instruction set, gets instances of its own.
#pragma once

#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

template <class Isa, Loader kLoader, int kRows, int kPanels>
struct Panel {
  using V = typename Isa::V;
  static constexpr int kVectors = kPanels * (kPanel / Isa::kLanes);
  static constexpr int kPerPanel = kPanel / Isa::kLanes;
  static constexpr int kElement = kLoader == Loader::f32 ? 4 : 2;
  // Bytes of one vector's worth of B in one step.
  static constexpr int kVectorBytes = Isa::kLanes * kElement * step_depth(kLoader);

  [[gnu::always_inline]] static const char* vector_address(const PanelArgs& args, const char* b,
                                                           int vector) {
    return b + (vector / kPerPanel) * args.b_panel_bytes + (vector % kPerPanel) * kVectorBytes;
  }

  [[gnu::always_inline]] static void multiply(V (&acc)[kRows][kVectors], const float* a,
                                              const V (&b)[kVectors]) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const V value = Isa::set1(a[row]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[row][v] = Isa::fma(value, b[v], acc[row][v]);
    }
  }

  // One step; `a` moves on by the floats that it holds.
  [[gnu::always_inline]] static void step(V (&acc)[kRows][kVectors], const PanelArgs& args,
                                          const float*& a, const char*& b) {
    if constexpr (kLoader == Loader::bf16_dot) {
      V pairs[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) pairs[v] = Isa::load(vector_address(args, b, v));
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const V value = Isa::set1(a[row]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) acc[row][v] = Isa::dot(acc[row][v], value, pairs[v]);
      }
      a += kRows;
    } else if constexpr (step_depth(kLoader) == 1) {
      V values[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const char* address = vector_address(args, b, v);
        if constexpr (kLoader == Loader::f32) values[v] = Isa::load(address);
        if constexpr (kLoader == Loader::bf16_rows) values[v] = Isa::load_bf16(address);
        if constexpr (kLoader == Loader::f16_rows) values[v] = Isa::load_f16(address);
      }
      multiply(acc, a, values);
      a += kRows;
    } else {
      V even[kVectors];
      V odd[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const char* address = vector_address(args, b, v);
        if constexpr (kLoader == Loader::bf16_pairs) Isa::load_bf16_pairs(address, even[v], odd[v]);
        if constexpr (kLoader == Loader::f16_pairs) Isa::load_f16_pairs(address, even[v], odd[v]);
      }
      multiply(acc, a, even);
      multiply(acc, a + kRows, odd);
      a += 2 * kRows;
    }
    b += args.b_step_bytes;
  }

  static void run(const PanelArgs& args) {
    V acc[kRows][kVectors];
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        acc[row][v] = args.accumulate
                          ? Isa::load(args.tile + row * kPanels * kPanel + v * Isa::kLanes)
                          : Isa::zero();
      }
    }
    const float* a = static_cast<const float*>(args.a);
    const char* b = static_cast<const char*>(args.b);
    const char* ahead = args.prefetch.address;
    std::int64_t left = args.steps;
    for (; left >= 4; left -= 4) {
      for (int stream = 0; stream < args.prefetch.streams; ++stream) {
        const char* line = ahead + stream * args.prefetch.stride;
        for (int i = 0; i < args.prefetch.lines; ++i) __builtin_prefetch(line + i * 64, 0, 2);
      }
      ahead += args.prefetch.advance;
      step(acc, args, a, b);
      step(acc, args, a, b);
      step(acc, args, a, b);
      step(acc, args, a, b);
    }
    for (; left > 0; --left) step(acc, args, a, b);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        Isa::store(args.tile + row * kPanels * kPanel + v * Isa::kLanes, acc[row][v]);
      }
    }
  }
};

// Fills the table for kRows and below.
template <class Isa, Loader kLoader, int kPanels, int kRows>
constexpr void add_panels(KernelTable& table) {
  if constexpr (kRows > 0) {
    constexpr int loader = static_cast<int>(kLoader);
    if (table.max_rows[loader][kPanels] < kRows) table.max_rows[loader][kPanels] = kRows;
    table.panel[loader][kPanels][kRows] = &Panel<Isa, kLoader, kRows, kPanels>::run;
    add_panels<Isa, kLoader, kPanels, kRows - 1>(table);
  }
}

}  // namespace gemwright::cpu_packed
