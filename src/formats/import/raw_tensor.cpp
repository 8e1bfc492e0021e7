#include "formats/import/raw_tensor.hpp"

#include "numeric/convert.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gemwright::formats {
namespace {

int bytes_of(std::string_view type) {
  if (type == "I64" || type == "U64") return 8;
  if (type == "F32" || type == "I32" || type == "U32") return 4;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16") return 2;
  return 1;
}

std::uint64_t raw(const RawTensor& tensor, std::int64_t index) {
  const int bytes = bytes_of(tensor.type);
  std::uint64_t value = 0;
  std::memcpy(&value, tensor.data.data() + index * bytes, static_cast<std::size_t>(bytes));
  return value;
}

}  // namespace

std::int64_t RawTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::uint32_t RawTensor::bits(std::int64_t index) const {
  return static_cast<std::uint32_t>(raw(*this, index));
}

std::int64_t RawTensor::integer(std::int64_t index) const {
  const std::uint64_t value = raw(*this, index);
  const int unused = 64 - 8 * bytes_of(type);
  if (type.starts_with('U')) return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

float RawTensor::number(std::int64_t index) const {
  const std::uint32_t value = bits(index);
  if (type == "F16") return numeric::from_f16(static_cast<std::uint16_t>(value));
  if (type == "BF16") return numeric::from_bf16(static_cast<std::uint16_t>(value));
  return std::bit_cast<float>(value);
}

const RawTensor& Parts::get(std::string_view part, std::span<const std::string_view> types,
                            int dimensions) const {
  const auto found = tensors_.find(part);
  const std::string place = layer_ + "." + std::string(part);
  if (found == tensors_.end()) throw InvalidArgument(place, "no such tensor", "one");
  const RawTensor& tensor = found->second;
  if (std::find(types.begin(), types.end(), tensor.type) == types.end()) {
    throw InvalidArgument(place + ".dtype", tensor.type, fmt::format("{}", fmt::join(types, ", ")));
  }
  if (dimensions >= 0 && std::ssize(tensor.shape) != dimensions) {
    throw InvalidArgument(place + ".shape", fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
                          std::to_string(dimensions) + " dimensions");
  }
  const auto bytes = static_cast<std::size_t>(tensor.elements() * bytes_of(tensor.type));
  if (tensor.data.size() != bytes) {
    throw InvalidArgument(place, std::to_string(tensor.data.size()) + " bytes",
                          std::to_string(bytes));
  }
  return tensor;
}

const RawTensor& Parts::numbers(std::string_view part, int dimensions) const {
  constexpr std::array<std::string_view, 3> kTypes{"F16", "BF16", "F32"};
  return get(part, kTypes, dimensions);
}

void require_shape(const RawTensor& tensor, std::initializer_list<std::int64_t> shape) {
  if (std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end())) return;
  throw InvalidArgument(tensor.name + ".shape", fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
                        fmt::format("[{}]", fmt::join(shape, ", ")));
}

ScaleType scale_type_of(const RawTensor& tensor) {
  if (tensor.type == "F32") return ScaleType::f32;
  if (tensor.type == "F16") return ScaleType::f16;
  if (tensor.type == "BF16") return ScaleType::bf16;
  if (tensor.type == "F8_E4M3") return ScaleType::e4m3;
  if (tensor.type == "F8_E8M0" || tensor.type == "U8") return ScaleType::e8m0;
  throw InvalidArgument(tensor.name + ".dtype", tensor.type, "a type of scales");
}

std::vector<std::uint32_t> scale_bits_of(const RawTensor& tensor) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = tensor.bits(static_cast<std::int64_t>(i));
  return bits;
}

std::vector<std::uint32_t> transposed(const std::vector<std::uint32_t>& values, std::int64_t rows,
                                      std::int64_t columns) {
  std::vector<std::uint32_t> result(values.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      result[static_cast<std::size_t>(column * rows + row)] =
          values[static_cast<std::size_t>(row * columns + column)];
    }
  }
  return result;
}

std::uint32_t stream_field(const RawTensor& words, std::int64_t first, std::int64_t stride,
                           std::int64_t index, int width) {
  const std::int64_t bit = index * width;
  const std::int64_t at = first + bit / 32 * stride;
  const int shift = static_cast<int>(bit % 32);
  std::uint64_t value = words.bits(at);
  if (shift + width > 32) value |= static_cast<std::uint64_t>(words.bits(at + stride)) << 32;
  return static_cast<std::uint32_t>(value >> shift) & ((1U << width) - 1);
}

}  // namespace gemwright::formats
