#include "store/record_json.hpp"
#include "store/samples.hpp"
#include <gemwright/store.hpp>

#include <chrono>
#include <thread>

#include <sys/stat.h>

namespace gemwright::store {
namespace {

using FileDatabase = StoreTest;

TEST_F(FileDatabase, GivesBackWhatWasKept) {
  const Record record = sample(32);
  open_file(path())->keep(record, false);
  const auto found = open_file(path())->find(record.problem, record.device);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_json(*found), to_json(record));
  const auto candidates = candidates_from_json(found->candidates_json);
  ASSERT_EQ(candidates.size(), 12U);
  EXPECT_EQ(candidates[0].rule, "equal");
  EXPECT_EQ(candidates[11].failure, "wrong result at [3, 4]");
}

TEST_F(FileDatabase, MissesOtherProblemsAndDevices) {
  const auto database = open_file(path());
  database->keep(sample(32), false);
  EXPECT_FALSE(database->find(problem_key(33), "test device"));
  EXPECT_FALSE(database->find(problem_key(32), "another device"));
}

TEST_F(FileDatabase, TheFirstKeptStaysUnlessReplaced) {
  const auto one = open_file(path());
  const auto two = open_file(path());
  EXPECT_EQ(one->keep(sample(32, "first"), false).chosen.configuration_name, "first");
  EXPECT_EQ(two->keep(sample(32, "second"), false).chosen.configuration_name, "first");
  EXPECT_EQ(two->keep(sample(32, "second"), true).chosen.configuration_name, "second");
}

TEST_F(FileDatabase, MergeTakesTheLaterThenTheBetterMeasured) {
  const auto database = open_file(path());
  Record record = sample(32, "first");
  EXPECT_TRUE(database->merge(record));
  EXPECT_FALSE(database->merge(record));
  Record fewer = sample(32, "fewer");
  auto candidates = candidates_from_json(fewer.candidates_json);
  candidates.resize(2);
  fewer.candidates_json = candidates_to_json(candidates);
  EXPECT_FALSE(database->merge(fewer));
  fewer.date = "2026-12-01T00:00:00Z";
  EXPECT_TRUE(database->merge(fewer));
  EXPECT_FALSE(database->merge(record));
  EXPECT_EQ(database->find(record.problem, record.device)->chosen.configuration_name, "fewer");
}

TEST_F(FileDatabase, SeesWhatAnotherConnectionWroteAfterALookup) {
  const auto reader = open_file(path());
  EXPECT_FALSE(reader->find(problem_key(32), "test device"));
  open_file(path())->keep(sample(32), false);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_TRUE(reader->find(problem_key(32), "test device"));
}

TEST_F(FileDatabase, RemovesByProblemOrDevice) {
  const auto database = open_file(path());
  for (int n = 1; n <= 3; ++n) database->keep(sample(n), false);
  EXPECT_EQ(database->remove(problem_key(1), ""), 1);
  EXPECT_FALSE(database->find(problem_key(1), "test device"));
  EXPECT_EQ(database->remove("", "another device"), 0);
  EXPECT_EQ(database->remove("", "test device"), 2);
  EXPECT_TRUE(database->list().empty());
}

TEST_F(FileDatabase, RemembersFailuresOnce) {
  const auto database = open_file(path());
  database->remember_failure(sample_failure("fault: SIGSEGV"));
  database->remember_failure(sample_failure("time limit"));
  const auto failures = open_file(path())->failures("test device");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].reason, "time limit");
  EXPECT_TRUE(database->failures("another device").empty());
  EXPECT_EQ(database->failures("").size(), 1U);
}

TEST_F(FileDatabase, ForgetsFailuresWithTheirProblems) {
  Failure other = sample_failure();
  other.problem = problem_key(77);
  for (const auto& database : {open_file(path()), open_memory()}) {
    database->remember_failure(sample_failure());
    database->remember_failure(other);
    database->remove(other.problem, "");
    ASSERT_EQ(database->failures("").size(), 1U);
    EXPECT_EQ(database->failures("")[0].problem, sample_failure().problem);
    database->remove("", "another device");
    EXPECT_EQ(database->failures("").size(), 1U);
    EXPECT_EQ(database->remove("", ""), 0);
    EXPECT_TRUE(database->failures("").empty());
  }
}

