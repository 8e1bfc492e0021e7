// Low-bit weights with activations as codes in bf16, without a GPU.
#include "families/family.hpp"
#include <gemwright/device.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

Problem rounded_layer(std::int64_t m, std::string_view format, Activations to,
                      DataType type = DataType::bf16) {
  Problem p = Problem::linear(m, 4096, 4096, type, parse_weight_format(format));
  p.activations = to;
  p.b.type = DataType::bf16;
  return canonical(p).problem;
}

std::string rounded_refusal(const Problem& problem) {
  const Family& family = *families::find("cuda_lowbit_rounded");
  return family.refuse(problem, Device::parse("h200")).value_or("");
}

TEST(CudaLowbitRounded, TakesEveryFormatAndKindOfCodes) {
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    for (const std::string_view format : {"nvfp4", "nf4", "int8", "int4r:g64:f16", "e5m2:g32:e8m0",
                                          "rowlut4:g64:bf16", "int4z:g128:f16:order"}) {
      for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        EXPECT_EQ(rounded_refusal(rounded_layer(16, format, to, type)), "") << format;
      }
    }
  }
  EXPECT_NE(rounded_refusal(rounded_layer(16, "nf4", Activations::as_given)), "");
  Problem other = rounded_layer(16, "nf4", Activations::int8, DataType::f16);
  other.b.type = DataType::f16;
  EXPECT_NE(rounded_refusal(other).find("codebook"), std::string::npos);
}

}  // namespace
}  // namespace gemwright
