#include "files/files.hpp"

#include <gemwright/errors.hpp>

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::files {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("gemwright_files_" + std::to_string(::getpid()));
};

TEST_F(Files, MakesFoldersAndReplacesWhole) {
  const auto path = folder_ / "a/b/file";
  EXPECT_FALSE(read(path).has_value());
  write_atomically(path, std::string("one\0two", 7));
  EXPECT_EQ(read(path), std::string("one\0two", 7));
  write_atomically(path, "");
  EXPECT_EQ(read(path), "");
  // Nothing temporary is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
}

TEST_F(Files, TheUmaskSaysWhoMayRead) {
  const auto mode_under = [&](mode_t umask_value) {
    const mode_t saved = umask(umask_value);
    write_atomically(folder_ / "file", "text");
    umask(saved);
    struct stat status {};
    EXPECT_EQ(stat((folder_ / "file").c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode_under(022), 0644U);
  EXPECT_EQ(mode_under(002), 0664U) << "of the file that it replaces nothing is left";
  EXPECT_EQ(mode_under(077), 0600U);
}

TEST_F(Files, RefusalLeavesTheOldFile) {
  const auto path = folder_ / "taken/inside";
  write_atomically(folder_ / "taken", "a file where a folder is wanted");
  EXPECT_THROW(write_atomically(path, "text"), Error);
  EXPECT_EQ(read(folder_ / "taken"), "a file where a folder is wanted");
}

TEST_F(Files, CacheFolderFollowsXdg) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(cache_folder(), "/somewhere/gemwright");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cache_folder().filename(), "gemwright");
  EXPECT_TRUE(cache_folder().is_absolute());
  saved.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", saved.c_str(), 1);
}

TEST_F(Files, WithoutHomeTheCacheIsNoFolderOfEverybodys) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string saved_cache = cache == nullptr ? "" : cache;
  const std::string saved_home = home == nullptr ? "" : home;
  unsetenv("XDG_CACHE_HOME");
  for (const char* none : {"", "relative", "/nonexistent/home"}) {
    setenv("HOME", none, 1);
    const auto folder = cache_folder();
    EXPECT_TRUE(folder.is_absolute()) << folder;
    EXPECT_NE(folder, "/tmp/.cache/gemwright");
    EXPECT_NE(folder, "/nonexistent/home/.cache/gemwright");
  }
  if (!saved_cache.empty()) setenv("XDG_CACHE_HOME", saved_cache.c_str(), 1);
  saved_home.empty() ? unsetenv("HOME") : setenv("HOME", saved_home.c_str(), 1);
}

}  // namespace
}  // namespace gemwright::files
