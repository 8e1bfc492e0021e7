// Rows of activations rounded to 8 bits, to the bit as Problem::activations defines it, on the
// host.
#pragma once

#include <gemwright/types.hpp>

#include <span>

namespace gemwright::numeric {

/// The largest code: 448 or 127.
float largest_code(Activations activations);

/// Puts its codes, as numbers, in the place of a row's elements, and gives the row's scale: NaN,
/// with codes 0, where the row has a NaN or an infinity. As given, a row stays and its scale is 1.
float round_activations(Activations activations, std::span<float> row);

}  // namespace gemwright::numeric
