// Tiles that 32 registers of 512 bits hold. Included by files that are compiled for AVX-512.
#pragma once

#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/dot.hpp"

namespace gemwright::cpu_packed {
namespace {

template <class Isa, Loader kLoader>
constexpr void add_avx512_dots(KernelTable& table) {
  add_dot<Isa, kLoader, 1, 8>(table);
  add_dot<Isa, kLoader, 2, 8>(table);
  add_dot<Isa, kLoader, 3, 6>(table);
  add_dot<Isa, kLoader, 4, 6>(table);
  add_dot<Isa, kLoader, 5, 4>(table);
  add_dot<Isa, kLoader, 6, 4>(table);
  add_dot<Isa, kLoader, 7, 3>(table);
  add_dot<Isa, kLoader, 8, 3>(table);
  add_narrow_dot<Isa, kLoader, 2, 6>(table);
  add_narrow_dot<Isa, kLoader, 4, 4>(table);
  add_narrow_dot<Isa, kLoader, 6, 3>(table);
}

}  // namespace
}  // namespace gemwright::cpu_packed
