// The epilogue: from a tile of fp32 accumulators to D.
#pragma once

#include "families/cpu_packed/kernels/pack.hpp"
#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

template <class Isa>
struct Storing {
  using V = typename Isa::V;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kWidth = kMaxPanels * kPanel;

  static void load_row(DataType type, const char* source, std::int64_t stride, int count,
                       float* out) {
    int i = 0;
    if (stride == 1) {
      for (; i + kLanes <= count; i += kLanes) {
        const char* address = source + static_cast<std::ptrdiff_t>(i) * size_bytes(type);
        Isa::store(out + i, Packing<Isa>::load_any(address, type));
      }
    }
    for (; i < count; ++i)
      out[i] = Packing<Isa>::element(source + i * stride * size_bytes(type), type);
  }

  static void store_element(DataType type, char* out, float value) {
    if (type == DataType::f32) {
      __builtin_memcpy(out, &value, 4);
    } else {
      const std::uint16_t bits = type == DataType::bf16 ? f32_to_bf16(value) : f32_to_f16(value);
      __builtin_memcpy(out, &bits, 2);
    }
  }

  static void store_row(DataType type, char* out, std::int64_t stride, int count,
                        const float* source) {
    int i = 0;
    if (stride == 1) {
      for (; i + kLanes <= count; i += kLanes) {
        const V value = Isa::load(source + i);
        char* address = out + static_cast<std::ptrdiff_t>(i) * size_bytes(type);
        if (type == DataType::f32) Isa::store(address, value);
        if (type == DataType::bf16) Isa::store_bf16(address, value);
        if (type == DataType::f16) Isa::store_f16(address, value);
      }
    }
    for (; i < count; ++i) store_element(type, out + i * stride * size_bytes(type), source[i]);
  }

  static void store(const StoreArgs& args) {
    alignas(64) float column_bias[kWidth];
    alignas(64) float c_row[kWidth];
    alignas(64) float result[kWidth];
    if (args.column_bias != nullptr) {
      load_row(args.bias_type, static_cast<const char*>(args.column_bias), 1, args.columns,
               column_bias);
    }
    const bool as_is = args.alpha == 1.0F && args.c == nullptr && args.column_bias == nullptr &&
                       args.row_bias == nullptr && args.row_scales == nullptr;
    for (int row = 0; row < args.rows; ++row) {
      const float* source = args.tile + row * args.tile_stride;
      if (!as_is) {
        const float scale = args.row_scales != nullptr ? args.row_scales[row] : 1.0F;
        for (int i = 0; i < args.columns; ++i) result[i] = args.alpha * (scale * source[i]);
        source = result;
      }
      if (args.c != nullptr) {
        load_row(
            args.c_type,
            static_cast<const char*>(args.c) + row * args.c_row_stride * size_bytes(args.c_type),
            args.c_column_stride, args.columns, c_row);
        for (int i = 0; i < args.columns; ++i) result[i] += args.beta * c_row[i];
      }
      if (args.column_bias != nullptr) {
        for (int i = 0; i < args.columns; ++i) result[i] += column_bias[i];
      }
      if (args.row_bias != nullptr) {
        const float bias =
            Packing<Isa>::element(static_cast<const char*>(args.row_bias) +
                                      static_cast<std::ptrdiff_t>(row) * size_bytes(args.bias_type),
                                  args.bias_type);
        for (int i = 0; i < args.columns; ++i) result[i] += bias;
      }
      store_row(args.d_type,
                static_cast<char*>(args.d) + row * args.d_row_stride * size_bytes(args.d_type),
                args.d_column_stride, args.columns, source);
    }
  }
};

}  // namespace gemwright::cpu_packed
