// The 8-bit and 4-bit float types of the OCP specifications (OFP8 1.0, MX 1.0), on the host.
#pragma once

#include <cstdint>

namespace gemwright::numeric {

/// Sign, 4 bits of exponent (bias 7), 3 of mantissa; largest 448; 0x7F and 0xFF are NaN; no
/// infinity.
float from_e4m3(std::uint8_t bits);
/// To nearest even; beyond 448, and infinities, to 448 of the same sign; NaN stays.
std::uint8_t to_e4m3(float value);

/// Sign, 5 bits of exponent (bias 15), 2 of mantissa; largest 57344; has infinities.
float from_e5m2(std::uint8_t bits);
/// To nearest even; beyond 57344 to 57344 of the same sign; infinities and NaN stay.
std::uint8_t to_e5m2(float value);

/// Sign, 2 bits of exponent (bias 1), 1 of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
float from_e2m1(std::uint8_t code);
/// To nearest even; beyond 6 to 6 of the same sign. NaN becomes 6.
std::uint8_t to_e2m1(float value);

/// 2^(bits - 127); 255 is NaN. 0 is 2^-127, a denormal in fp32.
float from_e8m0(std::uint8_t bits);

}  // namespace gemwright::numeric
