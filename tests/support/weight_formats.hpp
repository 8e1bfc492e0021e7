// The weight formats that tests go through.
#pragma once

#include <string_view>

namespace gemwright {

/// One format of every kind of codes, grouping, scale and zero point.
inline constexpr std::string_view kManyFormats[] = {
    "nf4:g64:bf16",    "nf3:g32:f16",      "nf2:row:f32",         "fp4:flat64:f32",
    "int4:g128:f16",   "int4z:g128:f16",   "int4z:g32:f16:order", "int3z:g64:bf16",
    "int3r:g64:f16",   "int2:g16:bf16",    "int8:row:f32",        "int8z:g256:f32",
    "int8:tensor:f32", "e2m1:g32:e8m0",    "e2m1:g16:e4m3*f32",   "e4m3:g32:e8m0",
    "e5m2:g32:e8m0",   "e4m3:128x128:f32", "e4m3:row:f32",        "lut4:g64:f16",
    "lut3:g128:bf16",  "rowlut4:row:f16",  "rowlut2:g64:f32",     "lut8:g64:f32",
    "nf4:flat256:f32",
};

}  // namespace gemwright
