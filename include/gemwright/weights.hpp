// Low-bit weights: quantise, pack for kernels, unpack, dequantise.
#pragma once

#include <gemwright/types.hpp>
#include <gemwright/weight_format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace gemwright {

/// A weight W[N,K] as codes, one byte each: what formats on disk are read into and written from.
struct CodedWeight {
  WeightFormat format = {};
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// [N][K]; column j is column order[j] of W where there is an order.
  std::vector<std::uint8_t> codes = {};
  /// Bits of the scale's type: [N][ceil(K/group)]; [N] of a row; one of a tensor; of flat blocks
  /// [ceil(N K/group)]; of square blocks [ceil(N/group)][ceil(K/group)].
  std::vector<std::uint32_t> scales = {};
  /// In the scales' places: integers, or bits of the scale's type. Empty where symmetric.
  std::vector<std::uint32_t> zeros = {};
  /// Of learned codebooks: [2^bits], or [N][2^bits] where each row has its own. Else empty.
  std::vector<float> table = {};
  /// Empty, or K entries, each column once.
  std::vector<std::int32_t> order = {};
  float global_scale = 1.0F;

  /// Throws InvalidArgument naming the field whose size or values do not fit.
  void check() const;

  bool operator==(const CodedWeight&) const = default;
};

/// Bytes that pack_weights writes for a weight of such a format.
std::size_t packed_weights_bytes(const WeightFormat& format, std::int64_t n, std::int64_t k);

/// Packs once, for every kernel, M and device (docs/formats.md, "Packed weight"). `out` is a
/// multiple of 64 bytes. Plan with Problem::linear(m, n, k, type, format).
void pack_weights(const CodedWeight& weight, void* out);

/// Exact inverse. Throws InvalidArgument for what pack_weights did not write.
CodedWeight unpack_weights(const void* packed, std::size_t bytes);

/// Weights of one K and format, one below the other: projections of one activation (q, k, v; gate,
/// up) that are then one product and one launch, whose D holds theirs side by side. Every value
/// stays what it was: a scale or codebook of each whole weight becomes one of each of its rows
/// where they differ. Throws InvalidArgument naming the weight that does not fit: another format,
/// K, order or global scale, or rows that end inside a group of several.
CodedWeight stack(std::span<const CodedWeight> weights);

/// W[N,K], row-major, each value rounded once to the type.
void dequantise(const CodedWeight& weight, DataType type, void* out);

struct QuantiseOptions {
  /// Of each column's activations E[a[k]^2], or empty: what a column's errors weigh in learned
  /// codebooks and in the search for integer scales.
  std::span<const float> second_moments = {};
};

/// Codes for W[N,K], row-major, in a format without order. docs/formats.md says how each is come
/// by. Throws InvalidArgument for a NaN or an infinity in W, naming its place.
CodedWeight quantise(const WeightFormat& format, std::int64_t n, std::int64_t k, DataType type,
                     const void* w, const QuantiseOptions& options = {});

/// How far a coded weight is from the one it stands for.
struct WeightError {
  /// ||W - W'|| / ||W||, and the same in decibels: -20 log10 of it.
  double relative = 0;
  double snr_db = 0;
  /// Largest |w - w'|.
  double largest = 0;
};
WeightError error_of(const CodedWeight& weight, DataType type, const void* w);

}  // namespace gemwright

#pragma GCC visibility pop
