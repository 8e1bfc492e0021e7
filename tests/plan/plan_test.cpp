// Plans on the CPU: what run() refuses, how operands are mapped, modes and their sources.
#include "families/family.hpp"
#include "store/database.hpp"
#include "support/cases.hpp"
#include "support/folder_fixture.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

PlanOptions untuned() {
  PlanOptions options;
  options.mode = Mode::model;
  return options;
}

Planner planner() {
  return Planner(Device::cpu(), Store::none());
}

std::string refused_argument(const Plan& plan, const Operands& operands,
                             const Workspace& workspace = {}) {
  try {
    plan.run(operands, {}, workspace);
  } catch (const InvalidArgument& error) {
    return error.argument();
  }
  return "";
}

TEST(Plan, RunsEveryLayoutAsTheCallerSeesIt) {
  for (const test::Case& description : test::stride_cases(DataType::f32)) {
    const auto memory = test::host_memory();
    test::Fixture fixture(description, *memory);
    const Plan plan = planner().plan(description.problem, untuned());
    plan.run(fixture.operands());
    EXPECT_EQ(fixture.compare(), "");
  }
}

TEST(Plan, TakesTheCallersWorkspace) {
  const test::Case description{.name = "workspace",
                               .problem = Problem::linear(64, 256, 512, DataType::bf16)};
  const auto memory = test::host_memory();
  test::Fixture fixture(description, *memory);
  const Plan plan = planner().plan(description.problem, untuned());
  const Workspace workspace = test::make_workspace(*memory, plan.workspace_bytes() + 256);
  plan.run(fixture.operands(), {}, workspace);
  EXPECT_EQ(fixture.compare(), "");
  if (plan.workspace_bytes() == 0) return;
  Workspace small = workspace;
  small.bytes = plan.workspace_bytes() - 1;
  EXPECT_EQ(refused_argument(plan, fixture.operands(), small), "workspace.bytes");
}

// More than is made ready at planning: A's packed copy alone is 128 MiB.
TEST(Plan, TakesALargeWorkspaceFromItsOwnPool) {
  constexpr std::int64_t kK = std::int64_t{1} << 25;
  const Plan plan = planner().plan(Problem::mm(1, 1, kK, DataType::f32), untuned());
  const std::vector<float> a(kK, 0.5F);
  const std::vector<float> b(kK, 1.0F);
  for (int run = 0; run < 2; ++run) {
    std::vector<float> d = {-1};
    plan.run({.a = a.data(), .b = b.data(), .d = d.data()});
    EXPECT_NEAR(d[0], 0.5F * static_cast<float>(kK), 1e-4F * static_cast<float>(kK));
  }
}

TEST(Planner, AWorkspaceThatNoMachineHasIsPassedOver) {
  const Plan plan =
      planner().plan(Problem::mm(1, 1, std::int64_t{1} << 40, DataType::f32), untuned());
  EXPECT_LT(plan.workspace_bytes(), std::size_t{1} << 40);
}

TEST(Operands, KeepTheirPromiseWhenTransposed) {
  const int a = 0;
  const int b = 0;
  const Operands given{.a = &a, .b = &b, .early = Early::b};
  EXPECT_EQ(given.transposed().a, &b);
  EXPECT_EQ(given.transposed().b, &a);
  EXPECT_EQ(given.transposed().early, Early::a);
  EXPECT_EQ(given.transposed().transposed().early, Early::b);
  EXPECT_EQ(Operands{}.transposed().early, Early::none);
}

