#include "cli/support.hpp"
#include "files/safetensors.hpp"
#include "store/database.hpp"
#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemwright::cli {
namespace {

using Command = CommandTest;

// A checkpoint of zeros.
void write_checkpoint(const std::filesystem::path& path, std::vector<files::Tensor> tensors) {
  files::SafetensorsWriter writer(path, {std::move(tensors), {}}, "test");
  writer.commit();
}

TEST_F(Command, EveryCommandHasHelpWithExamples) {
  for (const char* name : {"devices", "candidates", "explain", "tune", "bench", "store", "quantize",
                           "inspect", "import", "export"}) {
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
  EXPECT_TRUE(failed_with(": command: given bogus; allowed: devices, candidates")) << err_;
  EXPECT_EQ(run({"tune", "--bogus", "x"}), kUsage);
  EXPECT_TRUE(failed_with(": tune: given --bogus x; allowed: what its help lists (")) << err_;
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
  EXPECT_TRUE(failed_with("--device: given abacus; allowed: cpu")) << err_;
  EXPECT_EQ(run({"tune", "--problem", "m=1"}), kUsage);
  EXPECT_TRUE(failed_with("--problem: ")) << err_;
  EXPECT_EQ(run({"tune", "--config", "/nonexistent"}), kUsage);
  EXPECT_TRUE(failed_with("--config: given /nonexistent: no such file; allowed: ")) << err_;
  EXPECT_EQ(run({"tune", "--list", folder_}), kUsage);
  EXPECT_TRUE(failed_with("--list: given " + folder_.string() + ": a folder; allowed: ")) << err_;
  EXPECT_EQ(run({"store", "import", "/nonexistent"}), kUsage);
  EXPECT_TRUE(failed_with("file: given /nonexistent: no such file; allowed: ")) << err_;
  EXPECT_EQ(run({"store"}), kUsage);
  EXPECT_TRUE(failed_with(": store: given nothing; allowed: list, export")) << err_;
  EXPECT_EQ(run({"store", "lst"}), kUsage);
  EXPECT_TRUE(failed_with(": store: given lst; allowed: list, export")) << err_;
  EXPECT_EQ(run({}), kUsage);
  EXPECT_TRUE(failed_with(": command: given nothing; allowed: devices, candidates")) << err_;
}

TEST_F(Command, AGpuThatIsNotThereIsNothingFound) {
  if (Device::all().size() > 60) GTEST_SKIP() << "this machine has that GPU";
  for (auto arguments : std::vector<std::vector<std::string>>{{"devices"}, {"store", "list"}}) {
    arguments.insert(arguments.end(), {"--device", "cuda:60"});
    EXPECT_EQ(run(arguments), kNothingFound);
    EXPECT_TRUE(failed_with("--device cuda:60: ")) << err_;
  }
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

TEST_F(Command, EqualRowsAreOneProblem) {
  ASSERT_EQ(
      run({"candidates", "--device", "cpu", "--m", "2,1,2", "--n", "64", "--k", "32", "--json"}),
      kDone);
  ASSERT_EQ(json().size(), 2U);
  EXPECT_EQ(json()[0]["m"], 2);
  EXPECT_EQ(json()[1]["m"], 1);
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
  EXPECT_TRUE(failed_with("bad.csv: line 2: k"));
}

TEST_F(Command, AnOptionThatTheSourceDoesNotReadIsRefused) {
  std::ofstream(folder_ / "list.csv") << "n,k\n8,8\n";
  const std::vector<std::string> list = {"tune", "--model", "--list", folder_ / "list.csv"};
  EXPECT_EQ(run(list), kDone) << err_;
  for (const auto& [option, value] :
       {std::pair{"--tp", "2"}, {"--layout", "mm"}, {"--bias", "row"}, {"--batch", "2"}}) {
    auto arguments = list;
    arguments.insert(arguments.end(), {option, value});
    EXPECT_EQ(run(arguments), kUsage) << option;
    EXPECT_TRUE(failed_with(std::string(option) + ": given with --list")) << err_;
  }
  EXPECT_EQ(run({"tune", "--unfused", "--n", "8", "--k", "8"}), kUsage);
  EXPECT_TRUE(failed_with("--unfused: given with --n and --k; allowed: with --config")) << err_;
  const std::vector<std::string> low_bit = {"candidates", "--device", "cpu",      "--n", "64",
                                            "--k",        "64",       "--format", "nf4"};
  EXPECT_EQ(run(low_bit), kDone) << err_;
  auto other_layout = low_bit;
  other_layout.insert(other_layout.end(), {"--layout", "mm"});
  EXPECT_EQ(run(other_layout), kUsage);
  EXPECT_TRUE(failed_with(": --layout: given mm with --format; allowed: linear")) << err_;
  auto rounded = low_bit;
  rounded.insert(rounded.end(), {"--activations", "int8", "--json"});
  EXPECT_EQ(run(rounded), kDone) << err_;
  EXPECT_NE(out_.find(" activations=int8"), std::string::npos) << out_;
  rounded[rounded.size() - 2] = "int4";
  EXPECT_EQ(run(rounded), kUsage);
  EXPECT_TRUE(failed_with(": --activations: given \"int4\"; allowed: as_given, e4m3")) << err_;
  auto no_format = low_bit;
  no_format.back() = "nf9";
  EXPECT_EQ(run(no_format), kUsage);
  EXPECT_TRUE(failed_with(": --format: given nf9; allowed: nf4, ")) << err_;
  EXPECT_EQ(run({"candidates", "--only", "qkv", "--n", "8", "--k", "8"}), kUsage);
  EXPECT_TRUE(failed_with("--only: given with --n and --k; allowed: with --config or")) << err_;
  EXPECT_EQ(run({"candidates", "--only", "qkv", "--list", folder_ / "list.csv"}), kUsage);
  EXPECT_TRUE(failed_with("have no roles")) << err_;
  std::ofstream(folder_ / "rows.csv") << "m,n,k\n1,8,8\n";
  EXPECT_EQ(run({"candidates", "--list", folder_ / "rows.csv", "--m", "3"}), kUsage);
  EXPECT_TRUE(failed_with("rows.csv: m: given by --m and by every row")) << err_;
}

TEST_F(Command, ErrorsNameTheFile) {
  std::ofstream(folder_ / "config.json") << R"({"architectures": ["LlamaForCausalLM"]})";
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--config", folder_ / "config.json"}), kUsage);
  EXPECT_TRUE(failed_with("config.json: hidden_size"));
  std::ofstream(folder_ / "config.json") << R"({"architectures": ["LlamaForCausalLM"],
      "hidden_size": )" + std::string(309, '9') +
                                                "}";
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--config", folder_ / "config.json"}), kUsage);
  EXPECT_TRUE(failed_with("config.json: config: hidden_size: given"));
  const std::string llama = GEMWRIGHT_SOURCE_DIR "/models/llama-3.1-8b/config.json";
  EXPECT_EQ(run({"candidates", "--device", "cpu", "--config", llama, "--tp", "3"}), kUsage);
  EXPECT_TRUE(failed_with("config.json: --tp: given 3; allowed: a divisor of num_att")) << err_;
  std::ofstream(folder_ / "export.json") << R"({"gemwright_store": 1, "records": 5})";
  EXPECT_EQ(run({"store", "import", folder_ / "export.json"}), kUsage);
  EXPECT_TRUE(failed_with("export.json: records"));
}

TEST_F(Command, ThreadsThatAreNotThereAreRefused) {
  for (const char* device : {"cpu:0", "cpu:4096"}) {
    EXPECT_EQ(run({"tune", "--device", device, "--n", "64", "--k", "64"}), kUsage);
    EXPECT_TRUE(failed_with("cpu:1 to cpu:")) << err_;
  }
}

TEST_F(Command, AStoreIsMadeInAFolderThatIsThereOrOneBelow) {
  const std::vector<std::string> tune = {"tune", "--device", "cpu:1",   "--n",    "16",
                                         "--k",  "16",       "--model", "--store"};
  const auto with = [&](const std::filesystem::path& path) {
    auto arguments = tune;
    arguments.push_back(path);
    return run(arguments);
  };
  EXPECT_EQ(with(folder_ / "new" / "store.db"), kDone) << err_;
  EXPECT_EQ(with(folder_ / "no" / "such" / "store.db"), kUsage);
  EXPECT_TRUE(failed_with("no is no folder")) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
  std::ofstream(folder_ / "list.csv") << "m,n,k\n1,8,8\n";
  EXPECT_EQ(with(folder_ / "list.csv"), kUsage);
  EXPECT_TRUE(failed_with("list.csv, which is no store")) << err_;
  EXPECT_EQ(std::filesystem::file_size(folder_ / "list.csv"), 12U);
  auto shipped = tune;
  shipped.back() = "--shipped-store";
  shipped.push_back(folder_ / "none.db");
  EXPECT_EQ(run(shipped), kUsage);
  EXPECT_TRUE(failed_with("none.db"));
}

TEST_F(Command, AStoreNamedByTheEnvironmentIsNoPathOfFolders) {
  setenv("GEMWRIGHT_STORE", (folder_ / "no" / "such" / "store.db").c_str(), 1);
  EXPECT_EQ(run({"store", "path"}), kUsage);
  EXPECT_TRUE(failed_with("GEMWRIGHT_STORE: given")) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
}

TEST_F(Command, AFileThatTheEnvironmentNamesIsNoStoreEither) {
  std::ofstream(folder_ / "notes.txt") << "mine";
  setenv("GEMWRIGHT_STORE", (folder_ / "notes.txt").c_str(), 1);
  EXPECT_EQ(run({"store", "list"}), kUsage);
  EXPECT_TRUE(failed_with("notes.txt, which is no store")) << err_;
  EXPECT_TRUE(failed_with("GEMWRIGHT_STORE: given")) << err_;
  EXPECT_EQ(std::filesystem::file_size(folder_ / "notes.txt"), 4U);
}

TEST_F(Command, NoHomeFolderIsMade) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("GEMWRIGHT_STORE");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", (folder_ / "no" / "home").c_str(), 1);
  EXPECT_EQ(run({"tune", "--model", "--device", "cpu:1", "--n", "8", "--k", "8"}), kUsage);
  EXPECT_TRUE(failed_with("HOME: given " + (folder_ / "no" / "home").string())) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
  home.empty() ? unsetenv("HOME") : setenv("HOME", home.c_str(), 1);
}

TEST_F(Command, AnExportGoesIntoAFolderThatIsThere) {
  EXPECT_EQ(run({"store", "export", folder_ / "no" / "a.json"}), kUsage);
  EXPECT_TRUE(failed_with((folder_ / "no").string() + " is no folder")) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no"));
}

TEST_F(Command, NothingToRemoveIsNothingFound) {
  EXPECT_EQ(run({"store", "remove", "--all"}), kNothingFound);
  EXPECT_TRUE(said("0 removed"));
  for (const char* part : {"list", "remove", "export"}) {
    EXPECT_EQ(run({"store", part, "--device", "foo"}), kUsage) << part;
    EXPECT_TRUE(failed_with("--device: given foo; allowed: cpu")) << err_;
  }
}

TEST_F(Command, RemovingForgetsFailures) {
  const std::string problem = key(canonical(Problem::mm(4, 8, 16, DataType::f32)).problem);
  const auto remember = [&] {
    store::open_file(folder_ / "store.db")
        ->remember_failure({.device = Device::cpu(1).key(),
                            .family = "cpu_packed",
                            .family_version = 1,
                            .configuration_name = "a",
                            .problem = problem,
                            .reason = "fault: SIGSEGV"});
  };
  remember();
  EXPECT_EQ(run({"store", "remove", "--problem", problem}), kDone);
  EXPECT_TRUE(said("0 removed, 1 failure forgotten")) << out_;
  remember();
  EXPECT_EQ(run({"store", "remove", "--device", "cpu:1", "--json"}), kDone);
  EXPECT_EQ(json()["failures"], 1);
  EXPECT_EQ(run({"store", "list", "--failures"}), kDone);
  EXPECT_EQ(out_, "0 failed kernels\n");
}

TEST_F(Command, AStoreThatCannotBeReadIsNotAnEmptyOne) {
  const auto path = folder_ / "a folder.db";
  std::filesystem::create_directory(path);
  const auto file = folder_ / "export.json";
  for (std::vector<std::string> arguments : {std::vector<std::string>{"list"},
                                             {"list", "--failures"},
                                             {"export", file},
                                             {"remove", "--all"}}) {
    arguments.insert(arguments.begin(), "store");
    arguments.insert(arguments.end(), {"--store", path.string()});
    EXPECT_EQ(run(arguments), kFailed) << arguments[1] << out_;
    EXPECT_TRUE(failed_with("store " + path.string() + ": ")) << err_;
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Command, AStoreThatIsMovedAsideIsSaid) {
  EXPECT_EQ(run({"store", "list"}), kDone);
  std::ofstream(folder_ / "store.db") << std::string(5000, 'x');
  EXPECT_EQ(run({"store", "list"}), kDone);
  EXPECT_EQ(err_.rfind("gemwright: warning: store ", 0), 0U) << err_;
  EXPECT_NE(err_.find("moved aside to store.db.bad-"), std::string::npos) << err_;
  EXPECT_EQ(err_.find('\n'), err_.size() - 1) << err_;
  EXPECT_EQ(run({"store", "list"}), kDone);
  EXPECT_EQ(err_, "");
}

TEST_F(Command, AShippedStoreThatIsNoneIsSaid) {
  const auto shipped = folder_ / "shipped.db";
  std::ofstream(shipped) << std::string(5000, 'x');
  EXPECT_EQ(run({"tune", "--model", "--device", "cpu:1", "--n", "8", "--k", "8", "--shipped-store",
                 shipped}),
            kDone);
  EXPECT_EQ(
      err_.rfind("gemwright: warning: shipped store " + shipped.string() + " is not used: ", 0), 0U)
      << err_;
  EXPECT_EQ(err_.find('\n'), err_.size() - 1) << err_;
  EXPECT_EQ(std::filesystem::file_size(shipped), 5000U);
  setenv("GEMWRIGHT_SHIPPED_STORE", (folder_ / "none.db").c_str(), 1);
  EXPECT_EQ(run({"store", "list"}), kDone);
  EXPECT_NE(err_.find("none.db is not used: there is no such file"), std::string::npos) << err_;
  unsetenv("GEMWRIGHT_SHIPPED_STORE");
}

TEST_F(Command, AnUnknownLogLevelIsRefused) {
  setenv("GEMWRIGHT_LOG", "loud", 1);
  EXPECT_EQ(run({"store", "path"}), kUsage);
  EXPECT_TRUE(failed_with("GEMWRIGHT_LOG: given loud; allowed: off, error")) << err_;
  setenv("GEMWRIGHT_LOG", "off", 1);
  EXPECT_EQ(run({"store", "path"}), kDone);
  unsetenv("GEMWRIGHT_LOG");
}

TEST_F(Command, RangesAreSaidInFewWords) {
  EXPECT_EQ(run({"tune", "--n", "8", "--k", "8", "--time-limit", "0"}), kUsage);
  EXPECT_TRUE(failed_with("--time-limit: given 0; allowed: a number above 0 (")) << err_;
  EXPECT_EQ(run({"tune", "--n", "8", "--k", "8", "--max-candidates", "-1"}), kUsage);
  EXPECT_TRUE(failed_with("--max-candidates: given -1; allowed: a whole number from 0 to "))
      << err_;
  EXPECT_EQ(run({"bench", "--n", "8", "--k", "8", "--time-limit", "1e999"}), kUsage);
  EXPECT_LT(err_.size(), 120U) << err_;
}

TEST_F(Command, OptionsAreRefusedInTheFormOfOtherErrors) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> slips = {
      {{"tune", "--m", "-1", "--n", "8", "--k", "8"},
       "--m: given -1; allowed: a whole number from"},
      {{"tune", "--m", "1,x", "--n", "8", "--k", "8"},
       "--m: given x; allowed: a whole number from"},
      {{"tune", "--n", "x", "--k", "8"}, "--n: given x; allowed: a whole number from 0 to "},
      {{"tune", "--n", "8", "--k"}, "--k: given nothing; allowed: inner size"},
      {{"tune", "--n", "8", "--k", "8", "--layout", "nn"},
       "--layout: given nn; allowed: linear, mm"},
      {{"tune", "--tp", "0", "--config", "x"}, "--tp: given 0; allowed: a whole number from 1 to"},
      {{"tune", "--n", "8", "--k", "8", "--time-limit", "soon"}, "given soon; allowed: a number"},
      {{"import", "a", "-o", "b", "--bits", "5"}, "--bits: given 5; allowed: 2, 3, 4, 8"},
      {{"quantize", "a", "-o", "b", "--format", "nf4", "--group", "1.5"}, "--group: given 1.5; "},
      {{"quantize", "-o", "b", "--format", "nf4"}, "in: given nothing; allowed: a .safetensors"},
      {{"store", "import"}, "file: given nothing; allowed: a file that export wrote"},
      {{"store", "remove", "--problem", "m=1 n=1 k=1"}, "--problem: key: given "},
  };
  for (const auto& [arguments, text] : slips) {
    EXPECT_EQ(run(arguments), kUsage) << text;
    EXPECT_TRUE(failed_with(": " + std::string(text))) << err_;
  }
}

TEST_F(Command, EveryPartOfACommandHasExamplesOfItsOwn) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const char* part : {"list", "export", "import", "remove", "path"}) {
    all.emplace_back("store", part);
  }
