// Low-bit weights that are decoded to memory and then multiplied by a dense kernel: every format
// that is exact so, sizes that end inside tiles and blocks, and runs that follow each other in one
// workspace, the second beginning before the first has ended.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/gemm_case.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::string_view kFormats[] = {
    "mxfp4",          "nvfp4",         "e2m1:g16:e4m3",     "mxfp8",          "fp8",
    "e5m2:g64:e8m0",  "e4m3:g64:e4m3", "int4:g128:e8m0",    "int4z:g32:e8m0", "int8:row:f32",
    "int8:g16:e8m0",  "int3:g32:e4m3", "int3z:tensor:bf16", "int2:g64:bf16",  "nf4:g64:e8m0",
    "nf3:row:f16",    "lut2:g32:e8m0", "rowlut4:g64:e8m0",  "lut8:row:f32",   "fp4:flat64:e8m0",
    "e4m3:64x64:e8m0"};

class CudaLowbitDecoded : public GpuTest, public testing::WithParamInterface<const char*> {
 protected:
  static const CudaFamily& family() {
    return dynamic_cast<const CudaFamily&>(*families::find(GetParam()));
  }

  static Case layer(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view format,
                    DataType type, Fill fill) {
    Case one;
    one.problem = Problem::linear(m, n, k, type, parse_weight_format(format));
    if (n % 8 != 0) one.problem.d.alignment = size_bytes(type);
    if (k % 8 != 0) one.problem.a.alignment = size_bytes(type);
    one.fill = fill;
    one.name = key(one.problem);
    return one;
  }

  // One of three configurations of each: dense kernels are the same for all formats, and few to
  // compile. Says how many cases the family takes.
  int check_all(const std::vector<Case>& cases) {
    const Device device = Device::cuda(0);
    std::vector<std::pair<Case, Configuration>> checks;
    std::vector<compile::Source> sources;
    for (const Case& one : cases) {
      const Problem form = canonical(one.problem).problem;
      if (family().refuse(form, device)) continue;
      const auto list = family().configurations(form, device);
      checks.emplace_back(one, list[checks.size() % 3 * (list.size() - 1) / 2]);
      for (auto& source : family().sources(form, device, checks.back().second)) {
        sources.push_back(std::move(source));
      }
    }
    build_ahead(sources);
    for (const auto& [one, configuration] : checks) {
      memory_.clear();
      EXPECT_EQ(check(family(), device, configuration, one, memory_), "");
    }
    return static_cast<int>(checks.size());
  }

  DeviceMemory memory_;
};

TEST_P(CudaLowbitDecoded, EveryExactFormat) {
  std::vector<Case> cases;
  for (const std::string_view format : kFormats) {
    // D is the weight itself, element by element.
    cases.push_back(layer(140, 200, 333, format, DataType::bf16, Fill::one_hot));
    cases.back().problem.d.type = DataType::f32;
    cases.push_back(layer(200, 72, 1000, format, DataType::bf16, Fill::normal));
    cases.push_back(layer(130, 136, 136, format, DataType::f16, Fill::normal));
  }
  EXPECT_GE(check_all(cases), 30);
}

TEST_P(CudaLowbitDecoded, EveryEpilogue) {
  std::vector<Case> cases;
  for (const std::string_view format : {"mxfp4", "nvfp4", "fp8"}) {
    for (const DataType out : {DataType::f32, DataType::bf16}) {
      Case one = layer(200, 264, 320, format, DataType::bf16, Fill::normal);
      Problem& p = one.problem;
      p.d.type = out;
      p.alpha = -0.5F;
      p.bias = out == DataType::f32 ? Bias::per_column : Bias::per_row;
      cases.push_back(one);
      p.c = p.d;
      p.beta = 1.5F;
      one.c_is_d = true;
      cases.push_back(one);
      p.d.row_stride = 1;
      p.d.col_stride = 208;
      p.c = p.d;
      cases.push_back(one);
    }
  }
  EXPECT_GE(check_all(cases), 6);
}

TEST_P(CudaLowbitDecoded, RunsFollowEachOtherInOneWorkspace) {
  const Device device = Device::cuda(0);
  for (const std::string_view format : {"mxfp4", "nvfp4"}) {
    memory_.clear();
    const Case one = layer(256, 1032, 2048, format, DataType::bf16, Fill::normal);
    const Problem form = canonical(one.problem).problem;
    if (family().refuse(form, device)) continue;
    Fixture first(one, memory_, 1);
    Case other = one;
    other.fill = Fill::one_hot;
    Fixture second(other, memory_, 2);
    const auto list = family().configurations(form, device);
    for (std::size_t at = 0; at < list.size(); at += list.size() / 4 + 1) {
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
        run(first);
      });
      std::vector<std::byte> bits;
      for (int replay = 0; replay < 3; ++replay) {
        first.reset();
        second.reset();
        graph.launch(stream);
        stream.synchronize();
        EXPECT_EQ(first.compare(), "") << family().configuration_name(list[at]);
        EXPECT_EQ(second.compare(), "") << family().configuration_name(list[at]);
        auto now = first.output();
        EXPECT_TRUE(replay == 0 || now == bits);
        bits = std::move(now);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CudaLowbitDecoded,
                         testing::Values("cuda_lowbit_decoded", "cuda_lowbit_decoded_mma"),
                         [](const auto& subject) { return std::string(subject.param); });

}  // namespace
}  // namespace gemwright::test
