// The Hopper family without a GPU: what it takes, and what it lists.
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

using cuda_hopper::Load;
using cuda_hopper::Setting;

const CudaFamily& family() {
  return dynamic_cast<const CudaFamily&>(*families::find("cuda_hopper"));
}

Device h200() {
  return Device::parse("h200");
}

std::string refusal(const Problem& problem) {
  return family().refuse(canonical(problem).problem, h200()).value_or("");
}

TEST(CudaHopper, RefusesWithReasons) {
  Problem p = Problem::linear(256, 512, 512, DataType::bf16);
  EXPECT_EQ(refusal(p), "");
  EXPECT_NE(family().refuse(p, Device::parse("a100")).value_or("").find("sm_80"),
            std::string::npos);

  Problem full = Problem::linear(256, 512, 512, DataType::f32);
  EXPECT_NE(refusal(full).find("allow_tf32"), std::string::npos);
  full.allow_tf32 = true;
  EXPECT_EQ(refusal(full), "");
}

// How A and B come into shared memory.
std::pair<Load, Load> loads(const Problem& problem) {
  EXPECT_EQ(refusal(problem), "");
  const auto view = cuda_hopper::view_of(canonical(problem).problem, false);
  return {view.load_a, view.load_b};
}

TEST(CudaHopper, LoadsByThreadsWhatBulkCopiesCannotTake) {
  const Problem p = Problem::linear(256, 512, 512, DataType::bf16);
  EXPECT_EQ(loads(p), std::pair(Load::bulk, Load::bulk));

  Problem pitch = p;
  pitch.b.col_stride = 516;
  EXPECT_EQ(loads(pitch), std::pair(Load::bulk, Load::shifted));
  Problem pointer = p;
  pointer.a.alignment = 2;
  EXPECT_EQ(loads(pointer), std::pair(Load::shifted, Load::bulk));
  Problem broadcast = p;
  broadcast.a.row_stride = 0;
  EXPECT_EQ(loads(broadcast), std::pair(Load::shifted, Load::bulk));
  Problem strided = p;
  strided.a.row_stride = 1024;
  strided.a.col_stride = 2;
  EXPECT_EQ(loads(strided), std::pair(Load::gathered, Load::bulk));

  Problem odd_rows = Problem::mm(256, 513, 512, DataType::bf16);
  odd_rows.d.alignment = 2;
  EXPECT_EQ(loads(odd_rows), std::pair(Load::bulk, Load::shifted));
  EXPECT_TRUE(cuda_hopper::view_of(odd_rows, false).b_major_n);
  Problem rounded = Problem::mm(256, 512, 512, DataType::f32);
  rounded.allow_tf32 = true;
  EXPECT_EQ(loads(rounded), std::pair(Load::bulk, Load::across));
  EXPECT_FALSE(cuda_hopper::view_of(rounded, false).b_major_n);
}

TEST(CudaHopper, TakesWhatHasNoPitch) {
  // One row of A: its stride means nothing, and 511 elements would be no multiple of 16 bytes.
  Problem p = Problem::linear(1, 512, 512, DataType::bf16);
  p.a.row_stride = 511;
  EXPECT_EQ(refusal(p), "");
  Problem broadcast = Problem::bmm(4, 256, 512, 512, DataType::f16);
  broadcast.a.batch_stride = 0;
  EXPECT_EQ(refusal(broadcast), "");
}

TEST(CudaHopper, SettingsAreNamedAndFit) {
  const Device device = h200();
  for (const std::int64_t m : {1, 65, 128, 512, 4096}) {
    const Problem p = canonical(Problem::linear(m, 4096, 4096, DataType::bf16)).problem;
    std::set<std::string> names;
    const auto list = family().configurations(p, device);
    ASSERT_FALSE(list.empty()) << m;
    EXPECT_LT(list.size(), 400U) << m;
    for (const Configuration& configuration : list) {
      const Setting s = cuda_hopper::setting_of(configuration);
      EXPECT_EQ(cuda_hopper::configuration_of(s), configuration);
      EXPECT_TRUE(names.insert(family().configuration_name(configuration)).second)
          << family().configuration_name(configuration);
      EXPECT_LE(cuda_hopper::shared_bytes(s, cuda_hopper::view_of(p, s.swap)),
                static_cast<int>(device.profile().cuda.shared_per_block));
    }
  }
}

// Few rows of A: the weight may be on either side, in tiles that share it out evenly.
TEST(CudaHopper, ListsNarrowTilesForFewRows) {
  const auto names = [](const Problem& problem) {
    std::set<std::string> result;
    const Problem p = canonical(problem).problem;
    for (const Configuration& configuration : family().configurations(p, h200())) {
      result.insert(family().configuration_name(configuration).substr(0, 13));
    }
    return result;
  };
  const auto few = names(Problem::linear(16, 2048, 2048, DataType::bf16));
  EXPECT_TRUE(few.contains("hopper_64x32x")) << "16 rows of 64 are not padding";
  EXPECT_TRUE(few.contains("hopper_64x24x"));
  EXPECT_FALSE(few.contains("hopper_128x64"));
  const auto many = names(Problem::linear(65, 2048, 2048, DataType::bf16));
  EXPECT_FALSE(many.contains("hopper_64x24x"));
}

}  // namespace
}  // namespace gemwright
