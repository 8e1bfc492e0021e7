// Packing: interleaves up to 16 rows (of A, or columns of B) along K.
#pragma once

#include "families/cpu_packed/kernels/scalar_types.hpp"
#include "families/cpu_packed/kernels/table.hpp"

namespace gemwright::cpu_packed {

template <class Isa>
struct Packing {
  using V = typename Isa::V;
  static constexpr int kLanes = Isa::kLanes;

  [[gnu::always_inline]] static const char* at(const void* base, DataType type,
                                               std::int64_t index) {
    return static_cast<const char*>(base) + index * size_bytes(type);
  }

  [[gnu::always_inline]] static float element(const char* address, DataType type) {
    if (type == DataType::f32) {
      float value;
      __builtin_memcpy(&value, address, 4);
      return value;
    }
    const std::uint16_t bits = element16(address);
    return type == DataType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }

  [[gnu::always_inline]] static std::uint16_t element16(const char* address) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, address, 2);
    return bits;
  }

  template <DataType kType>
  [[gnu::always_inline]] static V load(const char* address) {
    if constexpr (kType == DataType::bf16) return Isa::load_bf16(address);
    if constexpr (kType == DataType::f16) return Isa::load_f16(address);
    if constexpr (kType == DataType::f32) return Isa::load(address);
  }

  [[gnu::always_inline]] static V load_any(const char* address, DataType type) {
    if (type == DataType::f32) return Isa::load(address);
    return type == DataType::bf16 ? Isa::load_bf16(address) : Isa::load_f16(address);
  }

  // A unit is what lands in one 32-bit slot: an element widened to fp32, or a pair of 16 bits.
  struct Units {
    const PackArgs& args;
    std::int64_t units;
    bool pairs;

    std::uint32_t operator()(int row, std::int64_t unit) const {
      if (row >= args.rows) return 0;
      const std::int64_t base = row * args.row_stride;
      if (!pairs) {
        return bits_of_float(
            element(at(args.source, args.type, base + unit * args.k_stride), args.type));
      }
      const std::int64_t k = 2 * unit;
      const std::uint32_t low = element16(at(args.source, args.type, base + k * args.k_stride));
      if (k + 1 >= args.k) return low;
      const std::uint32_t high =
          element16(at(args.source, args.type, base + (k + 1) * args.k_stride));
      return low | high << 16;
    }

    void write(std::int64_t first, std::int64_t last) const {
      auto* out = static_cast<std::uint32_t*>(args.out);
      for (std::int64_t unit = first; unit < last; ++unit) {
        for (int row = 0; row < args.out_rows; ++row) {
          out[unit * args.out_rows + row] = (*this)(row, unit);
        }
      }
    }
  };

  // A square block of units, transposed: block[i] holds unit i of every row.
  template <DataType kType, bool kPairs>
  [[gnu::always_inline]] static void load_transposed(const char* source, std::ptrdiff_t row_bytes,
                                                     V (&block)[kLanes]) {
    constexpr bool kWords = kPairs || kType == DataType::f32;
    if constexpr (kWords && requires { Isa::load_transposed(source, row_bytes, block); }) {
      Isa::load_transposed(source, row_bytes, block);
    } else {
#pragma GCC unroll 16
      for (int row = 0; row < kLanes; ++row) {
        const char* address = source + row * row_bytes;
        block[row] = kPairs ? Isa::load(address) : load<kType>(address);
      }
      Isa::transpose(block);
    }
  }

  // The same where there are fewer rows, or not room for whole vectors at the very end of `out`.
  template <DataType kType, bool kPairs>
  static void transpose_edge(const char* source, std::ptrdiff_t row_bytes, int rows, float* out,
                             std::int64_t out_rows, int width, std::int64_t room) {
    V block[kLanes];
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
      const char* address = source + row * row_bytes;
      block[row] = row >= rows ? Isa::zero() : kPairs ? Isa::load(address) : load<kType>(address);
    }
    Isa::transpose(block);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i, out += out_rows, room -= out_rows) {
      // A store wider than the rows is overwritten by the next one, except at the end.
      if (width == kLanes || (width == out_rows && kLanes <= room)) {
        Isa::store(out, block[i]);
      } else {
        alignas(64) float rest[kLanes];
        Isa::store(rest, block[i]);
        for (int j = 0; j < width; ++j) out[j] = rest[j];
      }
    }
  }

  // Rows are contiguous along K: square blocks are transposed in registers.
  template <DataType kType, bool kPairs>
  static std::int64_t transpose_rows(const PackArgs& args, std::int64_t units) {
    auto* out = static_cast<float*>(args.out);
    const std::int64_t end = units * args.out_rows;
    const std::ptrdiff_t row_bytes = args.row_stride * size_bytes(kType);
    // Pairs that are whole in memory; the last of an odd K is left to the caller.
    const std::int64_t whole = kPairs ? args.k / 2 : args.k;
    std::int64_t unit = 0;
    for (; unit + kLanes <= whole; unit += kLanes) {
      for (int first = 0; first < args.out_rows; first += kLanes) {
        const int rows = args.rows - first < kLanes ? args.rows - first : kLanes;
        const int width = args.out_rows - first < kLanes ? args.out_rows - first : kLanes;
        const std::int64_t offset = unit * args.out_rows + first;
        const char* source = at(args.source, kType, kPairs ? 2 * unit : unit) + first * row_bytes;
        if (rows < kLanes) {
          transpose_edge<kType, kPairs>(source, row_bytes, rows, out + offset, args.out_rows, width,
                                        end - offset);
          continue;
        }
        V block[kLanes];
        load_transposed<kType, kPairs>(source, row_bytes, block);
        float* target = out + offset;
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) Isa::store(target + i * args.out_rows, block[i]);
      }
    }
    return unit;
  }

  // Rows lie side by side: 16 of them are copied, widened or zipped for every k.
  template <DataType kType, bool kPairs>
  static std::int64_t copy_rows(const PackArgs& args, std::int64_t) {
    auto* out = static_cast<float*>(args.out);
    const std::int64_t whole = kPairs ? args.k / 2 : args.k;
    for (std::int64_t unit = 0; unit < whole; ++unit) {
      const std::int64_t k = kPairs ? 2 * unit : unit;
      const char* low = at(args.source, args.type, k * args.k_stride);
      const char* high = at(args.source, args.type, (k + 1) * args.k_stride);
#pragma GCC unroll 4
      for (int v = 0; v < kPanel; v += kLanes) {
        const int offset = v * size_bytes(kType);
        float* target = out + unit * kPanel + v;
        if constexpr (kPairs) {
          Isa::store(target, Isa::zip16(low + offset, high + offset));
        } else {
          Isa::store(target, load<kType>(low + offset));
        }
      }
    }
    return whole;
  }

  template <DataType kType, bool kPairs>
  static void pack(const PackArgs& args) {
    const std::int64_t units = kPairs ? (args.k + 1) / 2 : args.k;
    std::int64_t done = 0;
    if (args.k_stride == 1) {
      done = transpose_rows<kType, kPairs>(args, units);
    } else if (args.row_stride == 1 && args.rows == kPanel && args.out_rows == kPanel) {
      done = copy_rows<kType, kPairs>(args, units);
    }
    Units{args, units, kPairs}.write(done, units);
  }

  static void pack_f32(const PackArgs& args) {
    if (args.type == DataType::f32) return pack<DataType::f32, false>(args);
    if (args.type == DataType::bf16) return pack<DataType::bf16, false>(args);
    pack<DataType::f16, false>(args);
  }

  static void pack_pairs(const PackArgs& args) {
    pack<DataType::bf16, true>(args);
  }

  // One row of A, widened, zero padded; kSplit puts even and odd elements of 2 vectors apart.
  template <bool kSplit>
  static void pack_row(const PackRowsArgs& args) {
    auto* out = static_cast<float*>(args.out);
    const std::int64_t padded = (args.k + kDotPadding - 1) / kDotPadding * kDotPadding;
    std::int64_t k = 0;
    if (args.k_stride == 1) {
      if (kSplit && args.type == DataType::bf16) {
        k = split_bf16(args, out);
      } else if (!kSplit) {
        for (; k + kLanes <= args.k; k += kLanes) {
          Isa::store(out + k, load_any(at(args.source, args.type, k), args.type));
        }
      }
    }
    for (; k < padded; ++k) {
      std::int64_t target = k;
      if constexpr (kSplit) {
        const std::int64_t within = k % (2 * kLanes);
        target = k - within + within / 2 + (within % 2) * kLanes;
      }
      out[target] =
          k < args.k ? element(at(args.source, args.type, k * args.k_stride), args.type) : 0.0F;
    }
  }

  static std::int64_t split_bf16(const PackRowsArgs& args, float* out) {
    std::int64_t k = 0;
    for (; k + 2 * kLanes <= args.k; k += 2 * kLanes) {
      V even;
      V odd;
      Isa::load_bf16_pairs(at(args.source, args.type, k), even, odd);
      Isa::store(out + k, even);
      Isa::store(out + k + kLanes, odd);
    }
    return k;
  }

  static void pack_row_bf16(const PackRowsArgs& args) {
    auto* out = static_cast<std::uint16_t*>(args.out);
    const std::int64_t padded = (args.k + kDotPadding - 1) / kDotPadding * kDotPadding;
    for (std::int64_t k = 0; k < padded; ++k) {
      out[k] = k < args.k ? element16(at(args.source, args.type, k * args.k_stride)) : 0;
    }
  }
};

template <class Isa>
constexpr void add_packing(KernelTable& table) {
  table.pack_f32 = &Packing<Isa>::pack_f32;
  table.pack_pairs = &Packing<Isa>::pack_pairs;
  table.pack_rows_f32 = &Packing<Isa>::template pack_row<false>;
  table.pack_rows_split = &Packing<Isa>::template pack_row<true>;
  table.pack_rows_bf16 = &Packing<Isa>::pack_row_bf16;
}

}  // namespace gemwright::cpu_packed
