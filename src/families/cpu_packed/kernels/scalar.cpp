// Portable kernels: vectors of four floats that any compiler lowers to what the processor has.
#include "families/cpu_packed/kernels/float_table.hpp"
#include "families/cpu_packed/kernels/scalar_types.hpp"
#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {
namespace {

struct Scalar {
  using V = float __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;

  static V zero() { return V{}; }
  static V set1(float value) { return V{value, value, value, value}; }
  static void keep(V&) {}
  static V load(const void* address) {
    V value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
  }
  static void store(void* address, V value) { __builtin_memcpy(address, &value, sizeof value); }
  static V fma(V a, V b, V c) { return a * b + c; }
  static float reduce(V value) { return (value[0] + value[2]) + (value[1] + value[3]); }

  static std::uint16_t half(const char* address, int index) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, address + index * 2, 2);
    return bits;
  }
  static V load_bf16(const char* address) {
    V value;
    for (int i = 0; i < 4; ++i) value[i] = bf16_to_f32(half(address, i));
    return value;
  }
  static V load_f16(const char* address) {
    V value;
    for (int i = 0; i < 4; ++i) value[i] = f16_to_f32(half(address, i));
    return value;
  }
  static void load_bf16_pairs(const char* address, V& even, V& odd) {
    float values[8];
    for (int i = 0; i < 8; ++i) values[i] = bf16_to_f32(half(address, i));
    even = V{values[0], values[2], values[4], values[6]};
    odd = V{values[1], values[3], values[5], values[7]};
  }
  static void load_f16_pairs(const char* address, V& even, V& odd) {
    float values[8];
    for (int i = 0; i < 8; ++i) values[i] = f16_to_f32(half(address, i));
    even = V{values[0], values[2], values[4], values[6]};
    odd = V{values[1], values[3], values[5], values[7]};
  }
  static V zip16(const char* low, const char* high) {
    V value;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t second = half(high, i);
      value[i] = float_of_bits(half(low, i) | second << 16);
    }
    return value;
  }
  static void store_bf16(char* address, V value) {
    for (int i = 0; i < 4; ++i) {
      const std::uint16_t bits = f32_to_bf16(value[i]);
      __builtin_memcpy(address + i * 2, &bits, 2);
    }
  }
  static void store_f16(char* address, V value) {
    for (int i = 0; i < 4; ++i) {
      const std::uint16_t bits = f32_to_f16(value[i]);
      __builtin_memcpy(address + i * 2, &bits, 2);
    }
  }
  static void transpose(V (&rows)[4]) {
    const V a = rows[0];
    const V b = rows[1];
    const V c = rows[2];
    const V d = rows[3];
    for (int i = 0; i < 4; ++i) rows[i] = V{a[i], b[i], c[i], d[i]};
  }
};

// A panel is four vectors: two or three rows of accumulators are what 16 registers hold.
struct Tiles {
  template <Loader kLoader>
  static constexpr void panels(KernelTable& table) {
    add_panels<Scalar, kLoader, 1, 3>(table);
  }
  template <Loader kLoader>
  static constexpr void dots(KernelTable& table) {
    add_dot<Scalar, kLoader, 1, 4>(table);
    add_dot<Scalar, kLoader, 2, 4>(table);
    add_dot<Scalar, kLoader, 3, 3>(table);
    add_dot<Scalar, kLoader, 4, 2>(table);
    add_narrow_dot<Scalar, kLoader, 2, 3>(table);
    add_narrow_dot<Scalar, kLoader, 3, 2>(table);
  }
};

}  // namespace

const KernelTable* scalar_kernels() {
  static constexpr KernelTable kTable = float_table<Scalar, Tiles>("scalar");
  return &kTable;
}

}  // namespace gemwright::cpu_packed
