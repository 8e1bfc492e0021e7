// What a packed weight says of itself.
#pragma once

#include "formats/packed_layout.hpp"

#include <cstddef>

namespace gemwright::formats {

/// Throws InvalidArgument when the bytes do not begin with a header of this version.
PackedHeader read_header(const void* packed, std::size_t bytes);

/// Throws InvalidArgument when it names no format.
WeightFormat format_of(const PackedHeader& header);

}  // namespace gemwright::formats
