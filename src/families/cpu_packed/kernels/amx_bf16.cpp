#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include "families/cpu_packed/kernels/amx.hpp"
#include "families/cpu_packed/kernels/avx512.hpp"
#include "families/cpu_packed/kernels/store.hpp"

namespace gemwright::cpu_packed {
namespace {

// Assembly, because the intrinsics of GCC 12 are macros that take register numbers as text only.
struct Amx {
  static void configure(const TileLayout& layout) { asm volatile("ldtilecfg %0" : : "m"(layout)); }
  static void release() { asm volatile("tilerelease"); }
  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void load(const void* address, std::ptrdiff_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                 :
                 : "r"(address), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  static void store(void* address, std::ptrdiff_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                 :
                 : "r"(address), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kSum, int kA, int kB>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

constexpr KernelTable make_table() {
  KernelTable table;
  table.name = "amx_bf16";
  table.a_by_rows = true;
  add_amx<Amx, 1, 32>(table);
  add_amx<Amx, 2, 32>(table);
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
