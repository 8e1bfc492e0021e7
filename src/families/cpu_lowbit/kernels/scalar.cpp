#include "families/cpu_lowbit/kernels/decode.hpp"

namespace gemwright::cpu_lowbit {

const KernelTable* scalar_kernels() {
  static constexpr KernelTable table{decode_any, {}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
