// What the conformance cases are too small for: clusters with several tiles each, stream-K, split
// K.
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::test {
namespace {

using cuda_hopper::Setting;

class Hopper : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    device_ = Device::cuda(0);
    if (device_->profile().cuda.sm != 90) GTEST_SKIP() << device_->name() << " is not sm_90";
  }

  static const CudaFamily& family() {
    return dynamic_cast<const CudaFamily&>(*families::find("cuda_hopper"));
  }
  static const CudaFamily& mma() {
    return dynamic_cast<const CudaFamily&>(*families::find("cuda_mma"));
  }
  const Device& device() const { return *device_; }

  // One width of each form of tile, schedule, cluster and split; another one each time.
  std::vector<Configuration> forms(const Problem& problem) const {
    using Form = std::tuple<int, int, int, int, bool, bool, bool>;
    std::map<Form, std::vector<Configuration>> lists;
    for (const Configuration& configuration : family().configurations(problem, device())) {
      const Setting s = cuda_hopper::setting_of(configuration);
      const Form form{s.tile_m, s.cluster_m, s.cluster_n, s.split, s.stream_k, s.ping_pong, s.swap};
      lists[form].push_back(configuration);
    }
    std::vector<Configuration> result;
    std::size_t turn = 0;
    for (const auto& [form, list] : lists) result.push_back(list[(turn += 3) % list.size()]);
    return result;
  }

  // Those of cuda_mma that are this kernel with another mainloop.
  std::vector<Configuration> by_warps(const Problem& problem) const {
    std::vector<Configuration> result;
    for (const Configuration& configuration : mma().configurations(problem, device())) {
      const std::string name = mma().configuration_name(configuration);
      if (name.find("bulk") != std::string::npos) result.push_back(configuration);
    }
    return result;
  }

  void expect_right(const Problem& problem, Fill fill) {
    expect_right(family(), forms(canonical(problem).problem), problem, fill);
  }

  void expect_warps_right(const Problem& problem, Fill fill) {
    const auto list = by_warps(canonical(problem).problem);
    ASSERT_FALSE(list.empty());
    expect_right(mma(), list, problem, fill);
  }

 private:
  void expect_right(const CudaFamily& family, const std::vector<Configuration>& list,
                    const Problem& problem, Fill fill) {
    DeviceMemory memory;
    Fixture fixture({"many tiles", problem, fill, false}, memory);
    const Problem form = canonical(problem).problem;
    const Operands given = fixture.operands();
    const Operands operands = canonical(problem).swapped ? given.transposed() : given;
    std::vector<std::byte> first;
    std::vector<compile::Source> sources;
    for (const Configuration& configuration : list) {
      sources.push_back(family.source(form, device(), configuration));
    }
    build_ahead(sources);
    for (const Configuration& configuration : list) {
      const auto kernel = family.build(form, device(), configuration);
      const Workspace workspace = make_workspace(memory, kernel->workspace_bytes(form));
      // Twice: the second finds counters as the first left them, and must give the same bits.
      for (int run = 0; run < 2; ++run) {
        fixture.reset();
        kernel->run(form, operands, workspace.data, memory.stream());
        EXPECT_EQ(fixture.compare(), "") << family.configuration_name(configuration);
        const auto output = fixture.output();
        if (run == 0) first = output;
        EXPECT_TRUE(output == first) << family.configuration_name(configuration);
      }
    }
  }

  std::optional<Device> device_;
};

TEST_F(Hopper, ManyTilesForEachCluster) {
  expect_right(Problem::linear(520, 4360, 136, DataType::bf16), Fill::integers);
}

TEST_F(Hopper, StreamAndSplitK) {
  expect_right(Problem::linear(320, 1152, 1032, DataType::f16), Fill::normal);
}

TEST_F(Hopper, FewRowsSwapped) {
  expect_right(Problem::linear(80, 1152, 1160, DataType::bf16), Fill::normal);
}

TEST_F(Hopper, WarpsMultiplyManyTiles) {
  expect_warps_right(Problem::linear(1032, 4360, 136, DataType::bf16), Fill::integers);
  expect_warps_right(Problem::linear(264, 520, 1032, DataType::f16), Fill::normal);
}

TEST_F(Hopper, WarpsTakeTransposedOperands) {
  const Problem p = Problem::mm(520, 1160, 328, DataType::f16);
  expect_warps_right(p, Fill::normal);
  Problem q = Problem::linear(520, 1160, 328, DataType::f16);
  q.a = {.type = q.a.type, .row_stride = 1, .col_stride = 520};
  expect_warps_right(q, Fill::normal);
}

TEST_F(Hopper, WarpsMultiplyTf32) {
  Problem p = Problem::linear(392, 1160, 332, DataType::f32);
  p.allow_tf32 = true;
  expect_warps_right(p, Fill::normal);
}

// Fewer rows than a tile has, brought by one CTA or by parts of them.
TEST_F(Hopper, FewRows) {
  for (const std::int64_t m : {3, 40}) {
    expect_right(Problem::linear(m, 1160, 1096, DataType::bf16), Fill::special);
  }
}

// What bulk copies cannot take, with tails along M, N and K, and several tiles for some CTAs.

TEST_F(Hopper, OddPitchesAndPointers) {
  Problem p = Problem::linear(392, 1160, 331, DataType::bf16);
  p.a.alignment = p.b.alignment = size_bytes(p.a.type);
  expect_right(p, Fill::normal);
}

TEST_F(Hopper, OddRowsTransposed) {
  Problem p = Problem::mm(393, 1163, 330, DataType::f16);
  p.a = {.type = p.a.type, .row_stride = 1, .col_stride = 393, .alignment = 2};
  p.b.alignment = p.d.alignment = 2;
  expect_right(p, Fill::normal);
}

TEST_F(Hopper, BroadcastRowsBesideInfinities) {
  Problem p = Problem::linear(200, 520, 203, DataType::bf16);
  p.a.row_stride = 0;
  p.b.alignment = 2;
  expect_right(p, Fill::special);
}

TEST_F(Hopper, NoUnitStrides) {
  Problem p = Problem::mm(200, 520, 203, DataType::f16);
  p.a = {.type = p.a.type, .row_stride = 2, .col_stride = 400, .alignment = 2};
  p.b = {.type = p.b.type, .row_stride = 3, .col_stride = 700, .alignment = 2};
  expect_right(p, Fill::normal);
}

TEST_F(Hopper, TransposedTf32) {
  Problem p = Problem::mm(200, 519, 203, DataType::f32);
  p.a = {.type = p.a.type, .row_stride = 1, .col_stride = 200, .alignment = 4};
  p.b.alignment = p.d.alignment = 4;
  p.allow_tf32 = true;
  expect_right(p, Fill::normal);
}

}  // namespace
}  // namespace gemwright::test
