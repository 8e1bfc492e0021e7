// The Hopper family without a GPU: what it takes, and what it lists.
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

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

  Problem pitch = p;
  pitch.b.col_stride = 516;
  EXPECT_NE(refusal(pitch).find("pitch of B is 1032"), std::string::npos);
  Problem aligned = p;
  aligned.a.alignment = 2;
  EXPECT_NE(refusal(aligned).find("aligned to 2"), std::string::npos);
  Problem strided = p;
  strided.a.row_stride = 1024;
  strided.a.col_stride = 2;
  EXPECT_NE(refusal(strided).find("contiguous"), std::string::npos);

  Problem full = Problem::linear(256, 512, 512, DataType::f32);
  EXPECT_NE(refusal(full).find("allow_tf32"), std::string::npos);
  full.allow_tf32 = true;
  EXPECT_EQ(refusal(full), "");
  Problem m_major = Problem::mm(256, 512, 512, DataType::f32);
  m_major.allow_tf32 = true;
  EXPECT_NE(refusal(m_major).find("along K"), std::string::npos);
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

}  // namespace
}  // namespace gemwright
