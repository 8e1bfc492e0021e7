#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/avx512_tiles.hpp"
#include "families/cpu_packed/kernels/float_table.hpp"

namespace gemwright::cpu_packed {
namespace {

// 32 registers: the accumulators, one vector of B a panel, and a broadcast that folds into the FMA.
struct Tiles {
  template <Loader kLoader>
  static constexpr void panels(KernelTable& table) {
    add_panels<Avx512, kLoader, 1, 14>(table);
    add_panels<Avx512, kLoader, 2, step_depth(kLoader) == 1 ? 14 : 13>(table);
    add_panels<Avx512, kLoader, 3, step_depth(kLoader) == 1 ? 9 : 8>(table);
    add_panels<Avx512, kLoader, 4, step_depth(kLoader) == 1 ? 6 : 5>(table);
  }
  template <Loader kLoader>
  static constexpr void dots(KernelTable& table) {
    add_avx512_dots<Avx512, kLoader>(table);
  }
};

}  // namespace

const KernelTable* avx512_kernels() {
  static constexpr KernelTable kTable = float_table<Avx512, Tiles>("avx512");
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