TEST(Plan, NamesTheOperandThatIsWrong) {
  std::vector<float> a(64);
  std::vector<float> b(64);
  std::vector<float> d(128);
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.bias = Bias::per_column;
  const Plan plan = planner().plan(problem, untuned());
  const Operands good{.a = a.data(), .b = b.data(), .d = d.data(), .bias = a.data()};
  EXPECT_EQ(refused_argument(plan, good), "");
  Operands bad = good;
  bad.a = nullptr;
  EXPECT_EQ(refused_argument(plan, bad), "operands.a");
  bad = good;
  bad.bias = nullptr;
  EXPECT_EQ(refused_argument(plan, bad), "operands.bias");
  bad = good;
  bad.d = d.data() + 1;
  EXPECT_EQ(refused_argument(plan, bad), "operands.d");
  bad = good;
  bad.d = a.data();
  EXPECT_EQ(refused_argument(plan, bad), "operands.d");
  bad = good;
  bad.bias = d.data() + 60;
  EXPECT_EQ(refused_argument(plan, bad), "operands.d");
}

TEST(Plan, RefusesWhatTheProblemHasNot) {
  const std::vector<float> a(64);
  std::vector<float> d(64);
  const Plan plan = planner().plan(Problem::mm(8, 8, 8, DataType::f32), untuned());
  const Operands good{.a = a.data(), .b = a.data(), .d = d.data()};
  EXPECT_EQ(refused_argument(plan, good), "");
  Operands more = good;
  more.c = a.data();
  EXPECT_EQ(refused_argument(plan, more), "operands.c");
  more = good;
  more.bias = a.data();
  EXPECT_EQ(refused_argument(plan, more), "operands.bias");
}

TEST(Plan, ColumnSlicesOfOneBufferMayMeetButNotOverlap) {
  std::vector<float> buffer(8 * 32);
  std::vector<float> b(64);
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.a.row_stride = problem.d.row_stride = 32;
  const Plan plan = planner().plan(problem, untuned());
  EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = buffer.data() + 8}),
            "");
  EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = buffer.data() + 4}),
            "operands.d");
}

TEST(Plan, AStrideThatIsNeverUsedMakesNoOverlap) {
  std::vector<float> buffer(8 * 32);
  std::vector<float> b(8);
  Problem problem = Problem::mm(8, 1, 8, DataType::f32);
  problem.a.row_stride = problem.d.row_stride = 32;
  for (const std::int64_t stride : {1, 0, -9, 1000}) {
    problem.d.col_stride = stride;
    const Plan plan = planner().plan(problem, untuned());
    EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = buffer.data() + 8}),
              "")
        << stride;
    EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = buffer.data() + 7}),
              "operands.d")
        << stride;
  }
}

TEST(Plan, SlicesOfColumnMajorBuffersMayMeetButNotOverlap) {
  std::vector<float> buffer(8 * 32);
  std::vector<float> b(64);
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  for (Operand* operand : {&problem.a, &problem.d}) {
    operand->row_stride = 1;
    operand->col_stride = 32;
  }
  const Plan plan = planner().plan(problem, untuned());
  for (const auto& [offset, argument] : {std::pair{8, ""}, {24, ""}, {7, "operands.d"}}) {
    float* const d = buffer.data() + offset;
    EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = d}), argument)
        << offset;
  }
}

TEST(Plan, SlicesOfBatchesMayMeetButNotOverlap) {
  // Lines of 32: entries of a batch one below the other, side by side, and of one line each.
  struct Form {
    std::int64_t m, row_stride, batch_stride, beside;
  };
  std::vector<float> buffer(std::size_t{3} * 8 * 64);
  std::vector<float> b(64);
  for (const auto& [m, row_stride, batch_stride, beside] :
       {Form{8, 32, 8 * 32, 8}, Form{8, 64, 8, 24}, Form{1, 8, 32, 8}}) {
    Problem problem = Problem::bmm(3, m, 8, 8, DataType::f32);
    for (Operand* operand : {&problem.a, &problem.d}) {
      operand->row_stride = row_stride;
      operand->batch_stride = batch_stride;
    }
    problem.b.batch_stride = 0;
    const Plan plan = planner().plan(problem, untuned());
    for (const auto& [offset, argument] :
         {std::pair{beside, ""}, {beside - 1, "operands.d"}, {beside / 2, "operands.d"}}) {
      float* const d = buffer.data() + offset;
      EXPECT_EQ(refused_argument(plan, {.a = buffer.data(), .b = b.data(), .d = d}), argument)
          << m << ' ' << offset;
    }
  }
}

