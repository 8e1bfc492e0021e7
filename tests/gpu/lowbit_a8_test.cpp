// Low-bit weights with activations rounded to e4m3: every configuration and format, sizes that end
// inside tiles and windows, any strides, epilogues, rows with NaN. Beside random data, rows whose
// codes are small integers with a scale of 1: with a weight of few bits all sums are then exact, in
// fp8's accumulator too.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/gemm_case.hpp"
#include "tune/low_bit.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::string_view kFormats[] = {"int4",
                                         "int4z",
                                         "int4:g32:f16",
                                         "int4z:g64:bf16",
                                         "int4:row:f32",
                                         "int4:g256:bf16",
                                         "int4:tensor:f16",
                                         "mxfp4",
                                         "e2m1:g128:bf16",
                                         "e2m1:g64:e4m3*f32",
                                         "int2",
                                         "int2z:g32:f16",
                                         "int3",
                                         "int3z:g64:f16",
                                         "fp8",
                                         "fp8-block",
                                         "mxfp8",
                                         "int4:flat64:f32",
                                         "int4z:g128:f16:order"};

class CudaLowbitA8 : public GpuTest {
 protected:
  static const CudaFamily& family() {
    return dynamic_cast<const CudaFamily&>(*families::find("cuda_lowbit_a8"));
  }

  static Problem layer(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view format,
                       DataType type = DataType::bf16) {
    Problem p = Problem::linear(m, n, k, type, parse_weight_format(format));
    p.activations = Activations::e4m3;
    if (n % 8 != 0) p.d.alignment = size_bytes(p.d.type);
    if (k % 8 != 0) p.a.alignment = size_bytes(p.a.type);
    return p;
  }

  static Case random(const Problem& problem) {
    return {.name = key(problem), .problem = problem, .fill = Fill::normal, .fp8_sums = true};
  }

  // -2 to 2, and the largest code once a row, so that its scale is 1. A's rows are contiguous.
  static Case whole_numbers(const Problem& problem) {
    const std::int64_t k = problem.k;
    const auto values = [k](char operand, std::int64_t index) {
      constexpr double kLargest = 448;
      if (operand == 'a' && index % k == index / k % k) return kLargest;
      return static_cast<double>(index * 7 % 11 % 5 - 2);
    };
    return {.name = key(problem) + " whole numbers",
            .problem = problem,
            .values = values,
            .fp8_sums = problem.weight->codes == Codes::e4m3};
  }

  // Every `stride`th configuration of all cases.
  void check_all(const std::vector<Case>& cases, std::size_t stride = 1) {
    const Device device = Device::cuda(0);
    std::vector<std::vector<Configuration>> configurations;
    std::vector<compile::Source> sources;
    std::size_t turn = 0;
    for (const Case& one : cases) {
      const Problem form = canonical(one.problem).problem;
      ASSERT_EQ(family().refuse(form, device).value_or(""), "") << one.name;
      auto& own = configurations.emplace_back();
      for (const auto& configuration : family().configurations(form, device)) {
        if (turn++ % stride != 0) continue;
        own.push_back(configuration);
        sources.push_back(family().source(form, device, configuration));
      }
    }
    build_ahead(sources);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      memory_.clear();
      Fixture fixture(cases[i], memory_);
      for (const Configuration& configuration : configurations[i]) {
        EXPECT_EQ(check(family(), device, configuration, fixture), "")
            << cases[i].name << " " << family().configuration_name(configuration);
      }
    }
  }

  DeviceMemory memory_;
};

TEST_F(CudaLowbitA8, EveryConfigurationAtAwkwardSizes) {
  std::vector<Case> cases;
  for (const std::int64_t m : {1, 7, 16, 33, 64, 130, 300}) {
    for (const std::string_view format : {"int4", "mxfp4"}) {
      cases.push_back(whole_numbers(layer(m, 200, 1000, format)));
      cases.push_back(random(layer(m, 77, 333, format)));
    }
    cases.push_back(random(layer(m, 8, 8, "fp8")));
  }
  // More tiles than CTAs; many windows.
  cases.push_back(whole_numbers(layer(140, 17000, 136, "int4")));
  cases.push_back(random(layer(40, 520, 6144, "int4z")));
  check_all(cases, 3);
}

TEST_F(CudaLowbitA8, EveryFormat) {
  std::vector<Case> cases;
  for (const std::string_view format : kFormats) {
    for (const std::int64_t m : {7, 300}) {
      cases.push_back(whole_numbers(layer(m, 130, 448, format)));
      cases.push_back(random(layer(m, 200, 576, format, DataType::f16)));
    }
  }
  check_all(cases, 5);
}

