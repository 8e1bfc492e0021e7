// Families of low-bit weights: every configuration on sizes that end inside tiles, steps,
// passes and groups, and on every kind of code, scale and zero point.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/gemm_case.hpp"
#include "tune/low_bit.hpp"

#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gemwright::test {
namespace {

class CudaLowbit : public GpuTest, public testing::WithParamInterface<const char*> {
 protected:
  static const CudaFamily& family() {
    return dynamic_cast<const CudaFamily&>(*families::find(GetParam()));
  }

  static Problem layer(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view format,
                       DataType type = DataType::bf16) {
    return Problem::linear(m, n, k, type, parse_weight_format(format));
  }

  // Every `stride`th configuration.
  void check_all(const std::vector<Case>& cases, std::size_t stride = 1) {
    const Device device = Device::cuda(0);
    std::vector<std::vector<Configuration>> configurations(cases.size());
    std::vector<compile::Source> sources;
    std::size_t turn = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Problem form = canonical(cases[i].problem).problem;
      if (family().refuse(form, device)) continue;
      for (const auto& configuration : family().configurations(form, device)) {
        if (turn++ % stride != 0) continue;
        configurations[i].push_back(configuration);
        sources.push_back(family().source(form, device, configuration));
      }
    }
    build_ahead(sources);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (configurations[i].empty()) continue;
      memory_.clear();
      Fixture fixture(cases[i], memory_);
      for (const Configuration& configuration : configurations[i]) {
        EXPECT_EQ(check(family(), device, configuration, fixture), "")
            << cases[i].name << " " << family().configuration_name(configuration);
      }
    }
  }

  void check_all(const std::vector<Problem>& problems, std::size_t stride = 1) {
    std::vector<Case> cases;
    for (const Problem& problem : problems) {
      cases.push_back({.name = key(problem), .problem = problem, .fill = Fill::normal});
    }
    check_all(cases, stride);
  }

  DeviceMemory memory_;
};

TEST_P(CudaLowbit, EveryConfigurationAtAwkwardSizes) {
  std::vector<Problem> problems;
  for (const std::int64_t m : {1, 13, 40, 300}) {
    // More tiles than one pass takes; K that ends inside a step, a block; fewer rows than a tile.
    problems.push_back(layer(m, 17000, 136, "nf4"));
    problems.push_back(layer(m, 72, 1000, "nf4"));
    problems.push_back(layer(m, 1048, 6144, "nf4"));
    problems.push_back(layer(m, 8, 8, "nf4"));
  }
  check_all(problems, 9);
}

TEST_P(CudaLowbit, EveryFormat) {
  std::vector<Problem> problems;
  for (const std::string_view format : {"int4",
                                        "int4z",
                                        "int4:g32:f32",
                                        "int4z:g16:f16",
                                        "int4:row:f32",
                                        "int4:tensor:f16",
                                        "int4:g256:bf16",
                                        "int4r:g32:f16",
                                        "mxfp4",
                                        "nvfp4",
                                        "e2m1:g128:e8m0",
                                        "fp4",
                                        "bnb-nf4",
                                        "lut4",
                                        "rowlut4:g32:bf16",
                                        "int4z:g128:f16:order",
                                        "nf2",
                                        "nf3:g32:f16",
                                        "int2",
                                        "int2z:g32:f16",
                                        "int3",
                                        "int3r:g16:f32",
                                        "lut2:row:f16",
                                        "rowlut3:g64:bf16",
                                        "int8",
                                        "int8z:g64:f16",
                                        "int8r:g128:f32",
                                        "lut8:g16:f16",
                                        "mxfp8",
                                        "e5m2:g64:bf16",
                                        "fp8",
                                        "fp8-block"}) {
    for (const DataType type : {DataType::bf16, DataType::f16}) {
      problems.push_back(layer(7, 328, 1088, format, type));
      problems.push_back(layer(30, 328, 1088, format, type));
      problems.push_back(layer(200, 328, 1088, format, type));
    }
  }
  check_all(problems, 61);
}