TEST(Plan, PackedWeightsAreNotWrittenOver) {
  Problem problem = Problem::linear(4, 33, 17, DataType::f32);
  problem.b.packed = true;
  const Plan plan = planner().plan(problem, untuned());
  const std::size_t bytes = packed_weights_bytes(problem);
  alignas(64) static std::array<std::byte, 1 << 14> memory{};
  alignas(64) static std::array<float, 256> a{};
  ASSERT_LE(bytes + 4 * 33 * sizeof(float), memory.size());
  EXPECT_THROW(plan.run({.a = a.data(), .b = memory.data(), .d = memory.data() + bytes - 64}),
               InvalidArgument);
  plan.run({.a = a.data(), .b = memory.data(), .d = memory.data() + bytes});
}

TEST(Plan, OutputMayBeCOnlyPlaceForPlace) {
  std::vector<float> a(64);
  std::vector<float> b(64);
  std::vector<float> d(128);
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.c = problem.d;
  problem.beta = 1;
  const auto refused = [&](const Problem& given, const float* c) {
    const Plan plan = planner().plan(given, untuned());
    return refused_argument(plan, {.a = a.data(), .b = b.data(), .c = c, .d = d.data()});
  };
  EXPECT_EQ(refused(problem, d.data()), "");
  EXPECT_EQ(refused(problem, d.data() + 64), "");
  EXPECT_EQ(refused(problem, d.data() + 8), "operands.d");
  problem.c->row_stride = 0;
  EXPECT_EQ(refused(problem, d.data()), "operands.d");
  problem.c->row_stride = 1;
  problem.c->col_stride = 8;
  EXPECT_EQ(refused(problem, d.data()), "operands.d");
  problem.c = problem.d;
  problem.c->type = DataType::bf16;
  EXPECT_EQ(refused(problem, d.data()), "operands.d");
}

TEST(Plan, EmptyOutputsNeedNoKernel) {
  const Plan plan = planner().plan(Problem::mm(0, 8, 8, DataType::f32), untuned());
  plan.run({});
  EXPECT_EQ(plan.workspace_bytes(), 0U);
  EXPECT_TRUE(planner().candidates(Problem::mm(4, 0, 8, DataType::f32)).candidates.empty());
}

