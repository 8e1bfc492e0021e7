// The table of an instruction set that computes in fp32: whatever the set, it has these parts.
#pragma once

#include "families/cpu_packed/kernels/dot.hpp"
#include "families/cpu_packed/kernels/panel.hpp"
#include "families/cpu_packed/kernels/store.hpp"
#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

/// `Tiles` says which tiles fit the set's registers: for each loader panels(), and for those that
/// read B along K dots().
template <class Isa, class Tiles>
constexpr KernelTable float_table(const char* name) {
  KernelTable table;
  table.name = name;
  Tiles::template panels<Loader::f32>(table);
  Tiles::template panels<Loader::bf16_pairs>(table);
  Tiles::template panels<Loader::f16_pairs>(table);
  Tiles::template panels<Loader::bf16_rows>(table);
  Tiles::template panels<Loader::f16_rows>(table);
  Tiles::template dots<Loader::f32>(table);
  Tiles::template dots<Loader::bf16_pairs>(table);
  Tiles::template dots<Loader::f16_rows>(table);
  add_packing<Isa>(table);
  table.store = &Storing<Isa>::store;
  return table;
}

}  // namespace gemwright::cpu_packed
