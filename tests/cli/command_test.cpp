#include "cli/support.hpp"

#include <fstream>

namespace gemwright::cli {
namespace {

using Command = CommandTest;

TEST_F(Command, EveryCommandHasHelpWithExamples) {
  for (const char* name : {"devices", "candidates", "explain", "tune", "bench", "store"}) {
    EXPECT_EQ(run({name, "--help"}), kDone);
    EXPECT_TRUE(said("Examples:")) << name;
    EXPECT_TRUE(said("gemwright " + std::string(name))) << name;
  }
  EXPECT_EQ(run({"--help"}), kDone);
  EXPECT_TRUE(said("Exit status"));
  EXPECT_EQ(run({"--version"}), kDone);
  EXPECT_TRUE(said("gemwright "));
}

TEST_F(Command, WrongUsageIsSaidInOneLine) {
  EXPECT_EQ(run({}), kUsage);
  EXPECT_EQ(run({"bogus"}), kUsage);
  EXPECT_TRUE(failed_with("no command \"bogus\""));
  EXPECT_EQ(run({"tune", "--bogus"}), kUsage);
  EXPECT_TRUE(failed_with("--bogus"));
  EXPECT_EQ(run({"tune"}), kUsage);
  EXPECT_TRUE(failed_with("0 sources"));
  EXPECT_EQ(run({"tune", "--n", "4", "--k", "4", "--config", "x"}), kUsage);
  EXPECT_TRUE(failed_with("2 sources"));
  EXPECT_EQ(run({"tune", "--n", "4"}), kUsage);
  EXPECT_TRUE(failed_with("--k"));
  EXPECT_EQ(run({"tune", "--n", "4", "--k", "-3"}), kUsage);
  EXPECT_EQ(run({"tune", "--n", "4", "--k", "3", "--dtype", "int3"}), kUsage);
  EXPECT_EQ(run({"tune", "--n", "4", "--k", "3", "--device", "abacus"}), kUsage);
  EXPECT_TRUE(failed_with("abacus"));
  EXPECT_EQ(run({"tune", "--config", "/nonexistent"}), kUsage);
  EXPECT_TRUE(failed_with("/nonexistent"));
  EXPECT_EQ(run({"store"}), kUsage);
}

TEST_F(Command, DevicesListTheCpu) {
  EXPECT_EQ(run({"devices", "--device", "cpu"}), kDone);
  EXPECT_TRUE(said("cpu"));
  EXPECT_EQ(run({"devices", "--device", "cpu", "--json"}), kDone);
  EXPECT_EQ(json().at(0).at("kind"), "cpu");
}

TEST_F(Command, CandidatesAreRankedByPredictedTime) {
  EXPECT_EQ(
      run({"candidates", "--device", "cpu", "--m", "1,5", "--n", "64", "--k", "32", "--json"}),
      kDone);
  const auto lists = json();
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[1]["m"], 5);
  double last = 0;
  for (const auto& candidate : lists[0]["candidates"]) {
    if (candidate["vendor"]) continue;
    EXPECT_GE(candidate["predicted_us"], last);
    last = candidate["predicted_us"];
  }
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--n", "64", "--k", "32", "--top", "1"}), kDone);
  EXPECT_TRUE(said("bound"));
}

TEST_F(Command, OnlyKeepsRoles) {
  const std::string config = GEMWRIGHT_SOURCE_DIR "/models/llama-3.1-8b/config.json";
  EXPECT_EQ(
      run({"candidates", "--device", "cpu", "--config", config, "--only", "qkv,lm head", "--json"}),
      kDone);
  ASSERT_EQ(json().size(), 2U);
  EXPECT_EQ(json()[1]["role"], "lm head");
  EXPECT_EQ(json()[1]["model"], "llama-3.1-8b");
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--config", config, "--only", "nothing"}),
            kUsage);
  EXPECT_TRUE(failed_with("gate+up; down; lm head"));
}

TEST_F(Command, TakesListsAndKeys) {
  std::ofstream(folder_ / "list.csv") << "m,n,k,dtype\n2,8,8,f32\n3,8,8,f16\n";
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--list", folder_ / "list.csv", "--json"}),
            kDone);
  EXPECT_EQ(json().size(), 2U);
  const std::string key = json()[1]["problem"];
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--problem", key, "--json"}), kDone);
  EXPECT_EQ(json()[0]["problem"], key);
  std::ofstream(folder_ / "bad.csv") << "m,n,k\n2,8,x\n";
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--list", folder_ / "bad.csv"}), kUsage);
  EXPECT_TRUE(failed_with("line 2: k"));
}

}  // namespace
}  // namespace gemwright::cli
