// The store meets damage, other schemas and disks that refuse: nothing throws, nothing is lost.
// What is somebody else's is refused.
#include "files/file_lock.hpp"
#include "store/place.hpp"
#include "store/record_json.hpp"
#include "store/samples.hpp"
#include "store/sqlite.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/store.hpp>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <random>

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::store {
namespace {

namespace fs = std::filesystem;
using Faults = StoreTest;

constexpr int kRows = 40;

void fill(const fs::path& path) {
  const auto database = open_file(path);
  for (int n = 1; n <= kRows; ++n) database->keep(sample(n), false);
}

// Every row is either gone or exactly what was kept, and the store works again.
void expect_survived(const fs::path& path) {
  const auto database = open_file(path);
  for (int n = 1; n <= kRows; ++n) {
    if (const auto found = database->find(problem_key(n), "test device")) {
      EXPECT_EQ(to_json(*found), to_json(sample(n)));
    }
  }
  database->keep(sample(1), false);
  database->keep(sample(1000), false);
  const auto again = open_file(path);
  EXPECT_TRUE(again->find(problem_key(1), "test device"));
  EXPECT_TRUE(again->find(problem_key(1000), "test device"));
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Runs in a child process, because it changes what the process may do; true when it returned true.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Root may write everywhere; the tests of permissions need somebody who may not.
void become_nobody() {
  if (getuid() == 0 && setuid(65534) != 0) _exit(2);
}

TEST_F(Faults, CutShort) {
  fill(path());
  const std::string whole = read_file(path());
  for (const std::size_t size : {0, 1, 15, 16, 60, 100, 1000, 4096, 6000, 8192, 20000}) {
    ASSERT_LT(size, whole.size());
    write_file(path(), whole.substr(0, size));
    expect_survived(path());
  }
}

TEST_F(Faults, BitsFlipped) {
  fill(path());
  const std::string whole = read_file(path());
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    // The first page holds what SQLite steers by, so every other round damages that one.
    const std::size_t range = round % 2 == 0 ? 4096 : bytes.size();
    for (int flips = 0; flips < 4; ++flips) bytes[random() % range] ^= char(1 << (random() % 8));
    write_file(path(), bytes);
    expect_survived(path());
  }
}

TEST_F(Faults, NotADatabaseAnyMoreIsMovedAsideWithTheDate) {
  fill(path());
  write_file(path(), std::string(5000, 'x'));
  expect_survived(path());
  EXPECT_EQ(moved_aside(), 1);
}

TEST_F(Faults, ANewerSchemaIsMovedAsideWhole) {
  fill(path());
  Connection(path(), Access::read_write).execute("PRAGMA user_version = 99");
  const auto database = open_file(path());
  EXPECT_FALSE(database->find(problem_key(1), "test device"));
  EXPECT_EQ(moved_aside(), 1);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().string().find(".bad-") == std::string::npos) continue;
    Connection old(entry.path(), Access::read_only);
    EXPECT_EQ(old.query_integer("SELECT count(*) FROM records"), kRows);
    break;
  }
}