TEST(Plan, ManyThreadsRunOnePlan) {
  const test::Case description{.name = "threads",
                               .problem = Problem::linear(33, 96, 200, DataType::bf16)};
  const Plan plan = planner().plan(description.problem, untuned());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto memory = test::host_memory();
      test::Fixture fixture(description, *memory);
      for (int run = 0; run < 20; ++run) {
        fixture.reset();
        plan.run(fixture.operands());
        wrong += fixture.compare().empty() ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Planner, ForcesAFamilyAndAConfiguration) {
  const Problem problem = Problem::linear(4, 16, 16, DataType::f32);
  PlanOptions options = untuned();
  options.force = "cpu_reference";
  const Plan plan = planner().plan(problem, options);
  EXPECT_EQ(plan.kernel(), "cpu_reference/fp64");
  EXPECT_EQ(plan.explanation().source, Source::forced);
  EXPECT_EQ(plan.explanation().reason, "asked for by name");
  options.force = "cpu_reference/fp64";
  EXPECT_EQ(planner().plan(problem, options).kernel(), "cpu_reference/fp64");
  options.mode = Mode::store_only;
  EXPECT_THROW(planner().plan(problem, options), InvalidArgument);
  options.mode = Mode::model;
  options.force = "cpu_reference/fp65";
  EXPECT_THROW(planner().plan(problem, options), Unsupported);
  options.force = "cpu_reverence";
  EXPECT_THROW(planner().plan(problem, options), InvalidArgument);
}

TEST(Planner, StoreOnlyDoesNotGuess) {
  PlanOptions options;
  options.mode = Mode::store_only;
  EXPECT_THROW(planner().plan(Problem::linear(4, 16, 16, DataType::f32), options), Unsupported);
}

TEST(Planner, AnAnswerThatATimeLimitCutShortStaysUntilThereIsMoreTime) {
  const Store store = Store::none();
  const Planner tuning(Device::cpu(1), store);
  const Problem problem = Problem::linear(4, 32, 32, DataType::f32);
  PlanOptions options;
  options.max_candidates = 1;
  const Plan first = tuning.plan(problem, options);
  const std::string device = Device::cpu(1).key();
  auto record = store.database().find(key(canonical(problem).problem), device);
  if (!record) GTEST_SKIP() << "the measurement was disturbed: " << first.explanation().note;
  record->note = "2 of 3 candidates not measured: time limit 5 s";
  record->time_limit_s = 5;
  store.database().keep(*record, true);
  options.time_limit_s = 5;
  const Plan cut = tuning.plan(problem, options);
  EXPECT_EQ(cut.explanation().source, Source::store);
  EXPECT_EQ(cut.explanation().note, record->note);
  options.time_limit_s = 20;
  EXPECT_EQ(tuning.plan(problem, options).explanation().source, Source::tuned);
  const Explanation stored = tuning.plan(problem, options).explanation();
  EXPECT_EQ(stored.source, Source::store);
  EXPECT_NE(stored.rule, "") << "the store keeps how times decided";
  EXPECT_NE(stored.reason.find("when it was tuned"), std::string::npos) << stored.reason;
}

using Unwritable = test::FolderFixture;

TEST_F(Unwritable, AStoreIsSaidInTheNote) {
  std::filesystem::create_directory(folder_ / "store.db");
  const Store store = Store::open(folder_ / "store.db");
  const Problem problem = Problem::linear(4, 32, 32, DataType::f32);
  const Plan plan = Planner(Device::cpu(1), store).plan(problem, {.max_candidates = 1});
  const std::string& note = plan.explanation().note;
  if (!store.database().find(key(canonical(problem).problem), Device::cpu(1).key())) {
    GTEST_SKIP() << "the measurement was disturbed: " << note;
  }
  EXPECT_NE(note.find("not kept: store " + folder_.string()), std::string::npos) << note;
}

// Has the candidate's kernel hang.
void bar(const Store& store, const std::string& device, const Problem& problem,
         const CandidateReport& candidate) {
  store.database().remember_failure({.device = device,
                                     .family = candidate.family,
                                     .family_version = families::find(candidate.family)->version(),
                                     .configuration_name = candidate.configuration,
                                     .problem = key(canonical(problem).problem),
                                     .reason = "hang: did not end within 2.0 s"});
}

TEST(Planner, TheModelPassesOverWhatFailedBefore) {
  const Store store = Store::none();
  const Planner modelling(Device::cpu(), store);
  const Problem problem = Problem::linear(4, 32, 32, DataType::f32);
  const Plan first = modelling.plan(problem, untuned());
  bar(store, Device::cpu().key(), problem, first.explanation().chosen);
  const Plan next = modelling.plan(problem, untuned());
  EXPECT_NE(next.kernel(), first.kernel());
  EXPECT_EQ(next.explanation().candidates[0].failure,
            "failed before: hang: did not end within 2.0 s");
  PlanOptions forced = untuned();
  forced.force = first.kernel();
  EXPECT_THROW(modelling.plan(problem, forced), AllFailed);
  forced.retune = true;
  EXPECT_THROW(modelling.plan(problem, forced), AllFailed) << "it tries nothing again";
}

TEST(Planner, WhatFailedSinceIsNoAnswer) {
  const Store store = Store::none();
  const Planner tuning(Device::cpu(1), store);
  const Problem problem = Problem::linear(4, 32, 32, DataType::f32);
  PlanOptions options;
  options.max_candidates = 1;
  const Plan first = tuning.plan(problem, options);
  const std::string device = Device::cpu(1).key();
  if (!store.database().find(key(canonical(problem).problem), device)) {
    GTEST_SKIP() << "the measurement was disturbed: " << first.explanation().note;
  }
  // A hang on another problem counts here too, but for a vendor's choice.
  const CandidateReport& chosen = first.explanation().chosen;
  const Problem other = Problem::linear(5, 32, 32, DataType::f32);
  bar(store, device, chosen.vendor ? problem : other, chosen);
  EXPECT_THROW(tuning.plan(problem, {.mode = Mode::store_only}), Unsupported);
  EXPECT_NE(tuning.plan(problem, options).kernel(), first.kernel());
}

TEST(Planner, TuningPassesOverWhatFailedBeforeUntilNothingIsLeft) {
  const Store store = Store::none();
  const Planner tuning(Device::cpu(1), store);
  const std::string device = Device::cpu(1).key();
  const Problem problem = Problem::linear(4, 32, 32, DataType::f32);
  const auto all = tuning.candidates(problem).candidates;
  const auto is_last = [](const CandidateReport& one) { return one.family == "cpu_reference"; };
  for (const CandidateReport& candidate : all) {
    if (!is_last(candidate)) bar(store, device, problem, candidate);
  }
  PlanOptions options;
  options.max_candidates = 1;
  const Plan plan = tuning.plan(problem, options);
  EXPECT_EQ(plan.kernel(), "cpu_reference/fp64");
  EXPECT_EQ(plan.explanation().candidates.size(), all.size()) << "with why they are not tried";

  store.database().remove(key(canonical(problem).problem), device);
  for (const CandidateReport& candidate : all) bar(store, device, problem, candidate);
  try {
    tuning.plan(problem, options);
    FAIL();
  } catch (const AllFailed& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_reference/fp64: failed before: hang"),
              std::string::npos);
  }
}

