// What the command says of compiled kernels. Needs NVRTC, but no GPU.
#include "cli/support.hpp"
#include "compile/nvrtc.hpp"

namespace gemwright::cli {
namespace {

using Kernels = CommandTest;

TEST_F(Kernels, RegistersAndSpillsAreShown) {
  std::string why;
  if (compile::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  const std::vector<std::string> explain = {"explain", "--device", "h200", "--m",     "16",  "--n",
                                            "512",     "--k",      "512",  "--dtype", "bf16"};
  EXPECT_EQ(run(explain), kDone) << err_;
  EXPECT_TRUE(said(" registers, 0 B spilled")) << out_;
  EXPECT_TRUE(said(" dynamic, ")) << out_;
  auto as_json = explain;
  as_json.emplace_back("--json");
  EXPECT_EQ(run(as_json), kDone);
  EXPECT_GT(json()[0]["built"]["registers"], 0);
  EXPECT_EQ(json()[0]["built"]["spill_bytes"], 0);

  // Tiles of a large product are brought through dynamic shared memory.
  EXPECT_EQ(
      run({"explain", "--device", "h200", "--m", "4096", "--n", "4096", "--k", "4096", "--json"}),
      kDone);
  EXPECT_GT(json()[0]["built"]["dynamic_shared_bytes"], 32 << 10) << json()[0]["chosen"];

  EXPECT_EQ(run({"cache", "list", "--json"}), kDone);
  ASSERT_FALSE(json().empty());
  EXPECT_GT(json()[0]["registers"], 0);
  EXPECT_EQ(run({"cache", "list"}), kDone);
  EXPECT_TRUE(said("registers"));
}

}  // namespace
}  // namespace gemwright::cli
