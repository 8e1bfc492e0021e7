// Activations rounded to codes that are multiplied as bf16 numbers: every format with both kinds of
// codes, any type and strides of A, epilogues, split and streamed K, rows with NaN; and bits that
// stay the same in one workspace.
#include "gpu/device_memory.hpp"
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
  static const Family& family() { return *families::find("cuda_lowbit_rounded"); }

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

  // `count` configurations, spread over its list.
  void check_some(const Case& one, std::size_t count) {
    const Device device = Device::cuda(0);
    const Problem form = canonical(one.problem).problem;
    ASSERT_EQ(family().refuse(form, device).value_or(""), "") << one.name;
    memory_.clear();
    Fixture fixture(one, memory_);
    const auto list = family().configurations(form, device);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& configuration = list[(turn_ + i * list.size() / count) % list.size()];
      EXPECT_EQ(check(family(), device, configuration, fixture), "");
    }
    ++turn_;
  }

  DeviceMemory memory_;
  std::size_t turn_ = 0;
};

TEST_F(CudaLowbitRounded, EveryFormatAndKind) {
  for (const std::string_view format : kFormats) {
    for (const Activations to : {Activations::e4m3, Activations::int8}) {
      check_some(layer(7, 200, 1000, format, to), 2);
      check_some(layer(200, 72, 333, format, to, DataType::f16), 1);
    }
  }
}

TEST_F(CudaLowbitRounded, EveryEpilogueAndStridesOfA) {
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    Case one = layer(40, 264, 320, "nvfp4", to, DataType::f32);
    Problem& p = one.problem;
    p.alpha = -0.5F;
    p.bias = Bias::per_column;
    check_some(one, 2);
    p.c = p.d;
    p.beta = 1.5F;
    one.c_is_d = true;
    p.a.row_stride = 1;
    p.a.col_stride = 40;
    check_some(one, 2);
    p.a = {.type = DataType::f32, .row_stride = 0, .alignment = 4};
    check_some(one, 1);
  }
}

TEST_F(CudaLowbitRounded, RowsOfNanInfinityAndZeros) {
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    Case special = layer(90, 72, 41, "nvfp4", to);
    special.fill = Fill::special;
    check_some(special, 2);
    Case zeros = layer(5, 72, 128, "nf4", to);
    zeros.values = [](char operand, std::int64_t index) {
      return operand == 'a' && index / 128 % 2 == 0 ? 0.0 : 1.0;
    };
    check_some(zeros, 2);
  }
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
