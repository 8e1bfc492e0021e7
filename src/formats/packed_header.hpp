// What a packed weight says of itself.
#pragma once

#include "formats/packed_layout.hpp"

#include <cstddef>
#include <string_view>

namespace gemwright::formats {

/// What follows a weight's name in a checkpoint where it is packed: a tensor of U8 in one
/// dimension, "model.layers.0.mlp.up_proj.weight.gemwright".
inline constexpr std::string_view kPackedSuffix = ".gemwright";

/// Throws InvalidArgument when the bytes do not begin with a header of this version.
PackedHeader read_header(const void* packed, std::size_t bytes);

/// Throws InvalidArgument when it names no format.
WeightFormat format_of(const PackedHeader& header);

}  // namespace gemwright::formats