TEST_F(FileDatabase, ForgetsFailuresAndKeepsResults) {
  Failure other = sample_failure();
  other.device = "another device";
  for (const auto& database : {open_file(path()), open_memory()}) {
    database->keep(sample(1), false);
    database->remember_failure(sample_failure());
    database->remember_failure(other);
    EXPECT_EQ(database->forget_failures(problem_key(77), ""), 0);
    EXPECT_EQ(database->forget_failures(other.problem, other.device), 1);
    EXPECT_EQ(database->failures("").size(), 1U);
    EXPECT_EQ(database->forget_failures("", ""), 1);
    EXPECT_TRUE(database->failures("").empty());
    EXPECT_EQ(database->list().size(), 1U);
  }
}

TEST_F(FileDatabase, IsPrivateToTheUser) {
  const auto path = folder_ / "a" / "store.db";
  const auto database = open_file(path);
  database->keep(sample(1), false);
  const auto mode = [](const std::filesystem::path& file) {
    struct stat status {};
    EXPECT_EQ(stat(file.c_str(), &status), 0) << file;
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode(folder_ / "a"), 0700U);
  EXPECT_EQ(mode(path), 0600U);
  EXPECT_EQ(mode(path.string() + "-wal"), 0600U);
}

TEST_F(FileDatabase, MakesNoPathOfFolders) {
  const auto database = open_file(folder_ / "no" / "such" / "store.db");
  database->keep(sample(1), false);
  EXPECT_NE(database->trouble(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
  EXPECT_TRUE(database->find(sample(1).problem, sample(1).device)) << "remembered all the same";
}

TEST_F(FileDatabase, TakesPathsWithCharactersThatUrisEscape) {
  const auto odd = folder_ / "50% ?#&" / "store.db";
  open_file(odd)->keep(sample(1), false);
  EXPECT_TRUE(std::filesystem::exists(odd));
  EXPECT_TRUE(open_file(odd)->find(problem_key(1), "test device"));
}

TEST_F(FileDatabase, ManyThreadsShareOne) {
  const auto database = open_file(path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 10; ++n) {
        database->keep(sample(n, "thread" + std::to_string(t)), false);
        EXPECT_TRUE(database->find(problem_key(n), "test device"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(database->list().size(), 10U);
}

TEST_F(FileDatabase, AShippedStoreAnswersAfterTheUsersOwn) {
  const auto shipped = folder_ / "shipped.db";
  open_file(shipped)->keep(sample(1, "shipped"), false);
  open_file(shipped)->keep(sample(2, "shipped"), false);
  const auto before = std::filesystem::file_size(shipped);
  std::filesystem::permissions(shipped, std::filesystem::perms::owner_read);
  const Store store = Store::open(path(), shipped);
  auto& database = store.database();
  EXPECT_EQ(database.find(problem_key(1), "test device")->chosen.configuration_name, "shipped");
  database.keep(sample(1, "own"), false);
  EXPECT_EQ(database.find(problem_key(1), "test device")->chosen.configuration_name, "own");
  EXPECT_EQ(database.list().size(), 2U);
  EXPECT_EQ(database.remove("", ""), 1);
  EXPECT_EQ(database.list().size(), 2U);
  EXPECT_EQ(std::filesystem::file_size(shipped), before);
  EXPECT_FALSE(std::filesystem::exists(shipped.string() + "-wal"));
}

TEST_F(FileDatabase, AMissingShippedStoreIsAMiss) {
  const Store store = Store::open(path(), folder_ / "none.db");
  EXPECT_FALSE(store.database().find(problem_key(1), "test device"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
}

TEST(MemoryDatabase, RemembersForItsLife) {
  const Store store = Store::none();
  store.database().keep(sample(1, "first"), false);
  EXPECT_EQ(store.database().keep(sample(1, "second"), false).chosen.configuration_name, "first");
  EXPECT_EQ(store.database().list().size(), 1U);
  EXPECT_FALSE(Store::none().database().find(problem_key(1), "test device"));
}

}  // namespace
}  // namespace gemwright::store
