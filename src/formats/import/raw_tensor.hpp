// Tensors as files hold them, and reading numbers out of them.
#pragma once

#include <gemwright/weight_format.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gemwright::formats {

/// A tensor in memory that promises no alignment.
struct RawTensor {
  std::string name;  // as errors say it
  std::string type;  // as safetensors writes it: "I32", "F16", ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;

  std::int64_t elements() const;
  /// Element of a type of 8, 16 or 32 bits, as its bits.
  std::uint32_t bits(std::int64_t index) const;
  /// Of an integer type of up to 64 bits.
  std::int64_t integer(std::int64_t index) const;
  /// Of F32, F16 or BF16; exact.
  float number(std::int64_t index) const;
};

/// The tensors of one weight, by what follows the layer's name: "qweight", "weight.absmax", ...
class Parts {
 public:
  Parts(std::string layer, std::map<std::string, RawTensor, std::less<>> tensors)
      : layer_(std::move(layer)), tensors_(std::move(tensors)) {}

  const std::string& layer() const { return layer_; }
  bool has(std::string_view part) const { return tensors_.find(part) != tensors_.end(); }

  /// A part of one of the types and of so many dimensions (-1: any). Throws InvalidArgument naming
  /// the tensor that is missing, or what is wrong with it.
  const RawTensor& get(std::string_view part, std::span<const std::string_view> types,
                       int dimensions = -1) const;
  const RawTensor& get(std::string_view part, std::string_view type, int dimensions = -1) const {
    return get(part, std::span(&type, 1), dimensions);
  }
  /// One of F16, BF16 and F32.
  const RawTensor& numbers(std::string_view part, int dimensions = -1) const;

 private:
  std::string layer_;
  std::map<std::string, RawTensor, std::less<>> tensors_;
};

/// Throws InvalidArgument for the tensor unless it has this shape.
void require_shape(const RawTensor& tensor, std::initializer_list<std::int64_t> shape);

/// The scale type that keeps a tensor's elements as they are. Throws InvalidArgument for others.
ScaleType scale_type_of(const RawTensor& tensor);

/// Bits of all elements, and [rows][columns] turned into [columns][rows].
std::vector<std::uint32_t> scale_bits_of(const RawTensor& tensor);
std::vector<std::uint32_t> transposed(const std::vector<std::uint32_t>& values, std::int64_t rows,
                                      std::int64_t columns);

/// Field `index` of `width` bits (at most 8) of 32-bit words, each `stride` elements after the
/// last, read as one stream of bits from the lowest on.
std::uint32_t stream_field(const RawTensor& words, std::int64_t first, std::int64_t stride,
                           std::int64_t index, int width);

}  // namespace gemwright::formats