#ifdef GEMWRIGHT_CUDA
  for (const char* part : {"list", "verify", "clear"}) all.emplace_back("cache", part);
#endif
  for (const auto& [command, part] : all) {
    EXPECT_EQ(run({command, part, "--help"}), kDone);
    const std::size_t examples = out_.find("Examples:\n");
    ASSERT_NE(examples, std::string::npos) << command << ' ' << part;
    std::istringstream lines(out_.substr(examples + 10));
    for (std::string line; std::getline(lines, line) && !line.empty();) {
      EXPECT_NE(line.find("gemwright " + command + " " + part), std::string::npos) << line;
    }
  }
}

TEST_F(Command, OnlyWhatReadsAShippedStoreTakesOne) {
  for (const auto& [part, takes] : {std::pair{"list", true},
                                    {"export", true},
                                    {"import", false},
                                    {"remove", false},
                                    {"path", false}}) {
    EXPECT_EQ(run({"store", part, "--help"}), kDone);
    EXPECT_EQ(said("--shipped-store"), takes) << part;
  }
}

TEST_F(Command, TheStoresPathIsJsonWhereAsked) {
  EXPECT_EQ(run({"store", "path", "--json"}), kDone);
  EXPECT_EQ(json()["path"], (folder_ / "store.db").string());
}

