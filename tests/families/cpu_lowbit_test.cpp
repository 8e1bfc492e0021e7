#include "families/cpu_lowbit/setup.hpp"
#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
#include "numeric/convert.hpp"
#include "support/cases.hpp"
#include "tune/low_bit.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::cpu_lowbit {
namespace {

const Family& family() {
  return *families::find("cpu_lowbit");
}

Setup panels(Isa isa, cpu_packed::Isa packed, int rows, int width, int kc, int split) {
  return {isa,
          Path::panels,
          {packed, cpu_packed::Path::pack, rows, width, 0, static_cast<int>(kPanelRows) * width, kc,
           2, split}};
}

Setup integers(Isa isa) {
  Setup setup{isa, Path::integers, {}};
  setup.blocks.threads = 2;
  return setup;
}

// All paths by each instruction set: panels in blocks of one tile and of more, with K whole and
// split.
std::vector<Setup> every_way(std::int64_t m) {
  const int few = static_cast<int>(std::min<std::int64_t>(m, 6));
  std::vector<Setup> all{panels(Isa::scalar, cpu_packed::Isa::scalar, 1, 1, 64, 1),
                         panels(Isa::avx2, cpu_packed::Isa::avx2, few > 4 ? 4 : few, 1, 128, 1),
                         panels(Isa::avx512, cpu_packed::Isa::avx512, few, 2, 128, 1),
                         panels(Isa::avx512, cpu_packed::Isa::avx512, few, 1, 64, 2)};
  for (const Isa isa : {Isa::avx512, Isa::avx512_bf16, Isa::avx512_vnni, Isa::amx}) {
    Setup stream{isa, Path::stream, {}};
    stream.blocks.threads = 2;
    all.push_back(stream);
  }
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512_vnni}) all.push_back(integers(isa));
  return all;
}

class LowBitIsa : public testing::TestWithParam<DataType> {};

// Each instruction set that this CPU has, also where a better one would be chosen.
TEST_P(LowBitIsa, EveryInstructionSetIsRightOnEveryFormat) {
  const Device device = Device::cpu();
  std::set<std::string> formats;
  std::vector<test::Case> cases = test::low_bit_cases(GetParam());
  const std::vector<test::Case> rounded = test::rounded_cases(GetParam());
  cases.insert(cases.end(), rounded.begin(), rounded.end());
  for (const test::Case& one : cases) {
    const Problem problem = canonical(one.problem).problem;
    const auto memory = test::host_memory();
    test::Fixture fixture(one, *memory);
    for (const auto& setup : every_way(problem.m)) {
      const auto& features = device.profile().cpu.features;
      if (kernels(setup.isa, setup.path, problem, features) == nullptr) continue;
      ASSERT_EQ(test::check(family(), device, encode(setup), fixture), "") << setup_name(setup);
      if (setup.isa == Isa::scalar) formats.insert(key(*one.problem.weight));
    }
  }
  EXPECT_GT(formats.size(), 20U);
}

