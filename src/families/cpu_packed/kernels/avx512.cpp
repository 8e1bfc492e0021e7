#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/dot.hpp"
#include "families/cpu_packed/kernels/panel.hpp"
#include "families/cpu_packed/kernels/store.hpp"

namespace gemwright::cpu_packed {
namespace {

// 32 registers: the accumulators, one vector of B a panel, and a broadcast that folds into the FMA.
template <Loader kLoader>
constexpr void add_loader(KernelTable& table) {
  add_panels<Avx512, kLoader, 1, 14>(table);
  add_panels<Avx512, kLoader, 2, step_depth(kLoader) == 1 ? 14 : 13>(table);
  add_panels<Avx512, kLoader, 3, step_depth(kLoader) == 1 ? 9 : 8>(table);
  add_panels<Avx512, kLoader, 4, step_depth(kLoader) == 1 ? 6 : 5>(table);
}

template <Loader kLoader>
constexpr void add_dots(KernelTable& table) {
  add_dot<Avx512, kLoader, 1, 8>(table);
  add_dot<Avx512, kLoader, 2, 8>(table);
  add_dot<Avx512, kLoader, 3, 6>(table);
  add_dot<Avx512, kLoader, 4, 6>(table);
  add_dot<Avx512, kLoader, 5, 4>(table);
  add_dot<Avx512, kLoader, 6, 4>(table);
  add_dot<Avx512, kLoader, 7, 3>(table);
  add_dot<Avx512, kLoader, 8, 3>(table);
  add_narrow_dot<Avx512, kLoader, 2, 6>(table);
  add_narrow_dot<Avx512, kLoader, 4, 4>(table);
  add_narrow_dot<Avx512, kLoader, 6, 3>(table);
}

constexpr KernelTable make_table() {
  KernelTable table;
  table.name = "avx512";
  add_loader<Loader::f32>(table);
  add_loader<Loader::bf16_pairs>(table);
  add_loader<Loader::f16_pairs>(table);
  add_loader<Loader::bf16_rows>(table);
  add_loader<Loader::f16_rows>(table);
  add_dots<Loader::f32>(table);
  add_dots<Loader::bf16_pairs>(table);
  add_dots<Loader::f16_rows>(table);
  add_packing<Avx512>(table);
  table.store = &Storing<Avx512>::store;
  return table;
}

}  // namespace

const KernelTable* avx512_kernels() {
  static constexpr KernelTable kTable = make_table();
  return &kTable;
}

}  // namespace gemwright::cpu_packed
#else
namespace gemwright::cpu_packed {
const KernelTable* avx512_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_packed
#endif
