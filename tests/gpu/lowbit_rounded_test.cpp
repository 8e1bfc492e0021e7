// Activations rounded to codes that are multiplied as bf16 numbers: every format with both kinds of
// codes, any type and strides of A, epilogues, split and streamed K, rows with NaN; and bits that
// stay the same in one workspace.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/gemm_case.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::string_view kFormats[] = {"nvfp4", "nf4",   "int4", "int4r:g64:f16",       "int8",
                                         "mxfp8", "mxfp4", "lut3", "int4z:g128:f16:order"};

class CudaLowbitRounded : public GpuTest {
 protected:
  static const CudaFamily& family() {
    return dynamic_cast<const CudaFamily&>(*families::find("cuda_lowbit_rounded"));
  }

  static Case layer(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view format,
                    Activations to, DataType type = DataType::bf16) {
    Case one;
    one.problem = Problem::linear(m, n, k, type, parse_weight_format(format));
    one.problem.activations = to;
    one.problem.b.type = DataType::bf16;
    if (n % 8 != 0) one.problem.d.alignment = size_bytes(type);
    if (k % 8 != 0) one.problem.a.alignment = size_bytes(type);
    one.fill = Fill::normal;
    one.name = key(one.problem);
    return one;
  }

  // Two configurations of each, from all over its list.
  void check_all(const std::vector<Case>& cases) {
    const Device device = Device::cuda(0);
    std::vector<std::pair<Case, Configuration>> checks;
    std::vector<compile::Source> sources;
    for (const Case& one : cases) {
      const Problem form = canonical(one.problem).problem;
      ASSERT_EQ(family().refuse(form, device).value_or(""), "") << one.name;
      const auto list = family().configurations(form, device);
      for (int i = 0; i < 2; ++i) {
        checks.emplace_back(one, list[checks.size() * 7 % list.size()]);
        for (auto& source : family().sources(form, device, checks.back().second)) {
          sources.push_back(std::move(source));
        }
      }
    }
    build_ahead(sources);
    for (const auto& [one, configuration] : checks) {
      memory_.clear();
      EXPECT_EQ(check(family(), device, configuration, one, memory_), "");
    }
  }

  DeviceMemory memory_;
};

TEST_F(CudaLowbitRounded, EveryFormatAndKind) {
  std::vector<Case> cases;
  for (const std::string_view format : kFormats) {
    for (const Activations to : {Activations::e4m3, Activations::int8}) {
      cases.push_back(layer(7, 200, 1000, format, to));
      cases.push_back(layer(150, 72, 333, format, to, DataType::f16));
    }
  }
  check_all(cases);
}

TEST_F(CudaLowbitRounded, EveryEpilogueAndStridesOfA) {
  std::vector<Case> cases;
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    Case one = layer(40, 264, 320, "nvfp4", to, DataType::f32);
    Problem& p = one.problem;
    p.alpha = -0.5F;
    p.bias = Bias::per_column;
    cases.push_back(one);
    p.c = p.d;
    p.beta = 1.5F;
    one.c_is_d = true;
    p.a.row_stride = 1;
    p.a.col_stride = 40;
    cases.push_back(one);
    p.a = {.type = DataType::f32, .row_stride = 0, .alignment = 4};
    cases.push_back(one);
  }
  check_all(cases);
}

TEST_F(CudaLowbitRounded, RowsOfNanInfinityAndZeros) {
  std::vector<Case> cases;
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    cases.push_back(layer(90, 72, 41, "nvfp4", to));
    cases.back().fill = Fill::special;
    cases.push_back(layer(5, 72, 128, "nf4", to));
    cases.back().values = [](char operand, std::int64_t index) {
      return operand == 'a' && index / 128 % 2 == 0 ? 0.0 : 1.0;
    };
  }
  check_all(cases);
}

TEST_F(CudaLowbitRounded, GraphReplaysWithTheSameBits) {
  const Device device = Device::cuda(0);
  const Case one = layer(150, 520, 512, "nvfp4", Activations::int8);
  const Problem form = canonical(one.problem).problem;
  Fixture first(one, memory_, 1);
  Fixture second(one, memory_, 2);
  const auto list = family().configurations(form, device);
  for (std::size_t at = 0; at < list.size(); at += list.size() / 3 + 1) {
    const auto kernel = family().build(form, device, list[at]);
    const Workspace workspace = make_workspace(memory_, kernel->workspace_bytes(form));
    const auto& stream = memory_.own_stream();
    const auto run = [&](const Fixture& fixture) {
      Operands operands = fixture.operands();
      operands.early = Early::b;
      kernel->run(form, operands, workspace.data, memory_.stream());
    };
    const cuda::Graph graph(0, stream, [&] {
      run(first);
      run(second);
    });
    std::vector<std::byte> bits;
    for (int replay = 0; replay < 3; ++replay) {
      first.reset();
      second.reset();
      graph.launch(stream);
      stream.synchronize();
      EXPECT_EQ(first.compare(), "") << family().configuration_name(list[at]);
      EXPECT_EQ(second.compare(), "") << family().configuration_name(list[at]);
      auto now = second.output();
      EXPECT_TRUE(replay == 0 || now == bits);
      bits = std::move(now);
    }
  }
}

}  // namespace
}  // namespace gemwright::test
