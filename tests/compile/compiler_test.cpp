#include "compile/compiler.hpp"

#include "compile/cache.hpp"
#include "compile/nvrtc.hpp"
#include "compile/sources.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gemwright::compile {
namespace {

namespace fs = std::filesystem;

// Each test compiles with its own empty cache, and a preamble of its own: what one process has
// compiled it does not compile again.
class CompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
    folder_ =
        fs::temp_directory_path() / ("gemwright_compile_" + std::to_string(::getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    ::setenv("GEMWRIGHT_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  static Source source(int sm, int unroll) {
    return {
        "calibrate.cu",
        "constexpr int kThreads = 256;\nconstexpr int kUnroll = " + std::to_string(unroll) + ";\n",
        "read_kernel", sm, sm == 90};
  }

  fs::path folder_;
};

TEST_F(CompilerTest, CompilesForEveryTarget) {
  for (const int sm : {80, 86, 89, 90}) {
    const auto compiled = compile(source(sm, 1));
    ASSERT_NE(compiled.cubin, nullptr);
    EXPECT_GT(compiled.cubin->size(), 1000U);
    EXPECT_GT(compiled.report.registers, 0);
    EXPECT_EQ(compiled.report.spill_bytes, 0);
    EXPECT_EQ(compiled.report.log, "");
  }
  const auto entries = Cache::user().list();
  ASSERT_EQ(entries.size(), 4U);
  for (const auto& entry : entries) {
    EXPECT_EQ(entry.problem, "");
    EXPECT_EQ(entry.source, "calibrate.cu");
    EXPECT_GT(entry.report.compile_ms, 0);
  }
}

TEST_F(CompilerTest, IdenticalRequestsCompileOnce) {
  std::vector<Compiled> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&result] { result = compile(source(80, 2)); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result.cubin, results[0].cubin);
}

TEST_F(CompilerTest, SaysWhatDoesNotCompile) {
  auto broken = source(80, 3);
  broken.preamble = "constexpr int kThreads = 256;\n";
  try {
    compile(broken);
    FAIL() << "compiled without kUnroll";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kUnroll"), std::string::npos) << error.what();
  }
  broken.file = "no_such.cu";
  EXPECT_THROW(compile(broken), Error);
  EXPECT_TRUE(Cache::user().list().empty());
}

TEST_F(CompilerTest, WorksWithoutAUsableFolder) {
  ::setenv("GEMWRIGHT_CACHE", "/proc/gemwright", 1);
  EXPECT_NO_THROW(compile(source(80, 4)));
}

TEST(ParseLog, CountsAndKeepsWhatMatters) {
  const auto report = parse_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to something in function 'gemm'\n"
      "ptxas info    : Function properties for gemm\n"
      "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 "
      "bytes smem\n");
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.spill_bytes, 32);
  EXPECT_EQ(report.shared_bytes, 4096U);
  EXPECT_NE(report.log.find("C7510"), std::string::npos);
  EXPECT_NE(report.log.find("16 bytes stack frame"), std::string::npos);
  EXPECT_EQ(report.log.find("Compiling entry"), std::string::npos);
}

TEST(Sources, IncludesAreFollowedOnce) {
  const auto included = included_files("#include \"epilogue.cuh\"\n#include \"epilogue.cuh\"\n");
  ASSERT_FALSE(included.empty());
  EXPECT_EQ(included[0]->name, "epilogue.cuh");
  for (const auto* file : included) {
    EXPECT_EQ(std::count(included.begin(), included.end(), file), 1) << file->name;
  }
  EXPECT_EQ(find_file("no_such.cuh"), nullptr);
}

}  // namespace
}  // namespace gemwright::compile