INSTANTIATE_TEST_SUITE_P(Types, LowBitIsa,
                         testing::Values(DataType::f32, DataType::f16, DataType::bf16),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST(LowBit, TakesStridesBatchesAndManyRows) {
  const Device device = Device::cpu();
  for (const char* format : {"nf4:g64:bf16", "nvfp4", "int4z:g32:f16:order"}) {
    Problem problem = Problem::linear(19, 100, 200, DataType::bf16, parse_weight_format(format));
    problem.batch = 3;
    problem.a = {.type = DataType::bf16,
                 .row_stride = 1,
                 .col_stride = 19,
                 .batch_stride = 4000,
                 .alignment = 2};
    problem.d = {.type = DataType::f32, .row_stride = 104, .col_stride = 1, .batch_stride = 2000};
    const test::Case one{.name = format, .problem = problem, .fill = test::Fill::normal};
    const auto memory = test::host_memory();
    test::Fixture fixture(one, *memory);
    for (const Configuration& configuration :
         family().configurations(canonical(problem).problem, device)) {
      EXPECT_EQ(test::check(family(), device, configuration, fixture), "");
    }
  }
}

// Up to four blocks of 16 rows, and more; groups of a tile, of several, of a row.
TEST(LowBit, ManyRowsByAmx) {
  const Device device = Device::cpu();
  const auto& features = device.profile().cpu.features;
  if (!features.amx_bf16) GTEST_SKIP() << "the CPU has no AMX";
  for (const char* format :
       {"nf4", "int4:g128:f16", "mxfp4", "nvfp4", "int4:row:f32", "nf4:g256:f32",
        "fp4:g64:f32:order", "int4z", "int4z:row:f16", "int4z:g32:f16", "int4z:g16:f32"}) {
    for (const std::int64_t m : {1, 16, 17, 64, 83, 300}) {
      const std::int64_t k = m % 2 == 0 ? 576 : 392;
      const Problem problem =
          canonical(Problem::linear(m, 100, k, DataType::bf16, parse_weight_format(format)))
              .problem;
      cpu_lowbit::Setup setup{Isa::amx, Path::stream, {}};
      setup.blocks.threads = 2;
      ASSERT_NE(kernels(setup.isa, setup.path, problem, features), nullptr);
      const auto memory = test::host_memory();
      EXPECT_EQ(
          test::check(family(), device, encode(setup),
                      {.name = format, .problem = problem, .fill = test::Fill::normal}, *memory),
          "");
    }
  }
}

// Rows of integers whose largest is 127 have a scale of 1, and are their own codes.
class ExactActivations {
 public:
  ExactActivations(const std::string& format, std::int64_t m, std::int64_t n, std::int64_t k)
      : problem(Problem::linear(m, n, k, DataType::bf16, parse_weight_format(format))) {
    problem.activations = Activations::int8;
    problem.d.type = DataType::f32;
    weight = tune::test_weight(problem);
    std::fill(weight.scales.begin(), weight.scales.end(), 0x40000000U);  // 2
    for (std::int64_t i = 0; i < m * k; ++i) {
      const std::int64_t value = i % k == i / k % k ? 127 - i % 2 * 254 : i * i % 173 % 59 - 29;
      a.push_back(numeric::to_bf16(static_cast<float>(value)));
    }
  }

  float exact(std::int64_t row, std::int64_t col) const {
    const formats::Groups groups{weight.format, weight.n, weight.k};
    double sum = 0;
    for (std::int64_t k = 0; k < problem.k; ++k) {
      const auto at = static_cast<std::size_t>(col * problem.k + k);
      double value = formats::code_value(weight.format, weight.codes[at]);
      if (weight.format.zero == Zero::integer) {
        const std::int64_t group = k / formats::group_columns(weight.format, weight.k);
        value -= weight.zeros[static_cast<std::size_t>(groups.first(col) + group)];
      }
      sum += 2 * value * numeric::from_bf16(a[static_cast<std::size_t>(row * problem.k + k)]);
    }
    return static_cast<float>(sum);
  }

  Problem problem;
  CodedWeight weight;
  std::vector<std::uint16_t> a;
};

// Past the tiles of W, the rows that a pass takes and the columns that a block of codes does.
TEST(LowBit, IntegersAreExact) {
  const std::array<std::array<std::int64_t, 3>, 7> shapes{{{1, 1, 1},
                                                           {6, 64, 64},
                                                           {7, 65, 63},
                                                           {2, 130, 300},
                                                           {13, 63, 512},
                                                           {5, 70, 1300},
                                                           {200, 3, 90}}};
  for (const char* format : {"int4:g128:f32", "int4z:g32:f32", "int8:row:f32", "int8z:g64:f32",
                             "int3z:g16:f32", "int2:g256:f32", "e2m1:g32:f32", "int3:tensor:f32"}) {
    for (const auto& [m, n, k] : shapes) {
      const ExactActivations exact(format, m, n, k);
      auto memory = test::host_memory();
      void* packed = memory->allocate(packed_weights_bytes(exact.problem));
      pack_weights(exact.weight, packed);
      for (const auto& setup : every_way(m)) {
        const CpuFeatures features = Device::cpu().profile().cpu.features;
        if (kernels(setup.isa, setup.path, exact.problem, features) == nullptr) continue;
        const auto kernel = family().build(exact.problem, Device::cpu(), encode(setup));
        std::vector<std::byte> workspace(kernel->workspace_bytes(exact.problem));
        std::vector<float> d(static_cast<std::size_t>(m * n), 1e30F);
        kernel->run(exact.problem, {.a = exact.a.data(), .b = packed, .d = d.data()},
                    workspace.data(), {});
        for (std::int64_t i = 0; i < m * n; ++i) {
          ASSERT_EQ(d[static_cast<std::size_t>(i)], exact.exact(i / n, i % n))
              << setup_name(setup) << " " << key(exact.problem) << " at " << i;
        }
      }
    }
  }
}

TEST(LowBit, WholeNumbersAreMultipliedAsIntegers) {
  const auto listed = [](const char* format, std::int64_t k, Activations activations) {
    Problem problem = Problem::linear(4, 64, k, DataType::bf16, parse_weight_format(format));
    problem.activations = activations;
    const Problem form = canonical(problem).problem;
    const auto all = family().configurations(form, Device::cpu());
    return std::any_of(all.begin(), all.end(),
                       [](const auto& one) { return decode(one).path == Path::integers; });
  };
  for (const char* format :
       {"int4", "int8", "int3z", "int2", "nvfp4", "mxfp4", "int4:flat64:f32"}) {
    EXPECT_TRUE(listed(format, 128, Activations::int8)) << format;
    EXPECT_FALSE(listed(format, 128, Activations::e4m3)) << format;
    EXPECT_FALSE(listed(format, 128, Activations::as_given)) << format;
  }
  for (const char* format : {"nf4", "fp8", "lut4", "int4r:g64:f16"}) {
    EXPECT_FALSE(listed(format, 128, Activations::int8)) << format;
  }
  EXPECT_FALSE(listed("int4:flat64:f32", 100, Activations::int8));
}

TEST(LowBit, AKernelServesActivationsAsItWasBuiltForAlone) {
  Problem problem = Problem::linear(2, 64, 64, DataType::bf16, parse_weight_format("int4"));
  const auto setup = panels(Isa::scalar, cpu_packed::Isa::scalar, 1, 1, 64, 1);
  const auto as_given = family().build(problem, Device::cpu(), encode(setup));
  problem.activations = Activations::e4m3;
  const auto rounded = family().build(problem, Device::cpu(), encode(setup));
  EXPECT_TRUE(rounded->serves(problem));
  EXPECT_FALSE(as_given->serves(problem));
  problem.activations = Activations::int8;
  EXPECT_FALSE(rounded->serves(problem));
}

// What summation_order promises: a row's bits are the same alone and among others.
TEST(LowBit, ARowDoesNotDependOnTheOthers) {
  constexpr std::int64_t kRows = 13;
  for (const char* format : {"nf4:g64:bf16", "nvfp4", "int4z:g32:f16", "int4:g128:bf16"}) {
    Problem problem =
        Problem::linear(kRows, 100, 1000, DataType::bf16, parse_weight_format(format));
    problem.d.type = DataType::f32;
    if (problem.weight->group == 128) problem.activations = Activations::int8;
    const CodedWeight weight = tune::test_weight(problem);
    auto memory = test::host_memory();
    void* packed = memory->allocate(packed_weights_bytes(problem));
    pack_weights(weight, packed);
    std::vector<std::uint16_t> a(kRows * 1000);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::uint16_t>(0x3F00 + i * 37 % 256);
    }
    // By the name of the order: the same bits, whatever the configuration.
    std::map<std::string, std::vector<float>, std::less<>> results;
    for (const Configuration& configuration : family().configurations(problem, Device::cpu())) {
      const std::string_view order = family().summation_order(problem, configuration);
      if (order.empty()) continue;
      const auto kernel = family().build(problem, Device::cpu(), configuration);
      std::vector<std::byte> workspace(kernel->workspace_bytes(problem));
      std::vector<float> all(kRows * 100);
      kernel->run(problem, {.a = a.data(), .b = packed, .d = all.data()}, workspace.data(), {});
      EXPECT_EQ(results.try_emplace(std::string(order), all).first->second, all) << order;
      Problem one = problem;
      one.m = 1;
      for (std::size_t row = 0; row < kRows; ++row) {
        std::vector<float> alone(100);
        kernel->run(one, {.a = a.data() + row * 1000, .b = packed, .d = alone.data()},
                    workspace.data(), {});
        EXPECT_EQ(std::memcmp(alone.data(), all.data() + row * 100, 400), 0) << format << row;
      }
    }
    EXPECT_FALSE(results.empty());
  }
}