TEST_F(Faults, ADamagedHeaderIsKnownByTheSchemaBehindIt) {
  fill(path());
  // All of it into the main file, as it is copied elsewhere.
  Connection(path(), Access::read_write).query_text("PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = read_file(path());
  bytes.replace(0, 100, std::string(100, '\0'));
  fs::create_directory(folder_ / "copy");
  write_file(folder_ / "copy" / "store.db", bytes);
  const Store store = Store::open(folder_ / "copy" / "store.db");
  store.database().keep(sample(1), false);
  EXPECT_EQ(store.database().trouble(), "");
}

TEST_F(Faults, AStoreOfNoApplicationIdIsOne) {
  fill(path());
  Connection(path(), Access::read_write).execute("PRAGMA application_id = 0");
  fs::remove(path().string() + ".lock");
  EXPECT_FALSE(is_foreign(path()));
  EXPECT_TRUE(Store::open(path()).database().find(problem_key(1), "test device"));
}

class Foreign : public StoreTest {
 protected:
  // Neither the public API nor the database itself touches the file, or leaves one beside it.
  void expect_left_alone() {
    const std::string before = read_file(path());
    const auto files = [this] {
      return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    };
    const auto count = files();
    EXPECT_THROW(Store::open(path()), InvalidArgument);
    const auto database = open_file(path());
    EXPECT_FALSE(database->find(problem_key(1), "test device"));
    database->keep(sample(1), false);
    EXPECT_NE(database->trouble(), "");
    EXPECT_TRUE(database->find(problem_key(1), "test device"));
    EXPECT_EQ(read_file(path()), before);
    EXPECT_EQ(files(), count);
  }
};

TEST_F(Foreign, ATextIsLeftAlone) {
  write_file(path(), "m,n,k\n1,8,8\n");
  expect_left_alone();
}

TEST_F(Foreign, ALockOfAnotherProgramMakesItNoStore) {
  write_file(path(), std::string(5000, 'x'));
  write_file(path().string() + ".lock", "");
  fs::permissions(path().string() + ".lock", fs::perms(0644));
  expect_left_alone();
}

TEST_F(Foreign, AnotherDatabaseIsLeftAlone) {
  Connection(path(), Access::read_write).execute("CREATE TABLE other (x)");
  expect_left_alone();
  Connection(path(), Access::read_write).execute("PRAGMA user_version = 3");
  expect_left_alone();
}

TEST_F(Foreign, AnotherDatabaseWhoseTablesAreInItsLogIsLeftAlone) {
  Connection other(path(), Access::read_write);
  other.query_text("PRAGMA journal_mode = WAL");
  other.execute("CREATE TABLE other (x)");
  expect_left_alone();
}

TEST_F(Foreign, ATableOfTheSameNameMakesItNoStore) {
  Connection(path(), Access::read_write).execute("CREATE TABLE records (artist, title)");
  expect_left_alone();
}

TEST_F(Foreign, TheEnvironmentNamesItsVariable) {
  write_file(path(), "notes");
  setenv("GEMWRIGHT_STORE", path().c_str(), 1);
  try {
    Store::user();
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.argument(), "GEMWRIGHT_STORE");
  }
  unsetenv("GEMWRIGHT_STORE");
}

TEST_F(Foreign, APathOfMissingFoldersIsRefused) {
  EXPECT_THROW(Store::open(folder_ / "no" / "such" / "store.db"), InvalidArgument);
  EXPECT_THROW(Store::open(""), InvalidArgument);
  EXPECT_FALSE(fs::exists(folder_ / "no"));
  Store::open(folder_ / "new" / "store.db").database().keep(sample(1), false);
  EXPECT_TRUE(fs::exists(folder_ / "new" / "store.db"));
}

TEST_F(Foreign, ADeviceIsNoStore) {
  EXPECT_THROW(Store::open("/dev/null"), InvalidArgument);
}

TEST_F(Faults, DamageFoundWhileOpen) {
  fill(path());
  const auto database = open_file(path());
  EXPECT_TRUE(database->find(problem_key(1), "test device"));
  std::string bytes = read_file(path());
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  // In place, so that it stays the file that is open.
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary) << bytes;
  EXPECT_FALSE(database->find(problem_key(kRows), "test device"));
  database->keep(sample(7), false);
  EXPECT_TRUE(open_file(path())->find(problem_key(7), "test device"));
}

TEST_F(Faults, ADamagedRowIsAMissAndIsReplaced) {
  fill(path());
  for (const char* damage : {"family = replace(family, 'packed', 'hacked')", "margin = margin + 1",
                             "candidates = replace(candidates, 'packed', 'hacked')"}) {
    Connection(path(), Access::read_write)
        .execute(("UPDATE records SET " + std::string(damage)).c_str());
    const auto database = open_file(path());
    EXPECT_FALSE(database->find(problem_key(1), "test device")) << damage;
    EXPECT_TRUE(database->list().empty());
    for (int n = 1; n <= kRows; ++n) database->keep(sample(n), false);
    EXPECT_TRUE(database->find(problem_key(1), "test device"));
  }
  EXPECT_EQ(moved_aside(), 0);
}

