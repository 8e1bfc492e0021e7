#include "cli/support.hpp"
#include "families/family.hpp"
#include "files/files.hpp"
#include "store/database.hpp"
#include "tune/rule.hpp"
#include <gemwright/device.hpp>

#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::cli {
namespace {

using Tune = CommandTest;

std::vector<std::string> small(const std::string& command) {
  return {command, "--device", "cpu:1", "--m", "4", "--n", "48", "--k", "40", "--json"};
}

// A row whose measurement something else on this machine disturbed.
bool spoiled(const nlohmann::json& row) {
  return row.contains("note");
}
std::string why(const nlohmann::json& row) {
  return "the measurement was disturbed: " + row["note"].get<std::string>();
}

TEST_F(Tune, TheSecondRunAnswersFromTheStore) {
  EXPECT_EQ(run(small("tune")), kDone) << err_;
  const auto first = json()["rows"][0];
  if (spoiled(first)) GTEST_SKIP() << why(first);
  EXPECT_EQ(first["source"], "tuned");
  EXPECT_GT(first["us"], 0.0);
  EXPECT_EQ(run(small("tune")), kDone);
  const auto second = json()["rows"][0];
  EXPECT_EQ(second["source"], "store");
  EXPECT_EQ(second["kernel"], first["kernel"]);
  EXPECT_EQ(second["us"], first["us"]);

  EXPECT_EQ(run(small("explain")), kDone);
  EXPECT_EQ(json()[0]["source"], "store");
  const auto rule = tune::parse_rule(json()[0].value("rule", ""));
  ASSERT_TRUE(rule) << "it is kept";
  EXPECT_GE(json()[0]["band"], 0.0);
  for (const auto& [field, value] : second.items()) {
    EXPECT_EQ(json()[0].value(field, nlohmann::json()), value) << field;
  }
  EXPECT_EQ(run({"explain", "--device", "cpu:1", "--m", "4", "--n", "48", "--k", "40"}), kDone);
  EXPECT_TRUE(said("chosen"));
  if (*rule == tune::Rule::fastest) {
    EXPECT_TRUE(said("the fastest of those measured when it was tuned"));
  }
  EXPECT_TRUE(said("bound by"));

  EXPECT_EQ(run({"store", "list"}), kDone);
  EXPECT_TRUE(said("1 tuned problem in"));
  EXPECT_TRUE(said("on " + Device::cpu(1).key()));
}

TEST_F(Tune, AnAnswerForWantOfMemoryIsNotSaidToBeKept) {
  for (const std::string candidates : {"1", "0"}) {
    EXPECT_EQ(run({"tune", "--device", "cpu:1", "--time-limit", "1", "--max-candidates", candidates,
                   "--problem", "m=1 n=32 k=1099511627776 a=f32:0:0 b=f32:0:0 d=f32:32:1"}),
              kDone)
        << err_;
    EXPECT_TRUE(said("not measured")) << out_;
    EXPECT_TRUE(said("not kept: the next call tunes it again")) << out_;
    EXPECT_FALSE(said("kept as it is")) << out_;
  }
}

// What a stored answer with a note says below the table, as its limit cut it short or not.
TEST_F(Tune, TheNoteOfAStoredAnswerSaysWhatTunesItAgain) {
  std::ofstream(folder_ / "list.csv") << "m,n,k\n4,48,40\n4,48,48\n";
  const std::vector<std::string> tune = {
      "tune", "--device", "cpu:1", "--time-limit", "4", "--list", folder_ / "list.csv"};
  ASSERT_EQ(run(tune), kDone) << err_;
  const auto database = store::open_file(folder_ / "store.db");
  const auto said_with = [&](double first_limit, double second_limit) {
    auto records = database->list();
    EXPECT_EQ(records.size(), 2U);
    for (auto& record : records) {
      record.note = "not the whole answer";
      record.time_limit_s =
          record.problem.find("k=40") == std::string::npos ? second_limit : first_limit;
      database->keep(record, true);
    }
    EXPECT_EQ(run(tune), kDone) << err_;
    return out_.substr(out_.rfind("note: ") + 6);
  };
  EXPECT_EQ(said_with(0, 0), "kept as it is; --retune tunes it again\n");
  EXPECT_EQ(said_with(4, 4), "kept as it is; --retune, or a longer --time-limit, tunes it again\n");
  EXPECT_EQ(
      said_with(0, 4),
      "kept as it is; --retune tunes it again, and a longer --time-limit what was cut short or "
      "did not repeat\n");
}

TEST_F(Tune, AReportSaysWhatItIsOf) {
  auto arguments = small("tune");
  EXPECT_EQ(run(arguments), kDone) << err_;
  EXPECT_FALSE(json()["version"].get<std::string>().empty());
  EXPECT_FALSE(json()["commit"].get<std::string>().empty());
  ASSERT_TRUE(json().contains("clock_mhz"));
  if (json()["rows"][0]["source"] == "tuned" && !json()["clock_mhz"].is_null()) {
    EXPECT_GT(json()["clock_mhz"]["min"], 0.0);
    EXPECT_GE(json()["clock_mhz"]["max"], json()["clock_mhz"]["median"]);
  }
  EXPECT_TRUE(json()["rows"][0]["format"].is_null());
  EXPECT_TRUE(json()["rows"][0]["activations"].is_null());
  arguments.insert(arguments.end(), {"--model", "--format", "nf4", "--activations", "int8"});
  EXPECT_EQ(run(arguments), kDone) << err_;
  EXPECT_TRUE(json()["clock_mhz"].is_null());
  EXPECT_EQ(json()["rows"][0]["format"].get<std::string>().rfind("nf4:", 0), 0U);
  EXPECT_EQ(json()["rows"][0]["activations"], "int8");
}

TEST_F(Tune, TheModelAnswersWithoutMeasuring) {
  auto arguments = small("tune");
  arguments.emplace_back("--model");
  EXPECT_EQ(run(arguments), kDone);
  EXPECT_EQ(json()["rows"][0]["source"], "model");
  EXPECT_EQ(json()["rows"][0]["measured"], false);
  arguments.pop_back();
  arguments.pop_back();
  arguments.emplace_back("--model");
  EXPECT_EQ(run(arguments), kDone);
  EXPECT_TRUE(said("predicted by the model"));
}

TEST_F(Tune, ADescribedDeviceIsRefusedForTuning) {
#ifndef GEMWRIGHT_CUDA
  GTEST_SKIP() << "a build without CUDA knows no GPU";
#endif
  const std::vector<std::string> sizes = {"--device", "l40s", "--n", "64", "--k", "64"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    return run(arguments);
  };
  if (Device::parse("l40s").present()) GTEST_SKIP() << "this machine has that GPU";
  EXPECT_EQ(with({"tune"}), kNothingFound);
  EXPECT_TRUE(failed_with("is not in this machine")) << err_;
  EXPECT_EQ(run({"devices", "--calibrate", "--device", "l40s"}), kNothingFound);
  EXPECT_TRUE(failed_with("is not in this machine")) << err_;
  EXPECT_EQ(with({"bench"}), kNothingFound);
  EXPECT_TRUE(failed_with("candidates, explain and tune --model work for it")) << err_;
  EXPECT_EQ(with({"candidates"}), kDone);
  EXPECT_EQ(with({"explain"}), kDone);
  EXPECT_EQ(with({"tune", "--model"}), kDone);
}

TEST_F(Tune, AStoreThatCannotBeWrittenIsSaidAndHarmsNothing) {
  const auto path = folder_ / "a folder.db";
  std::filesystem::create_directory(path);
  auto arguments = small("tune");
  arguments.insert(arguments.end(), {"--store", path});
  EXPECT_EQ(run(arguments), kDone);
  EXPECT_EQ(json()["rows"][0]["source"], "tuned");
  EXPECT_NE(err_.find("gemwright: warning: results are not kept: store "), std::string::npos);
}

TEST_F(Tune, ATimeLimitIsSaidKeptAndTriedAgainWithMoreTime) {
  const auto with_limit = [&](const char* limit) {
    auto arguments = small("tune");
    arguments.insert(arguments.end(), {"--time-limit", limit});
    EXPECT_EQ(run(arguments), kDone) << err_;
    return json()["rows"][0];
  };
  const auto first = with_limit("0.01");
  EXPECT_NE(first["note"].get<std::string>().find("not measured: time limit 0.01 s"),
            std::string::npos);
  EXPECT_EQ(with_limit("0.01")["measured"], false);
  const auto again = with_limit("60");
  EXPECT_EQ(again["source"], "tuned");
  if (spoiled(again)) GTEST_SKIP() << why(again);
  EXPECT_EQ(with_limit("90")["source"], "store");
}

TEST_F(Tune, BenchTimesNamedKernels) {
  auto arguments = small("bench");
  arguments.insert(arguments.end(), {"--kernel", "cpu_reference"});
  EXPECT_EQ(run(arguments), kDone) << err_;
  ASSERT_EQ(json()[0]["kernels"].size(), 1U);
  EXPECT_GT(json()[0]["kernels"][0]["median_us"], 0.0);
  EXPECT_GT(json()[0]["kernels"][0]["rounds"], 0);
  arguments.insert(arguments.end(), {"--kernel", "no_such_kernel"});
  EXPECT_EQ(run(arguments), kUsage);
  EXPECT_TRUE(failed_with("--kernel: given no_such_kernel; allowed: ")) << err_;
  EXPECT_TRUE(failed_with("cpu_packed")) << err_;
  arguments.back() = "cpu_reference/none";
  EXPECT_EQ(run(arguments), kNothingFound);
  EXPECT_TRUE(failed_with("gemwright candidates --top 0")) << err_;
  if (families::find("cuda_mma") == nullptr) return;
  arguments.back() = "cuda_mma";
  EXPECT_EQ(run(arguments), kNothingFound);
  EXPECT_TRUE(failed_with("cuda_mma is for GPUs")) << err_;
}

TEST_F(Tune, BenchFailsWhereNothingWasMeasured) {
  auto arguments = small("bench");
  arguments.insert(arguments.end(), {"--time-limit", "1e-6"});
  EXPECT_EQ(run(arguments), kFailed);
  EXPECT_EQ(json()[0]["kernels"][0]["rounds"], 0);
  EXPECT_EQ(err_.rfind("gemwright: m=4 n=48 k=40 ", 0), 0U) << err_;
  EXPECT_NE(err_.find(": nothing measured: "), std::string::npos) << err_;
  EXPECT_NE(err_.find("time limit 1e-06 s\n"), std::string::npos) << err_;
}

TEST_F(Tune, BenchKeepsTheOtherRowsOfAListBesideAnEmptyOne) {
  std::ofstream(folder_ / "list.csv") << "m,n,k\n0,16,16\n2,16,16\n";
  EXPECT_EQ(run({"bench", "--device", "cpu:1", "--list", folder_ / "list.csv", "--kernel",
                 "cpu_reference", "--json"}),
            kDone)
      << err_;
  ASSERT_EQ(json().size(), 2U);
  EXPECT_TRUE(json()[0]["kernels"].empty());
  EXPECT_EQ(json()[1]["kernels"].size(), 1U);
}

TEST_F(Tune, StoresAreCarriedAsJson) {
  EXPECT_EQ(run(small("tune")), kDone);
  if (const auto row = json()["rows"][0]; spoiled(row)) GTEST_SKIP() << why(row);
  const std::string file = folder_ / "export.json";
  EXPECT_EQ(run({"store", "export", file}), kDone);
  const std::string other = folder_ / "other.db";
  EXPECT_EQ(run({"store", "import", file, "--store", other}), kDone);
  EXPECT_TRUE(said("1 of 1"));
  EXPECT_EQ(run({"store", "import", file, "--store", other}), kDone);
  EXPECT_TRUE(said("0 of 1"));

  auto elsewhere = small("tune");
  elsewhere.insert(elsewhere.end(), {"--store", folder_ / "new.db", "--shipped-store", other});
  EXPECT_EQ(run(elsewhere), kDone);
  EXPECT_EQ(json()["rows"][0]["source"], "store");

  std::ofstream(folder_ / "bad.json") << "{\"gemwright_store\": 1,\n\"records\": [}";
  EXPECT_EQ(run({"store", "import", folder_ / "bad.json"}), kUsage);
  EXPECT_TRUE(failed_with("bad.json: store export: given parse error at line 2")) << err_;
  EXPECT_EQ(run({"store", "list", "--store", folder_ / "none.db"}), kUsage);
  EXPECT_TRUE(failed_with("none.db")) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
  EXPECT_EQ(run({"store", "remove"}), kUsage);
  EXPECT_EQ(run({"store", "remove", "--all"}), kDone);
  EXPECT_TRUE(said("1 removed"));
}

TEST_F(Tune, AnInterruptBeforeTheFirstProblem) {
  interrupted_ = true;
  EXPECT_EQ(run(small("tune")), kInterrupted);
  EXPECT_NE(err_.find("0 of 1"), std::string::npos);
}

// The program itself, interrupted as a terminal does.
TEST_F(Tune, SigintKeepsAndPrintsWhatIsDone) {
  {
    std::ofstream list(folder_ / "list.csv");
    list << "m,n,k\n";
    for (int n = 1; n <= 5000; ++n) list << "4," << 16 * n << ",64\n";
  }
  const std::string list = folder_ / "list.csv";
  const std::string out = folder_ / "out";
  const std::string err = folder_ / "err";
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execl(GEMWRIGHT_PROGRAM, "gemwright", "tune", "--device", "cpu:1", "--list", list.c_str(),
          nullptr);
    _exit(127);
  }
  // Once something is stored, the program is at work.
  const auto stored = [&] { return run({"store", "list", "--json"}) == kDone && !json().empty(); };
  for (int i = 0; i < 600 && !stored(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kInterrupted);
  EXPECT_NE(files::read(err).value_or("").find("of 5000 problems done"), std::string::npos);
  EXPECT_NE(files::read(out).value_or("").find("kernel"), std::string::npos);
  EXPECT_TRUE(stored());
}

// As a shell's "ulimit -f" does: the system would end the program by a signal.
TEST_F(Tune, AFileBeyondTheLimitOfItsSizeFails) {
  ASSERT_EQ(run({"store", "list"}), kDone) << "the store is made without a limit";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    execl(GEMWRIGHT_PROGRAM, "gemwright", "store", "export", (folder_ / "export.json").c_str(),
          nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kFailed);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "export.json"));
}

TEST_F(Tune, AFullOutputFails) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "this system has no /dev/full";
  const pid_t child = fork();
  if (child == 0) {
    dup2(full, STDOUT_FILENO);
    execl(GEMWRIGHT_PROGRAM, "gemwright", "devices", "--device", "cpu", nullptr);
    _exit(127);
  }
  close(full);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kFailed);
}

}  // namespace
}  // namespace gemwright::cli