TEST(LowBit, InfiniteScalesMeetNoPadding) {
  const Device device = Device::cpu();
  for (const std::int64_t k : {1, 2, 9, 16, 64, 65, 100, 101}) {
    Problem problem =
        canonical(Problem::linear(1, 3, k, DataType::f32, parse_weight_format("int4:g16:f32")))
            .problem;
    if (k % 2 == 0) problem.activations = Activations::int8;
    CodedWeight weight = tune::test_weight(problem);
    std::fill(weight.codes.begin(), weight.codes.end(), std::uint8_t{9});  // one
    std::fill(weight.scales.begin(), weight.scales.end(), 0x7F800000U);    // infinity
    const auto memory = test::host_memory();
    void* packed = memory->allocate(packed_weights_bytes(problem));
    pack_weights(weight, packed);
    const std::vector<float> a(static_cast<std::size_t>(k), 1.0F);
    for (const auto& setup : every_way(1)) {
      const auto& features = device.profile().cpu.features;
      if (kernels(setup.isa, setup.path, problem, features) == nullptr) continue;
      const auto kernel = family().build(problem, device, encode(setup));
      std::vector<std::byte> workspace(kernel->workspace_bytes(problem));
      std::vector<float> d(3);
      kernel->run(problem, {.a = a.data(), .b = packed, .d = d.data()}, workspace.data(), {});
      for (const float value : d) {
        EXPECT_EQ(value, std::numeric_limits<float>::infinity()) << setup_name(setup) << " " << k;
      }
    }
  }
}

