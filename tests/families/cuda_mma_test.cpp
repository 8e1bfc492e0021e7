// The mma.sync family without a GPU: what it lists, and in what order its kernels sum.
#include "families/cuda_family.hpp"
#include "model/rank.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

const CudaFamily& family() {
  return dynamic_cast<const CudaFamily&>(*families::find("cuda_mma"));
}

bool is_bulk(const Configuration& configuration) {
  return family().configuration_name(configuration).find("bulk") != std::string::npos;
}

std::size_t bulk_count(const Problem& given, const std::string& device) {
  const Problem problem = canonical(given).problem;
  const auto list = family().configurations(problem, Device::parse(device));
  return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), is_bulk));
}

TEST(CudaMma, ConfigurationsAreNamedAndKept) {
  for (const std::int64_t m : {1, 128, 512, 4096}) {
    const Problem p = canonical(Problem::linear(m, 4096, 4096, DataType::bf16)).problem;
    std::set<std::string> names;
    for (const Configuration& c : family().configurations(p, Device::parse("h200"))) {
      EXPECT_TRUE(names.insert(family().configuration_name(c)).second)
          << family().configuration_name(c);
      EXPECT_EQ(families::from_json(family(), families::to_json(family(), c)), c);
    }
  }
}

TEST(CudaMma, BulkCopiesFeedWhatTheyCanTake) {
  const Problem p = Problem::linear(512, 4096, 4096, DataType::bf16);
  EXPECT_GT(bulk_count(p, "h200"), 0U);
  EXPECT_EQ(bulk_count(p, "a100"), 0U);
  Problem odd = p;
  odd.a.alignment = 2;
  EXPECT_EQ(bulk_count(odd, "h200"), 0U);
  Problem adds = p;
  adds.c = adds.d;
  adds.beta = 1;
  EXPECT_EQ(bulk_count(adds, "h200"), 0U);
}

TEST(CudaMma, SumsWholeKTilesInOneOrder) {
  const auto order = [](std::int64_t k, DataType type, std::string_view name) {
    Problem p = Problem::linear(512, 4096, k, type);
    p.allow_tf32 = true;
    p = canonical(p).problem;
    for (const Configuration& c : family().configurations(p, Device::parse("h200"))) {
      if (family().configuration_name(c) == name) {
        return std::string(family().summation_order(p, c));
      }
    }
    return std::string("not listed");
  };
  const std::string whole = order(4096, DataType::bf16, "mma_128x128x64_w2x2x1_s3_k1");
  EXPECT_NE(whole, "");
  EXPECT_NE(whole, "not listed");
  EXPECT_EQ(order(4096, DataType::bf16, "mma_64x64x32_w2x2x1_s4_k1"), whole);
  EXPECT_EQ(order(4096, DataType::bf16, "mma_128x128x64_w4x2x1_s6_k1_bulk1"), whole);
  EXPECT_EQ(order(4104, DataType::bf16, "mma_128x128x64_w4x2x1_s6_k1_bulk1"), whole);
  EXPECT_EQ(order(4104, DataType::bf16, "mma_128x128x64_w2x2x1_s3_k1"), "");
  EXPECT_EQ(order(4096, DataType::bf16, "mma_128x128x64_w2x2x2_s3_k1"), "");
  // Rounded otherwise.
  EXPECT_NE(order(4096, DataType::f32, "mma_128x128x32_w2x2x1_s3_k1"), whole);
}

// Where there is no wgmma the tensor cores serve the batch-invariant mode too, for every M.
TEST(CudaMma, ServesBatchInvariantProblems) {
  const Device a100 = Device::parse("a100");
  for (const std::int64_t k : {64, 192, 4096, 11008}) {
    for (const std::int64_t m : {1, 16, 17, 64, 300, 4096}) {
      Problem p = Problem::linear(m, 4096, k, DataType::f16);
      p.batch_invariant = true;
      std::vector<Refusal> refusals;
      const auto ranked = model::rank(canonical(p).problem, a100, refusals);
      ASSERT_FALSE(ranked.empty()) << m << " " << k;
      EXPECT_EQ(ranked.front().family, &family()) << m << " " << k;
    }
  }
}

}  // namespace
}  // namespace gemwright