TEST_F(Faults, NumbersThatAreNone) {
  Record record = sample(1);
  record.margin = std::numeric_limits<double>::quiet_NaN();
  record.noise = -0.0;
  record.floor_us = std::numeric_limits<double>::infinity();
  open_file(path())->keep(record, false);
  EXPECT_TRUE(open_file(path())->find(record.problem, record.device));
}

TEST_F(Faults, DeletedBetweenCalls) {
  const auto database = open_file(folder_ / "sub" / "store.db");
  database->keep(sample(1), false);
  fs::remove_all(folder_ / "sub");
  usleep(150'000);
  EXPECT_FALSE(database->find(problem_key(1), "test device"));
  database->keep(sample(2), false);
  EXPECT_TRUE(open_file(folder_ / "sub" / "store.db")->find(problem_key(2), "test device"));
}

TEST_F(Faults, DeletedWhileWritesGoOn) {
  const auto database = open_file(path());
  database->keep(sample(1), false);
  fs::remove(path());
  usleep(150'000);
  database->keep(sample(2), false);
  EXPECT_TRUE(open_file(path())->find(problem_key(2), "test device"));
}

TEST_F(Faults, AReadOnlyFolderIsReadAndRemembersInMemory) {
  fill(path());
  ASSERT_EQ(chmod(path().c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_TRUE(in_child([&] {
    become_nobody();
    const auto database = open_file(path());
    const bool read = database->find(problem_key(1), "test device").has_value();
    database->keep(sample(500), false);
    database->remember_failure(sample_failure());
    return read && database->find(problem_key(500), "test device") &&
           database->failures("test device").size() == 1;
  }));
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
}

TEST_F(Faults, AStoreThatAnotherProcessHoldsIsAMiss) {
  const files::FileLock other(path().string() + ".lock", files::FileLock::Kind::alone, 0);
  ASSERT_TRUE(other.held());
  const auto database = open_file(path());
  EXPECT_FALSE(database->find(problem_key(1), "test device"));
  database->keep(sample(1), false);
  EXPECT_NE(database->trouble().find("another process has held"), std::string::npos);
  EXPECT_TRUE(database->find(problem_key(1), "test device"));
}

TEST_F(Faults, WhatCouldNotBeWrittenIsWithTheNextThatCan) {
  const auto database = open_file(path());
  {
    const files::FileLock other(path().string() + ".lock", files::FileLock::Kind::alone, 0);
    ASSERT_TRUE(other.held());
    database->keep(sample(1), false);
    database->remember_failure(sample_failure());
    EXPECT_NE(database->trouble(), "");
  }
  database->keep(sample(2), false);
  EXPECT_EQ(database->trouble(), "");
  EXPECT_EQ(database->list().size(), 2U);
  EXPECT_EQ(open_file(path())->list().size(), 2U);
  EXPECT_EQ(open_file(path())->failures("").size(), 1U);
}

TEST_F(Faults, AFolderThatCannotBeMade) {
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_TRUE(in_child([&] {
    become_nobody();
    const auto database = open_file(folder_ / "none" / "store.db");
    const bool missed = !database->find(problem_key(1), "test device");
    database->keep(sample(1), false);
    return missed && database->find(problem_key(1), "test device") && database->list().size() == 1;
  }));
}

TEST_F(Faults, AFullDiskIsALoggedMiss) {
  fill(path());
  EXPECT_TRUE(in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{32 << 10, 32 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto database = open_file(path());
    for (int n = 100; n < 140; ++n) {
      database->keep(sample(n), false);
      if (!database->find(problem_key(n), "test device")) return false;
    }
    return database->find(problem_key(1), "test device").has_value();
  }));
  const auto database = open_file(path());
  for (int n = 1; n <= kRows; ++n) EXPECT_TRUE(database->find(problem_key(n), "test device"));
  EXPECT_EQ(moved_aside(), 0);
}

}  // namespace
}  // namespace gemwright::store