TEST_F(Command, ALoopOfLinksIsNamed) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(run({"tune", "--safetensors", folder_ / "loop"}), kFailed);
  EXPECT_TRUE(failed_with((folder_ / "loop").string() + ": Too many levels")) << err_;
}

TEST_F(Command, WaitingForAListItCanBeInterrupted) {
  const std::string list = folder_ / "list";
  ASSERT_EQ(mkfifo(list.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    execl(GEMWRIGHT_PROGRAM, "gemwright", "tune", "--device", "cpu:1", "--list", list.c_str(),
          nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Command, SaysWhatOfACheckpointItLeavesOut) {
  const std::string file = folder_ / "x.safetensors";
  write_checkpoint(
      file, {{"a.weight", "BF16", {8, 8}}, {"b.norm", "BF16", {8}}, {"c.weight", "I8", {8, 8}}});
  EXPECT_EQ(run({"tune", "--device", "cpu:1", "--safetensors", file, "--model", "--json"}), kDone);
  EXPECT_EQ(json()["left_out"]["count"], 2);
  EXPECT_EQ(json()["left_out"]["kinds"][1]["reason"], "of type I8");
  EXPECT_EQ(run({"tune", "--device", "cpu:1", "--safetensors", file, "--model"}), kDone);
  EXPECT_NE(err_.find("left out: 1 x b.norm: 1-D"), std::string::npos) << err_;
}

TEST_F(Command, RolesOfACheckpointAreNamedByTheirLastPartsOrAPattern) {
  const std::string file = folder_ / "x.safetensors";
  write_checkpoint(file, {{"layers.0.mlp.up.weight", "BF16", {8, 8}},
                          {"layers.1.mlp.up.weight", "BF16", {8, 8}},
                          {"layers.0.mlp.down.weight", "BF16", {8, 16}},
                          {"head.weight", "BF16", {8, 24}}});
  for (const auto& [only, role] : {std::pair{"layers.*.mlp.up", "layers.*.mlp.up"},
                                   {"mlp.up", "layers.*.mlp.up"},
                                   {"*down", "layers.*.mlp.down"},
                                   {"h??d", "head"}}) {
    ASSERT_EQ(
        run({"candidates", "--device", "cpu:1", "--safetensors", file, "--only", only, "--json"}),
        kDone)
        << only << err_;
    ASSERT_EQ(json().size(), 1U) << only;
    EXPECT_EQ(json()[0]["role"], role);
  }
}

TEST_F(Command, ACheckpointThatIsCutIsRefused) {
  const std::string file = folder_ / "x.safetensors";
  write_checkpoint(file, {{"a.weight", "BF16", {8, 8}}});
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(run({"tune", "--model", "--device", "cpu:1", "--safetensors", file}), kUsage);
  EXPECT_TRUE(failed_with("x.safetensors: a.weight: given data up to byte 128; allowed: ")) << err_;
}

TEST_F(Command, AnEmptyResultHasNoTime) {
  EXPECT_EQ(run({"tune", "--device", "cpu:1", "--m", "0", "--n", "16", "--k", "16"}), kDone);
  EXPECT_TRUE(said("an empty result needs no kernel"));
  EXPECT_FALSE(said("~"));
  EXPECT_EQ(run({"explain", "--device", "cpu:1", "--m", "0", "--n", "16", "--k", "16"}), kDone);
  EXPECT_TRUE(said("chosen   none"));
}

TEST_F(Command, NothingIsMeasuredOfAnEmptyResult) {
  const std::vector<std::vector<std::string>> empty = {{"--m", "0", "--n", "16", "--k", "16"},
                                                       {"--m", "1", "--n", "0", "--k", "16"},
                                                       {"--batch", "0", "--n", "16", "--k", "16"}};
  for (const char* command : {"bench", "candidates"}) {
    for (auto arguments : empty) {
      arguments.insert(arguments.begin(), {command, "--device", "cpu:1"});
      EXPECT_EQ(run(arguments), kDone) << err_;
      EXPECT_TRUE(said("an empty result needs no kernel")) << out_;
      arguments.emplace_back("--json");
      EXPECT_EQ(run(arguments), kDone) << err_;
      EXPECT_EQ(json()[0]["note"], "an empty result needs no kernel");
    }
  }
}

}  // namespace
}  // namespace gemwright::cli
