#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AVX512BF16__)
#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/avx512_tiles.hpp"
#include "families/cpu_packed/kernels/panel.hpp"
#include "families/cpu_packed/kernels/store.hpp"

namespace gemwright::cpu_packed {
namespace {

// Products of bf16 pairs. Denormal inputs and sums count as zero, as the instruction has it.
struct Avx512Bf16 : Avx512 {
  static V dot(V sum, V a, V b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

constexpr KernelTable make_table() {
  KernelTable table;
  table.name = "avx512_bf16";
  add_panels<Avx512Bf16, Loader::bf16_dot, 1, 14>(table);
  add_panels<Avx512Bf16, Loader::bf16_dot, 2, 14>(table);
  add_panels<Avx512Bf16, Loader::bf16_dot, 3, 9>(table);
  add_panels<Avx512Bf16, Loader::bf16_dot, 4, 6>(table);
  add_avx512_dots<Avx512Bf16, Loader::bf16_dot>(table);
  add_packing<Avx512Bf16>(table);
  table.store = &Storing<Avx512Bf16>::store;
  return table;
}

}  // namespace

const KernelTable* avx512_bf16_kernels() {
  static constexpr KernelTable kTable = make_table();
  return &kTable;
}

}  // namespace gemwright::cpu_packed
#else
namespace gemwright::cpu_packed {
const KernelTable* avx512_bf16_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_packed
#endif
