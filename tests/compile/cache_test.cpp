#include "compile/cache.hpp"

#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::compile {
namespace {

namespace fs = std::filesystem;

const std::string kKey = "00112233445566778899aabbccddeeff";
const std::string kOtherKey = "ffeeddccbbaa99887766554433221100";

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("gemwright_cache_" + std::to_string(::getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override {
    std::error_code error;
    fs::permissions(folder_, fs::perms::owner_all, error);
    fs::remove_all(folder_);
  }

  static Compiled compiled(std::size_t bytes, char value) {
    Compiled result;
    result.cubin = std::make_shared<std::vector<char>>(bytes, value);
    result.report.registers = 42;
    result.report.spill_bytes = 8;
    result.report.shared_bytes = 1024;
    result.report.compile_ms = 123;
    result.report.log = "warning: \xff not UTF-8\n";
    return result;
  }
  void keep(const Cache& cache, const std::string& key, char value = 'x',
            const std::string& compiler = "nvrtc13.0", std::size_t bytes = 1000) const {
    cache.keep(key, compiler, {"gemm.cu", "", "gemm", 90, true}, compiled(bytes, value));
  }
  fs::path file(const std::string& key = kKey) const {
    return folder_ / (key + "-nvrtc13.0.cubin");
  }

  fs::path folder_;
};

TEST_F(CacheTest, KeepsWhatWasCompiledAndItsReport) {
  const Cache cache(folder_ / "made" / "when missing");
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
  keep(cache, kKey);
  const auto found = cache.load(kKey, "nvrtc13.0");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->cubin, std::vector<char>(1000, 'x'));
  EXPECT_EQ(found->report.registers, 42);
  EXPECT_EQ(found->report.spill_bytes, 8);
  EXPECT_EQ(found->report.shared_bytes, 1024U);
  EXPECT_EQ(found->report.compile_ms, 0);
  EXPECT_EQ(found->report.log.substr(0, 9), "warning: ");
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].target, "sm_90a");
  EXPECT_EQ(entries[0].report.compile_ms, 123);
  EXPECT_EQ(entries[0].problem, "");
  EXPECT_EQ(cache.clear(), 1);
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
}

TEST_F(CacheTest, OtherCompilersDoNotMixButServeWhenThereIsNone) {
  const Cache cache(folder_);
  keep(cache, kKey, 'a', "nvrtc13.2");
  keep(cache, kKey, 'b', "nvrtc13.10");
  EXPECT_FALSE(cache.load(kKey, "nvrtc12.8"));
  EXPECT_EQ(cache.load(kKey, "nvrtc13.2")->cubin->front(), 'a');
  EXPECT_EQ(cache.load(kKey, "")->cubin->front(), 'b');
  EXPECT_FALSE(cache.load(kOtherKey, ""));
}

TEST_F(CacheTest, DamagedEntriesAreMisses) {
  const Cache cache(folder_);
  keep(cache, kKey);
  const auto size = fs::file_size(file());
  for (const auto cut : {size - 1, size / 2, std::uintmax_t{5}, std::uintmax_t{0}}) {
    fs::resize_file(file(), cut);
    EXPECT_FALSE(cache.load(kKey, "nvrtc13.0")) << "cut to " << cut;
    keep(cache, kKey);
    EXPECT_TRUE(cache.load(kKey, "nvrtc13.0"));
  }
  for (std::uintmax_t at = 0; at < size; at += 37) {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
    stream.close();
    EXPECT_FALSE(cache.load(kKey, "nvrtc13.0")) << "byte " << at << " flipped";
    keep(cache, kKey);
  }
}

TEST_F(CacheTest, AnEntryUnderAnotherKeyIsNotUsed) {
  const Cache cache(folder_);
  keep(cache, kKey);
  fs::rename(file(), file(kOtherKey));
  EXPECT_FALSE(cache.load(kOtherKey, "nvrtc13.0"));
  ASSERT_EQ(cache.list().size(), 1U);
  EXPECT_NE(cache.list()[0].problem, "");
  EXPECT_EQ(cache.remove_bad(), 1);
  EXPECT_TRUE(cache.list().empty());
}

TEST_F(CacheTest, WhatOthersMayWriteIsNotRun) {
  const Cache cache(folder_);
  keep(cache, kKey);
  ASSERT_EQ(::chmod(file().c_str(), 0622), 0);
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  EXPECT_TRUE(cache.load(kKey, "nvrtc13.0"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  fs::rename(file(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", file());
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
}

TEST_F(CacheTest, WhatAnotherUserOwnsIsNotRun) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Cache cache(folder_);
  keep(cache, kKey);
  ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
}

TEST_F(CacheTest, FolderReadOnlyDeletedOrAFile) {
  const Cache cache(folder_);
  keep(cache, kKey);
  fs::remove_all(folder_);
  EXPECT_FALSE(cache.load(kKey, "nvrtc13.0"));
  keep(cache, kKey);
  EXPECT_TRUE(cache.load(kKey, "nvrtc13.0"));
  if (::geteuid() != 0) {  // root writes all the same
    ASSERT_EQ(::chmod(folder_.c_str(), 0500), 0);
    keep(cache, kOtherKey);
    EXPECT_FALSE(cache.load(kOtherKey, "nvrtc13.0"));
    EXPECT_TRUE(cache.load(kKey, "nvrtc13.0"));
  }
  const Cache in_proc("/proc/gemwright");
  keep(in_proc, kKey);
  EXPECT_FALSE(in_proc.load(kKey, "nvrtc13.0"));
  const Cache below_a_file(file() / "folder");
  keep(below_a_file, kKey);
  EXPECT_FALSE(below_a_file.load(kKey, "nvrtc13.0"));
  EXPECT_TRUE(below_a_file.list().empty());
}

TEST_F(CacheTest, AFullDiskLeavesNothingBehind) {
  // A limit on the size of files stands for the full disk: the write fails half way.
  const Cache cache(folder_);
  fs::create_directories(folder_);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { 512, 512 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    keep(cache, kKey, 'x', "nvrtc13.0", 100000);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CacheTest, LeastRecentlyUsedGoFirst) {
  const Cache cache(folder_, 5000);
  const std::string keys[] = {std::string(32, '0'), std::string(32, '1'), std::string(32, '2')};
  for (const auto& key : {keys[0], keys[1]}) {
    keep(cache, key);
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file(key).c_str(), old, 0), 0);
  }
  ASSERT_TRUE(cache.load(keys[0], "nvrtc13.0"));  // used again
  keep(cache, keys[2], 'x', "nvrtc13.0", 2500);
  EXPECT_TRUE(cache.load(keys[0], "nvrtc13.0"));
  EXPECT_FALSE(cache.load(keys[1], "nvrtc13.0"));
  EXPECT_TRUE(cache.load(keys[2], "nvrtc13.0"));
}

TEST_F(CacheTest, ManyProcessesWriteAndReadAtOnce) {
  const Cache cache(folder_);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 25; ++round) {
        keep(cache, kKey, 'x');
        const auto found = cache.load(kKey, "nvrtc13.0");
        good = good && found && *found->cubin == std::vector<char>(1000, 'x');
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(cache.list().size(), 1U);
}

}  // namespace
}  // namespace gemwright::compile