TEST_F(CudaLowbitA8, EveryEpilogue) {
  std::vector<Case> cases;
  for (const std::int64_t m : {16, 300}) {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
      Problem p = layer(m, 136, 256, "int4:g64:bf16", type);
      p.alpha = -0.5F;
      p.bias = m == 16 ? Bias::per_column : Bias::per_row;
      p.bias_type = type;
      cases.push_back(random(p));
      p.c = p.d;
      p.beta = 1.5F;
      cases.push_back(random(p));
      cases.back().c_is_d = true;
    }
  }
  check_all(cases, 3);
}

TEST_F(CudaLowbitA8, AnyStridesOfA) {
  std::vector<Case> cases;
  Problem transposed = layer(35, 130, 320, "int4");
  transposed.a.row_stride = 1;
  transposed.a.col_stride = 40;
  cases.push_back(random(transposed));
  Problem padded = layer(35, 130, 320, "mxfp4");
  padded.a.row_stride = 333;
  padded.a.alignment = 2;
  cases.push_back(random(padded));
  Problem broadcast = layer(35, 130, 320, "fp8");
  broadcast.a.row_stride = 0;
  cases.push_back(random(broadcast));
  check_all(cases, 2);
}

TEST_F(CudaLowbitA8, RowsOfNanInfinityAndZeros) {
  std::vector<Case> cases;
  for (const std::string_view format : {"int4", "mxfp4", "fp8"}) {
    for (const std::int64_t m : {9, 200}) {
      cases.push_back(random(layer(m, 72, 41, format)));
      cases.back().fill = Fill::special;
    }
    Case zeros = random(layer(5, 72, 128, format));
    zeros.values = [](char operand, std::int64_t index) {
      return operand == 'a' && index / 128 % 2 == 0 ? 0.0 : 1.0;
    };
    cases.push_back(zeros);
  }
  check_all(cases, 2);
}

// Powers of two become a part of the weights unless groups of a row are too far apart: some here
// are, and those with the larger scales are zeros in every other row.
TEST_F(CudaLowbitA8, GroupsFarApart) {
  std::vector<Case> cases;
  for (const std::int64_t m : {20, 200}) {
    Case one = whole_numbers(layer(m, 200, 416, "mxfp4"));
    one.fp8_sums = true;
    one.problem.d.type = DataType::f32;
    CodedWeight weight = tune::test_weight(one.problem);
    constexpr std::int64_t kGroup = 32;
    for (std::int64_t i = 0; i < std::ssize(weight.scales); ++i) {
      const std::int64_t groups = (weight.k + kGroup - 1) / kGroup;
      const std::int64_t row = i / groups;
      const std::int64_t exponent = i * 7 % (row % 3 == 0 ? 12 : 31) - 15;
      weight.scales[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(127 + exponent);
      if (row % 2 == 0 || exponent < 0) continue;
      std::fill_n(weight.codes.begin() + row * weight.k + i % groups * kGroup, kGroup, 0);
    }
    one.weight = std::move(weight);
    cases.push_back(std::move(one));
  }
  check_all(cases, 2);
}

// The second fixture's inputs come between two runs of the first, in one workspace.
TEST_F(CudaLowbitA8, GraphReplaysWithTheSameBits) {
  const Device device = Device::cuda(0);
  const Problem problem = layer(150, 520, 512, "int4");
  const Problem form = canonical(problem).problem;
  Fixture first(random(problem), memory_, 1);
  Fixture second(random(problem), memory_, 2);
  for (const Configuration& configuration : family().configurations(form, device)) {
    const auto kernel = family().build(form, device, configuration);
    const Workspace workspace = make_workspace(memory_, kernel->workspace_bytes(form));
    const auto& stream = memory_.own_stream();
    const cuda::Graph graph(0, stream, [&] {
      kernel->run(form, first.operands(), workspace.data, memory_.stream());
      kernel->run(form, second.operands(), workspace.data, memory_.stream());
    });
    std::vector<std::byte> bits;
    for (int replay = 0; replay < 3; ++replay) {
      first.reset();
      second.reset();
      graph.launch(stream);
      stream.synchronize();
      EXPECT_EQ(first.compare(), "") << family().configuration_name(configuration);
      EXPECT_EQ(second.compare(), "") << family().configuration_name(configuration);
      auto output = first.output();
      if (replay == 0)
        bits = std::move(output);
      else
        EXPECT_EQ(output, bits) << family().configuration_name(configuration);
    }
  }
}

}  // namespace
}  // namespace gemwright::test
