#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AMX_BF16__) || defined(__AMXBF16__)  // as GCC and as clang name it
#include "families/cpu_packed/kernels/amx.hpp"
#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/store.hpp"

namespace gemwright::cpu_packed {
namespace {

constexpr KernelTable make_table() {
  KernelTable table;
  table.name = "amx_bf16";
  table.a_by_rows = true;
  add_amx<AmxTiles, 1, 32>(table);
  add_amx<AmxTiles, 2, 32>(table);
  add_packing<Avx512>(table);
  table.store = &Storing<Avx512>::store;
  return table;
}

}  // namespace

const KernelTable* amx_bf16_kernels() {
  static constexpr KernelTable kTable = make_table();
  return &kTable;
}

}  // namespace gemwright::cpu_packed
#else
namespace gemwright::cpu_packed {
const KernelTable* amx_bf16_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_packed
#endif