TEST(Planner, BadProblemsAreRefusedBeforeAnythingElse) {
  Problem problem = Problem::linear(4, 16, 16, DataType::f32);
  problem.beta = 1;
  EXPECT_THROW(planner().plan(problem), InvalidArgument);
}

std::string refused_option(const PlanOptions& options) {
  try {
    planner().plan(Problem::linear(4, 16, 16, DataType::f32), options);
  } catch (const InvalidArgument& error) {
    return error.argument();
  }
  return "";
}

TEST(Planner, BadOptionsAreNamed) {
  PlanOptions options = untuned();
  options.max_candidates = -1;
  EXPECT_EQ(refused_option(options), "options.max_candidates");
  for (const double limit : {-1.0, 0.0, std::nan("")}) {
    options = untuned();
    options.time_limit_s = limit;
    EXPECT_EQ(refused_option(options), "options.time_limit_s") << limit;
  }
  options = untuned();
  options.mode = static_cast<Mode>(9);
  EXPECT_EQ(refused_option(options), "options.mode");
}

TEST(Packing, ABadProblemHasNoPackedSize) {
  Problem problem = Problem::linear(4, 16, 16, DataType::f32);
  problem.n = -16;
  try {
    packed_weights_bytes(problem);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.argument(), "n");
  }
}

TEST(Planner, CandidatesAreRankedAndRefusalsSayWhy) {
  const CandidateList list = planner().candidates(Problem::linear(16, 256, 256, DataType::bf16));
  ASSERT_FALSE(list.candidates.empty());
  EXPECT_GT(list.floor_us, 0);
  for (const Refusal& refusal : list.refusals) EXPECT_GT(refusal.reason.size(), 10U);
}

}  // namespace
}  // namespace gemwright
