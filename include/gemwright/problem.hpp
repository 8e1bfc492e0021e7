// A GEMM problem: D[M,N] = alpha * A[M,K] * B[K,N] + beta * C[M,N] + bias, one per batch entry.
#pragma once

#include <gemwright/types.hpp>
#include <gemwright/weight_format.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace gemwright {

/// How one operand lies in memory. Strides are in elements and may be 0 (broadcast) except in D.
/// Rows and columns are those of the matrix as it enters the product: A is M x K, B is K x N.
struct Operand {
  DataType type = DataType::f32;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  std::int64_t batch_stride = 0;
  /// Bytes that the base pointer is promised to be a multiple of; checked on every run.
  std::int32_t alignment = 16;
  /// B only: the pointer is to weights packed by gemwright::pack_weights; strides are then ignored.
  bool packed = false;

  bool operator==(const Operand&) const = default;
};

/// Bias vectors: per_row has M entries, per_column has N entries (that of a linear layer).
enum class Bias : std::uint8_t { none, per_row, per_column };

/// One GEMM. Plain data: fill the fields, or start from mm(), linear() or bmm().
struct Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Operand a = {};
  Operand b = {};
  /// Present when B is a low-bit weight: b.packed is then set, the pointer is to what pack_weights
  /// wrote, and b.type is the type that a codebook's entries are rounded to (A's, to be fast; f32
  /// leaves them as they are). Scales are never rounded.
  std::optional<WeightFormat> weight = {};
  /// With a low-bit weight only. Each row of A, of each entry of the batch, is first rounded to
  /// codes q and one fp32 scale s, and the product is that of the real numbers q * s:
  ///
  ///   s = largest |a| of the row / L in fp32, to nearest even; L = 448 (e4m3) or 127 (int8)
  ///   q = a / s in fp32, to nearest even, then to the nearest code, ties to even, at most +-L
  ///   q = 0 where s = 0; a row with a NaN or an infinity has s = NaN, and so has its row of D
  ///
  /// Codes and scales are defined to the bit: every kernel multiplies the same.
  Activations activations = Activations::as_given;
  Operand d = {};
  /// Present when beta != 0; may be the same memory as D, in the same type and strides.
  std::optional<Operand> c = {};
  Bias bias = Bias::none;
  /// The vector's own type, which no other field sets: linear(..., DataType::bf16) leaves it f32.
  DataType bias_type = DataType::f32;
  float alpha = 1.0F;
  float beta = 0.0F;
  /// fp32 inputs may be rounded to tf32 (10-bit mantissa) where the device is faster that way.
  bool allow_tf32 = false;
  /// A row of D has the same bits whatever M is and whatever the other rows hold: every M is then
  /// given kernels that sum over K in one order, which costs the smaller M most.
  bool batch_invariant = false;

  /// Contiguous row-major A[M,K], B[K,N], D[M,N].
  static Problem mm(std::int64_t m, std::int64_t n, std::int64_t k, DataType type);
  /// As mm, with the weight stored as W[N,K] (row-major), B = W transposed.
  static Problem linear(std::int64_t m, std::int64_t n, std::int64_t k, DataType type);
  /// As linear, with a low-bit weight.
  static Problem linear(std::int64_t m, std::int64_t n, std::int64_t k, DataType type,
                        const WeightFormat& format);
  /// `batch` contiguous products of mm's form.
  static Problem bmm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                     DataType type);

  /// Throws InvalidArgument when sizes, strides, types or alignments make no sense: negative sizes,
  /// strides, more than 2^48 elements, overlapping elements in D, beta != 0 without C, packed A, a
  /// weight format whose fields do not fit, or whose B is not packed, activations to be rounded
  /// without one.
  void check() const;

  /// Floating point operations, 2*M*N*K*batch.
  double flops() const;
  /// Least bytes that must move: every distinct element of the inputs once, every output once.
  double bytes() const;

  bool operator==(const Problem&) const = default;
};

/// A problem in canonical form, and how to map the caller's operands to it.
struct Canonical {
  Problem problem = {};
  /// The product was transposed: A and B change places (and so do per_row and per_column).
  bool swapped = false;
};

/// Folds transposes so that D is row-major where possible, folds a batch into M where B is
/// broadcast, and gives size-1 dimensions their packed strides. Equal products get equal forms.
Canonical canonical(const Problem& problem);

/// One line that names the problem, for people and as the store's key, for instance
/// "m=16 n=4096 k=4096 a=bf16:4096:1 b=bf16:1:4096 d=bf16:4096:1". parse_problem reads it back.
std::string key(const Problem& problem);

/// Inverse of key(). Throws InvalidArgument naming the field that does not parse.
Problem parse_problem(std::string_view text);

}  // namespace gemwright

#pragma GCC visibility pop
