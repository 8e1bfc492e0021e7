// A process that has the cache but no NVRTC. What is opened is opened once a process, so the tests
// run in a child of their own.
#include "compile/compiler.hpp"
#include "compile/nvrtc.hpp"
#include <gemwright/errors.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gemwright::compile {
namespace {

namespace fs = std::filesystem;

Source source(int unroll) {
  return {
      "calibrate.cu",
      "constexpr int kThreads = 128;\nconstexpr int kUnroll = " + std::to_string(unroll) + ";\n",
      "read_kernel", 80, false};
}

// Runs only where the next test starts it.
TEST(WithoutNvrtc, DISABLED_Child) {
  EXPECT_EQ(nvrtc_version(), "");
  const auto cached = compile(source(1));
  EXPECT_GT(cached.cubin->size(), 1000U);
  EXPECT_GT(cached.report.registers, 0);
  try {
    compile(source(2));
    FAIL() << "compiled without a compiler";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("NVRTC is not there"), std::string::npos) << text;
    EXPECT_NE(text.find("/nonexistent/libnvrtc.so"), std::string::npos) << text;
  }
}

TEST(WithoutNvrtc, ACachedKernelStillLoadsAndAnotherSaysWhatIsMissing) {
  std::string why;
  if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  const fs::path folder =
      fs::temp_directory_path() / ("gemwright_without_nvrtc_" + std::to_string(::getpid()));
  ::setenv("GEMWRIGHT_CACHE", folder.c_str(), 1);
  compile(source(1));
  const std::string program = fs::read_symlink("/proc/self/exe");
  const std::string command =
      "GEMWRIGHT_LIBNVRTC=/nonexistent/libnvrtc.so " + program +
      " --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_Child --gtest_brief=1";
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
  fs::remove_all(folder);
}

}  // namespace
}  // namespace gemwright::compile
