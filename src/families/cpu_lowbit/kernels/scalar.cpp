#include "families/cpu_lowbit/kernels/decode.hpp"

namespace gemwright::cpu_lowbit {

const KernelTable* scalar_kernels() {
  static constexpr KernelTable table{pack_row_f32, multiply_decoded, 4};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
