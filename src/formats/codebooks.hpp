// What codes and bits of scales stand for.
#pragma once

#include <gemwright/weight_format.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace gemwright::formats {

/// The fixed codebook of NF2, NF3, NF4 and FP4, in order of the codes; empty for other codes.
std::span<const float> fixed_codebook(const WeightFormat& format);

/// Of codes that are computed: the number that one stands for, before zero point and scale.
double code_value(const WeightFormat& format, std::uint8_t code);

/// The number that each code stands for, before zero point and scale: the code itself where
/// integers have zero points; empty where the codebook comes with the weight.
std::vector<double> code_values(const WeightFormat& format);

double scale_value(ScaleType type, std::uint32_t bits);

/// To nearest even; e4m3 and e8m0 saturate. e8m0 takes the nearest
/// power of two, upwards from 1.5 times one.
std::uint32_t scale_bits(ScaleType type, double value);

}  // namespace gemwright::formats
