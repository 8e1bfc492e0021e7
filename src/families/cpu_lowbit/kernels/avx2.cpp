#include "families/cpu_lowbit/kernels/table.hpp"

#ifdef __AVX2__
#include "families/cpu_lowbit/kernels/avx2_integers.hpp"
#include "families/cpu_lowbit/kernels/avx2_panels.hpp"
#endif

namespace gemwright::cpu_lowbit {

const KernelTable* avx2_kernels() {
#ifdef __AVX2__
  static constexpr KernelTable table{
      decode_panel, {}, {round_row, decode_block_avx2, multiply_integers}};
  return &table;
#else
  return nullptr;
#endif
}

}  // namespace gemwright::cpu_lowbit