// Scales as they come: of all sizes in a row, tiny or huge in all of it, negative, zero, subnormal.
TEST_P(CudaLowbit, ScalesOfAnySize) {
  constexpr float kBf16[][4] = {{0x1p-90F, -0x1.8p-88F, 0x1.2p-91F, 0x1p-94F},
                                {0x1.4p70F, 0x1p72F, -0x1p66F, 0x1.8p71F},
                                {0x1p-90F, 0x1.4p40F, -0x1p-70F, 0x1p64F},
                                {0, 0x1.2p-3F, -0x1p-2F, 0},
                                {0x1p-130F, 0, 0x1.8p-128F, 0x1p-126F}};
  constexpr std::uint32_t kF16[][4] = {{1, 0x8003, 2, 0x0200},
                                       {0x4c00, 0xcd00, 0x4e00, 0x5000},
                                       {1, 0x4400, 0x8001, 0x2c00},
                                       {0, 0x3c00, 0xb800, 0},
                                       {0x03ff, 0x8400, 0x0400, 0}};
  std::vector<Case> cases;
  for (const std::int64_t m : {9, 150}) {
    for (const std::string_view format : {"nf4:g64:bf16", "int4z:g32:bf16", "int4:g128:f16"}) {
      const bool f16 = format.ends_with(":f16");
      Problem problem = layer(m, 200, 1000, format, f16 ? DataType::f16 : DataType::bf16);
      problem.d.type = DataType::f32;
      CodedWeight weight = tune::test_weight(problem);
      const std::int64_t groups = std::ssize(weight.scales) / weight.n;
      for (std::int64_t i = 0; i < std::ssize(weight.scales); ++i) {
        const std::int64_t row = i / groups % 5;
        weight.scales[static_cast<std::size_t>(i)] =
            f16 ? kF16[row][i % 4] : std::bit_cast<std::uint32_t>(kBf16[row][i % 4]) >> 16;
      }
      for (const float alpha : {1.0F, 0x1p90F}) {  // the second shows what is tiny
        problem.alpha = alpha;
        cases.push_back(
            {.name = key(problem), .problem = problem, .fill = Fill::normal, .weight = weight});
      }
    }
  }
  check_all(cases, 3);
}

// What bulk copies cannot take of A.
TEST_P(CudaLowbit, AnyStridesOfA) {
  std::vector<Problem> problems;
  Problem odd = layer(5, 130, 333, "nf4");
  odd.a.alignment = 2;
  problems.push_back(odd);
  Problem transposed = layer(11, 130, 320, "mxfp4");
  std::swap(transposed.a.row_stride, transposed.a.col_stride);
  transposed.a.col_stride = 11;
  problems.push_back(transposed);
  check_all(problems, 15);
}

TEST_P(CudaLowbit, SameBitsEveryRun) {
  const Device device = Device::cuda(0);
  const Problem problem = layer(9, 4096, 4096, "nf4");
  const Problem form = canonical(problem).problem;
  Fixture fixture({"bits", problem, Fill::normal, false}, memory_);
  const auto configurations = family().configurations(form, device);
  for (std::size_t at = 0; at < configurations.size(); at += 9) {
    const Configuration& configuration = configurations[at];
    const auto kernel = family().build(form, device, configuration);
    const Workspace workspace = make_workspace(memory_, kernel->workspace_bytes(form));
    std::vector<std::byte> first;
    for (int i = 0; i < 4; ++i) {
      fixture.reset();
      kernel->run(form, fixture.operands(), workspace.data, memory_.stream());
      auto bits = fixture.output();
      if (i == 0)
        first = std::move(bits);
      else
        ASSERT_EQ(bits, first) << family().configuration_name(configuration);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CudaLowbit,
                         testing::Values("cuda_lowbit", "cuda_lowbit_mma", "cuda_lowbit_simt",
                                         "cuda_lowbit_wide"),
                         [](const auto& subject) { return std::string(subject.param); });

}  // namespace
}  // namespace gemwright::test
