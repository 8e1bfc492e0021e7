// A packed low-bit weight one element at a time, in fp32: for any format.
//
// The preamble gives beside what lowbit_weight.cuh names: kPaired (codes of neighbours in K stand
// next to each other), kTypeB (that a codebook's entries are rounded to), kAcross (flat blocks of
// kGroup run across rows).
#pragma once

#include "float_tile.cuh"
#include "lowbit_weight.cuh"

namespace gemwright_device {

/// Element `index` of `base`, of a scale's type.
template <int kScaleType>
__device__ __forceinline__ float scale_at(const void* base, long long index) {
  Held<8> one;
  if constexpr (kScaleType == kScaleF32) {
    one.w[0] = static_cast<const unsigned*>(base)[index];
  } else if constexpr (kScaleType == kScaleF16 || kScaleType == kScaleBf16) {
    one.w[0] = static_cast<const unsigned short*>(base)[index];
  } else {
    one.w[0] = static_cast<const unsigned char*>(base)[index];
  }
  return scale_of<kScaleType>(one, 0, 0);
}

struct LowbitElements {
  const LowbitWeight& weight;
  int n, k;  // sizes

  /// W[row, column of the codes]; 0 outside.
  __device__ __forceinline__ float at(int row, int column) const {
    if (row >= n || column >= k) return 0;
    const int code = code_at(row, column);
    const long long place = scale_place(row, column);
    const float scale = scale_at<kScaleType>(weight.scales, place);
    if constexpr (kCodes == kCodeInteger) {
      float zero = 1 << (kBits - 1);
      if constexpr (kZeros == kZeroInteger) {
        zero = static_cast<const unsigned char*>(weight.zeros)[place];
      } else if constexpr (kZeros == kZeroReal) {
        zero = scale_at<kScaleType>(weight.zeros, place);
      }
      return (static_cast<float>(code) - zero) * scale;
    } else {
      const long long first = kCodes == kCodeRowTable ? static_cast<long long>(row) << kBits : 0;
      const float value = value_of_code<kCodes>(code, weight.table + first);
      return to_float<kTypeB>(from_float<kTypeB>(value)) * scale;
    }
  }

 private:
  __device__ __forceinline__ int code_at(int row, int column) const {
    const auto* tile = static_cast<const char*>(weight.codes) +
                       (static_cast<long long>(row / 64) * weight.blocks + column / 64) *
                           CodePlanes<kBits>::kTileBytes;
    if constexpr (kBits == 3) {
      return bits_at<2>(tile, row % 64, column % 64) |
             bits_at<1>(tile + CodePlanes<3>::kSecondAt, row % 64, column % 64) << 2;
    } else {
      return bits_at<kBits>(tile, row % 64, column % 64);
    }
  }

  /// As code_place of src/formats/packed_layout.hpp.
  template <int kPlane>
  static __device__ __forceinline__ int bits_at(const char* plane, int row, int column) {
    constexpr int kPairs = 16 / kPlane;  // of a word
    constexpr int kWords = kPlane < 4 ? kPlane : 4;
    const int thread = 32 * (row / 16) + 4 * (row % 8) + column % 8 / 2;
    const int pair = 4 * (column / 16) + row % 16 / 8 + 2 * (column % 16 / 8);
    const int word = pair / kPairs;
    const int in_word = pair % kPairs;
    const int half = column % 2;
    const int bit = kPaired ? 2 * kPlane * in_word + kPlane * half : kPlane * in_word + 16 * half;
    const int at = 2048 * (word / kWords) + 4 * (kWords * thread + word % kWords);
    return static_cast<int>(*reinterpret_cast<const unsigned*>(plane + at) >> bit &
                            ((1U << kPlane) - 1));
  }

  /// As scale_place there, and which of a row's groups the column is in.
  __device__ __forceinline__ long long scale_place(int row, int column) const {
    constexpr int kTogether = kAcross ? 1 : GroupLayout<kScaleType, kGroup, kZeros>::kTogether;
    constexpr int kColumns = kGroup > 0 ? kGroup : 1;
    const int phase = kAcross ? static_cast<int>(static_cast<long long>(row) * k % kColumns) : 0;
    const int group = kGroup > 0 ? (column + phase) / kColumns : 0;
    const int r = row % 64;
    const int pair = 8 * (r / 16) + r % 8;
    const int inside = (pair * kTogether + group % kTogether) * 2 + r % 16 / 8;
    const long long set = static_cast<long long>(row / 64) * weight.sets + group / kTogether;
    return set * (64 * kTogether) + inside;
  }
};

/// Brings kRows rows x kColumns columns of a weight to shared memory as floats, as FloatTileLoader.
template <int kRows, int kColumns, int kAll>
struct LowbitTileLoader {
  static constexpr int kEach = kRows * kColumns / kAll;
  static_assert(kRows * kColumns % kAll == 0);

  LowbitElements elements;
  int row, column, thread;
  float x[kEach];

  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kAll;
      x[i] = elements.at(row + at % kRows, column + at / kRows);
    }
    column += kColumns;
  }

  __device__ __forceinline__ void put(float* tile) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kAll;
      tile[float_tile_index<kRows>(at / kRows, at % kRows)] = x[i];
    }
  }
};

/// As FloatTileLoader, with columns in the weight's order.
template <int kType, int kRows, int kColumns, int kAll>
struct OrderedTileLoader {
  static constexpr int kEach = kRows * kColumns / kAll;
  static_assert(kRows * kColumns % kAll == 0);

  const GemmParams& p;
  const int* order;
  int row, column, thread;
  float x[kEach];

  __device__ __forceinline__ void fetch() {
    const auto* a = static_cast<const Element<kType>*>(p.a);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kAll;
      const int m = row + at % kRows;
      const int k = column + at / kRows;
      x[i] = 0;
      if (m < p.m && k < p.k) {
        x[i] = to_float<kType>(a[m * p.a_row + static_cast<long long>(order[k]) * p.a_col]);
      }
    }
    column += kColumns;
  }

  __device__ __forceinline__ void put(float* tile) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kAll;
      tile[float_tile_index<kRows>(at / kRows, at % kRows)] = x[i];
    }
  }
};

}  // namespace gemwright_device