TEST(LowBit, RefusesAWeightPackedForSomethingElse) {
  const Problem problem =
      Problem::linear(1, 64, 64, DataType::f32, parse_weight_format("nf4:g64:f32"));
  const auto kernel = family().build(
      problem, Device::cpu(), encode(panels(Isa::scalar, cpu_packed::Isa::scalar, 1, 1, 64, 1)));
  auto memory = test::host_memory();
  const auto run = [&](const CodedWeight& weight) {
    void* packed = memory->allocate(packed_weights_bytes(weight.format, weight.n, weight.k));
    pack_weights(weight, packed);
    std::vector<float> a(64, 1.0F);
    std::vector<float> d(64);
    std::vector<std::byte> workspace(kernel->workspace_bytes(problem));
    kernel->run(problem, {.a = a.data(), .b = packed, .d = d.data()}, workspace.data(), {});
  };
  CodedWeight weight = tune::test_weight(problem);
  EXPECT_NO_THROW(run(weight));
  // Blocks that divide K are groups along K.
  weight.format.grouping = Grouping::flat;
  EXPECT_NO_THROW(run(weight));
  Problem other = problem;
  other.weight = parse_weight_format("int4:g64:f32");
  EXPECT_THROW(run(tune::test_weight(other)), InvalidArgument);
  other = Problem::linear(1, 128, 64, DataType::f32, *problem.weight);
  EXPECT_THROW(run(tune::test_weight(other)), InvalidArgument);
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
