// Low-bit weights decoded for a dense product, without a GPU: which formats are exact, and what a
// plan asks for.
#include "compile/nvrtc.hpp"
#include "model/rank.hpp"
#include <gemwright/device.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

Problem decoded_layer(std::int64_t m, std::string_view format, DataType type = DataType::bf16) {
  return canonical(Problem::linear(m, 4096, 4096, type, parse_weight_format(format))).problem;
}

std::string decoded_refusal(const Problem& problem,
                            std::string_view family = "cuda_lowbit_decoded") {
  return families::find(family)->refuse(problem, Device::parse("h200")).value_or("");
}

TEST(CudaLowbitDecoded, TakesWhatIsExact) {
  for (const std::string_view format :
       {"mxfp4", "nvfp4", "mxfp8", "fp8", "int8", "int8:g64:e8m0", "int4:g32:e4m3", "int2",
        "nf4:g64:e8m0", "nf4:row:f32", "rowlut4:g64:e8m0", "e4m3:g32:e4m3"}) {
    EXPECT_EQ(decoded_refusal(decoded_layer(512, format)), "") << format;
  }
  for (const std::string_view format : {"nvfp4", "fp8", "int8", "int4:g64:e4m3", "nf4:row:f32"}) {
    EXPECT_EQ(decoded_refusal(decoded_layer(512, format, DataType::f16)), "") << format;
  }
}

TEST(CudaLowbitDecoded, RefusesWhatWouldBeRounded) {
  for (const std::string_view format : {"nf4", "int4", "int4z", "fp8-block", "int8:g128:bf16",
                                        "int2:g64:f16", "nf4:g32:e4m3", "int3z:g64:bf16"}) {
    EXPECT_NE(decoded_refusal(decoded_layer(512, format)).find("not exact in bf16"),
              std::string::npos)
        << format;
  }
  // Beyond the range of fp16, or perhaps.
  for (const std::string_view format : {"mxfp4", "mxfp8", "e4m3:g32:e4m3", "int2:g64:bf16"}) {
    EXPECT_NE(decoded_refusal(decoded_layer(512, format, DataType::f16)).find("not exact in f16"),
              std::string::npos)
        << format;
  }
  EXPECT_NE(decoded_refusal(decoded_layer(512, "int4r:g64:f16")).find("real numbers"),
            std::string::npos);
  EXPECT_NE(decoded_refusal(decoded_layer(512, "int4:g32:e8m0:order")).find("order"),
            std::string::npos);
  EXPECT_NE(decoded_refusal(decoded_layer(16, "mxfp4")).find("longer to decode"),
            std::string::npos);
  EXPECT_NE(
      decoded_refusal(decoded_layer(512, "nvfp4"), "cuda_lowbit_decoded_mma").find("left over"),
      std::string::npos);
}

// The scratch memory is a part of the plan: counters, factors, 16 bits for each weight.
TEST(CudaLowbitDecoded, AsksForRoomForTheWeight) {
  if (compile::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  const Device device = Device::parse("h200");
  const Problem problem = decoded_layer(512, "nvfp4");
  const Family& family = *families::find("cuda_lowbit_decoded");
  const auto kernel = family.build(problem, device, family.configurations(problem, device).front());
  constexpr std::size_t kWeight = std::size_t{4096} * 4096 * 2;
  EXPECT_GE(kernel->workspace_bytes(problem), kWeight + 4096 * sizeof(float));
  EXPECT_LE(kernel->workspace_bytes(problem), kWeight + (1U << 20));
}

TEST(CudaLowbitDecoded, IsPredictedWhereRowsAreMany) {
  std::vector<Refusal> refusals;
  const auto ranked = model::rank(decoded_layer(4096, "nvfp4"), Device::parse("h200"), refusals);
  const auto first = std::find_if(ranked.begin(), ranked.end(), [](const Candidate& one) {
    return one.family->name() == "cuda_lowbit_decoded";
  });
  EXPECT_LT(first - ranked.begin(), 5);  // as many as are measured
}

}  // namespace
}  // namespace gemwright
