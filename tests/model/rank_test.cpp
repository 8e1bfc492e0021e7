#include "model/rank.hpp"

#include "device/profile.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gemwright::model {
namespace {

// Only what take_best() asks of a family.
class NamedFamily final : public Family {
 public:
  explicit NamedFamily(bool vendor) : vendor_(vendor) {}
  std::string_view name() const override { return "named"; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 1; }
  bool vendor() const override { return vendor_; }
  std::optional<std::string> refuse(const Problem&, const Device&) const override { return {}; }
  std::span<const std::string_view> parameters() const override { return {}; }
  std::string configuration_name(const Configuration&) const override { return {}; }
  std::vector<Configuration> configurations(const Problem&, const Device&) const override {
    return {};
  }
  void estimate(const Problem&, const Device&, std::span<const Configuration>,
                std::span<Estimate>) const override {}
  std::shared_ptr<const Kernel> build(const Problem&, const Device&,
                                      const Configuration&) const override {
    return nullptr;
  }

 private:
  bool vendor_;
};

TEST(Rank, OwnCandidatesByPredictedTimeThenVendorOnes) {
  const Device device = Device::cpu();
  std::vector<Refusal> refusals;
  const auto ranked = rank(Problem::linear(64, 512, 512, DataType::f32), device, refusals);
  ASSERT_FALSE(ranked.empty());
  const auto first_vendor = std::find_if(ranked.begin(), ranked.end(),
                                         [](const Candidate& c) { return c.family->vendor(); });
  EXPECT_TRUE(std::is_sorted(
      ranked.begin(), first_vendor,
      [](const Candidate& a, const Candidate& b) { return a.estimate.us < b.estimate.us; }));
  EXPECT_TRUE(std::all_of(first_vendor, ranked.end(),
                          [](const Candidate& c) { return c.family->vendor(); }));
  for (const Candidate& candidate : ranked) {
    EXPECT_EQ(candidate.family->device_kind(), DeviceKind::cpu);
    EXPECT_GT(candidate.estimate.us, 0);
  }
}

TEST(Rank, RefusalsAreToldWithTheFamily) {
  Problem packed = Problem::linear(16, 64, 64, DataType::f32);
  packed.b.packed = true;
  std::vector<Refusal> refusals;
  rank(packed, Device::cpu(), refusals);
  const auto reference = std::find_if(refusals.begin(), refusals.end(),
                                      [](const Refusal& r) { return r.family == "cpu_reference"; });
  ASSERT_NE(reference, refusals.end());
  EXPECT_FALSE(reference->reason.empty());
}

TEST(TakeBest, TakesTheFirstOwnAndEveryVendorOne) {
  const NamedFamily own(false);
  const NamedFamily vendor(true);
  const std::vector<Candidate> all = {{&own, {}, {.us = 1}},
                                      {&own, {}, {.us = 2}},
                                      {&own, {}, {.us = 3}},
                                      {&vendor, {}, {.us = 9}},
                                      {&vendor, {}, {.us = 8}}};
  auto left = all;
  const auto taken = take_best(left, 2);
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[1].estimate.us, 2);
  EXPECT_EQ(taken[2].estimate.us, 9);
  EXPECT_EQ(taken[3].estimate.us, 8);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].estimate.us, 3);
  left = all;
  EXPECT_EQ(take_best(left, 0).size(), 5U);
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(take_best(left, 3).empty());
}

TEST(TakeBest, BarredOnesTakeNobodysPlace) {
  const NamedFamily own(false);
  std::vector<Candidate> left = {
      {&own, {}, {.us = 1}}, {&own, {}, {.us = 2}}, {&own, {}, {.us = 3}}};
  const auto taken = take_best(left, 1, [](const Candidate& one) { return one.estimate.us < 2; });
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[1].estimate.us, 2);
}

Device described(int threads, bool vnni = false) {
  DeviceProfile profile;
  profile.cpu.cores = profile.cpu.threads = threads;
  profile.cpu.features.avx512_vnni = vnni;
  profile.cpu.f32_flops = 100e9;
  profile.cpu.bf16_flops = 200e9;
  profile.cpu.dram_bytes_per_s_1 = 10e9;
  profile.cpu.dram_bytes_per_s_all = 16e9;
  return {std::make_shared<DeviceProfile>(profile), 0, false};
}

TEST(Floor, IsTheLargerOfBytesAndMath) {
  // One row: the weight's bytes decide.
  const Problem vector = Problem::linear(1, 1000, 1000, DataType::f32);
  EXPECT_NEAR(floor_us(vector, described(1)), vector.bytes() / 10e9 * 1e6, 1e-9);
  EXPECT_NEAR(floor_us(vector, described(2)), vector.bytes() / 16e9 * 1e6, 1e-9);
  // A large square: multiplications decide, and bf16 ones are twice as fast here.
  const Problem square = Problem::mm(2000, 2000, 2000, DataType::f32);
  EXPECT_NEAR(floor_us(square, described(2)), square.flops() / 200e9 * 1e6, 1e-6);
  const Problem half = Problem::mm(2000, 2000, 2000, DataType::bf16);
  EXPECT_NEAR(floor_us(half, described(2)), half.flops() / 400e9 * 1e6, 1e-6);
}

TEST(Floor, Int8ActivationsAreFourTimesAsFastByVnni) {
  Problem p = Problem::linear(2000, 2000, 2000, DataType::f32, parse_weight_format("int4"));
  p.activations = Activations::int8;
  EXPECT_NEAR(floor_us(p, described(2)), p.flops() / 200e9 * 1e6, 1e-6);
  EXPECT_NEAR(floor_us(p, described(2, true)), p.flops() / 800e9 * 1e6, 1e-6);
}

}  // namespace
}  // namespace gemwright::model
