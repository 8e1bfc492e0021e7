#include "tune/tuner.hpp"

#include "tune/fakes.hpp"

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

class TunerTest : public testing::Test {
 protected:
  Request request(std::vector<Candidate> candidates) {
    Request request;
    request.problem = &problem_;
    request.device = &device_;
    request.candidates = std::move(candidates);
    request.candidate_limit_s = 1;
    request.database = database_.get();
    request.measure = measure_fakes();
    request.policy = Policy{
        .first_rounds = 1, .second_rounds = 1, .least_final_rounds = 1, .most_final_rounds = 1};
    return request;
  }
  std::vector<store::Failure> failures() { return database_->failures(device_.key()); }

  Problem problem_ = Problem::mm(17, 40, 23, DataType::f32);
  Device device_ = small_device();
  std::unique_ptr<store::Database> database_ = store::open_memory();
};

TEST_F(TunerTest, ChoosesAmongThoseThatAreRight) {
  const Result result =
      tune(request({fake(Act::crash), fake(Act::hang), fake(Act::wrong), fake(Act::no_build),
                    fake(Act::bad_build), fake(Act::no_memory), fake(Act::right),
                    fake(Act::right, 1, fake_vendor())}));
  ASSERT_EQ(result.outcomes.size(), 8U);
  EXPECT_TRUE(result.outcomes[0].failure.starts_with("fault: ")) << result.outcomes[0].failure;
  EXPECT_TRUE(result.outcomes[1].failure.starts_with("hang: ")) << result.outcomes[1].failure;
  EXPECT_TRUE(result.outcomes[2].failure.starts_with("wrong: ")) << result.outcomes[2].failure;
  EXPECT_TRUE(result.outcomes[3].failure.starts_with("build: ")) << result.outcomes[3].failure;
  EXPECT_TRUE(result.outcomes[4].failure.starts_with("build: ")) << result.outcomes[4].failure;
  ASSERT_GE(result.chosen, 6);
  for (std::size_t i : {6U, 7U}) {
    EXPECT_EQ(result.outcomes[i].failure, "");
    EXPECT_GT(result.outcomes[i].best_us, 0);
    EXPECT_GE(result.outcomes[i].median_us, result.outcomes[i].best_us);
    EXPECT_NE(result.outcomes[i].kernel, nullptr);
  }
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.outcomes[i].kernel, nullptr) << i;
}

TEST_F(TunerTest, RemembersWhatFailedAndDoesNotTryItAgain) {
  tune(request({fake(Act::right), fake(Act::crash), fake(Act::no_build), fake(Act::no_memory)}));
  ASSERT_EQ(failures().size(), 2U);  // lack of memory says nothing of a candidate
  for (const store::Failure& failure : failures()) {
    EXPECT_EQ(failure.family, "fake");
    EXPECT_EQ(failure.family_version, 3);
    EXPECT_EQ(failure.problem, key(problem_));
  }
  problem_ = Problem::mm(5, 6, 7, DataType::f32);
  const Result again = tune(request({fake(Act::right), fake(Act::crash), fake(Act::no_build)}));
  EXPECT_TRUE(again.outcomes[1].failure.starts_with("failed before: fault")) << "on any problem";
  EXPECT_TRUE(again.outcomes[2].failure.starts_with("build: ")) << "on that problem only";
}

TEST_F(TunerTest, AWrongResultWhereResultsOverflowIsOfThatProblemOnly) {
  problem_.alpha = std::numeric_limits<float>::infinity();
  const auto candidates = [] { return std::vector{fake(Act::right), fake(Act::right, 1)}; };
  // The fakes know no alpha.
  const Result first = tune(request(candidates()));
  EXPECT_TRUE(first.outcomes[1].failure.starts_with("overflow: ")) << first.outcomes[1].failure;
  const Result same = tune(request(candidates()));
  EXPECT_TRUE(same.outcomes[1].failure.starts_with("failed before: ")) << same.outcomes[1].failure;
  problem_.alpha = 1;
  const Result other = tune(request(candidates()));
  EXPECT_EQ(other.outcomes[0].failure, "");
  EXPECT_EQ(other.outcomes[1].failure, "");
}

TEST_F(TunerTest, TriesAgainWhatFailedForThisProblemWhenTold) {
  const auto candidates = [] { return std::vector{fake(Act::right), fake(Act::wrong)}; };
  tune(request(candidates()));
  EXPECT_TRUE(tune(request(candidates())).outcomes[1].failure.starts_with("failed before: "));
  Request retry = request(candidates());
  retry.retry_failed = true;
  EXPECT_TRUE(tune(retry).outcomes[1].failure.starts_with("wrong: "));
  EXPECT_EQ(failures().size(), 1U);
  problem_ = Problem::mm(5, 6, 7, DataType::f32);
  EXPECT_TRUE(tune(retry).outcomes[1].failure.starts_with("failed before: ")) << "for another";
}

TEST_F(TunerTest, WhatDoesNotFitIntoMemoryIsNotChosenUnmeasured) {
  Request cut = request({fake(Act::no_memory), fake(Act::right), fake(Act::no_memory, 1)});
  cut.measure = [](auto&&...) { return std::optional<Surroundings>(); };
  const Result result = tune(cut);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_TRUE(result.outcomes[0].failure.starts_with("memory: ")) << result.outcomes[0].failure;
  EXPECT_TRUE(result.short_of_memory);
  cut.candidates = {fake(Act::no_memory)};
  EXPECT_EQ(tune(cut).chosen, -1);
}

TEST_F(TunerTest, AVendorsFailureIsOfThatProblemOnly) {
  tune(request({fake(Act::right), fake(Act::wrong, 0, fake_vendor())}));
  ASSERT_EQ(failures().size(), 1U);
  const Result same = tune(request({fake(Act::right), fake(Act::wrong, 0, fake_vendor())}));
  EXPECT_TRUE(same.outcomes[1].failure.starts_with("failed before: ")) << same.outcomes[1].failure;
  problem_ = Problem::mm(5, 6, 7, DataType::f32);
  const Result other = tune(request({fake(Act::right), fake(Act::wrong, 0, fake_vendor())}));
  EXPECT_TRUE(other.outcomes[1].failure.starts_with("wrong: ")) << other.outcomes[1].failure;
}

TEST_F(TunerTest, WhatFailedBeforeTakesNobodysPlace) {
  const auto candidates = [] {
    return std::vector{fake(Act::wrong),    fake(Act::right),
                       fake(Act::wrong, 1), fake(Act::right, 1),
                       fake(Act::right, 2), fake(Act::right, 3, fake_vendor())};
  };
  tune(request({fake(Act::right), fake(Act::wrong), fake(Act::wrong, 1)}));
  Request limited = request(candidates());
  limited.own = 2;
  limited.incumbent = 3;
  const Result result = tune(limited);
  ASSERT_EQ(result.outcomes.size(), 5U) << "the third that is right is one too many";
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_TRUE(result.outcomes[i].failure.starts_with("failed before: wrong")) << i;
  }
  for (const std::size_t i : {1U, 3U, 4U}) EXPECT_GT(result.outcomes[i].best_us, 0) << i;
  EXPECT_EQ(result.chosen, 3) << "the choice of before stays among equals";
}

TEST_F(TunerTest, WhenThoseAskedForFailTheNextAreTried) {
  Request limited = request({fake(Act::wrong), fake(Act::no_build), fake(Act::wrong, 1),
                             fake(Act::right), fake(Act::right, 1)});
  limited.own = 2;
  const Result result = tune(limited);
  ASSERT_EQ(result.outcomes.size(), 4U);
  EXPECT_EQ(result.chosen, 3);
  EXPECT_GT(result.outcomes[3].best_us, 0);
  EXPECT_EQ(failures().size(), 3U);
}

TEST_F(TunerTest, WhenAllFailNothingIsChosen) {
  const Result result = tune(request({fake(Act::crash), fake(Act::wrong), fake(Act::no_build)}));
  EXPECT_EQ(result.chosen, -1);
  EXPECT_EQ(tune(request({})).chosen, -1);
}

TEST_F(TunerTest, WithoutMemoryForOperandsTheFirstThatIsBuiltIsChosenUnmeasured) {
  problem_ = Problem::mm(1, 1, std::int64_t{1} << 40, DataType::f32);
  const Result result = tune(request({fake(Act::right), fake(Act::right, 1)}));
  EXPECT_EQ(result.chosen, 0);
  EXPECT_FALSE(result.lasting);
  EXPECT_NE(result.note.find("do not fit"), std::string::npos) << result.note;
  EXPECT_EQ(result.outcomes[0].best_us, 0);
  EXPECT_NE(result.outcomes[0].kernel, nullptr);
}

TEST_F(TunerTest, CancelledAtOnceItStillAnswers) {
  Request cancelled = request({fake(Act::right), fake(Act::right, 1)});
  cancelled.cancelled = [] { return true; };
  const Result result = tune(cancelled);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.outcomes[0].best_us, 0);
  EXPECT_NE(result.outcomes[0].kernel, nullptr);
}

TEST_F(TunerTest, CancelledWhileValidatingItKeepsWhatIsRight) {
  Request cancelled = request({fake(Act::wrong), fake(Act::right), fake(Act::right, 1)});
  std::atomic<bool> seen_two{false};
  cancelled.progress = [&](int, int, const std::string& text) {
    if (text == "checked fake/act0_0") seen_two = true;
  };
  cancelled.cancelled = [&] { return seen_two.load(); };
  const Result result = tune(cancelled);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_EQ(result.outcomes[1].best_us, 0);
  EXPECT_NE(result.note.find("interrupted"), std::string::npos) << result.note;
  EXPECT_FALSE(result.lasting);
}

TEST_F(TunerTest, CancelledWhileOneHangsItEndsAtOnce) {
  Request cancelled = request({fake(Act::right), fake(Act::hang)});
  cancelled.candidate_limit_s = 1000;
  cancelled.time_limit_s = 1000;
  std::atomic<bool> stop{false};
  cancelled.cancelled = [&] { return stop.load(); };
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop = true;
  });
  const Result result = tune(cancelled);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_TRUE(failures().empty()) << "it was not its own limit that it passed";
}

TEST_F(TunerTest, TimeLimitEndsItAndIsSaid) {
  Request limited = request({fake(Act::right), fake(Act::hang), fake(Act::right, 1)});
  limited.candidate_limit_s = 1000;
  limited.time_limit_s = 2;  // gone with the hanging one
  const auto start = std::chrono::steady_clock::now();
  const Result result = tune(limited);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(result.chosen, 0);
  EXPECT_NE(result.note.find("not measured: time limit 2 s"), std::string::npos) << result.note;
  EXPECT_EQ(result.cut_s, 2);
  EXPECT_TRUE(result.lasting) << "asking again would only wait again";
}

TEST_F(TunerTest, AHangCostsItsOwnLimitAndNoMore) {
  Request hanging = request({fake(Act::right), fake(Act::hang)});
  hanging.candidate_limit_s.reset();
  const auto start = std::chrono::steady_clock::now();
  const Result result = tune(hanging);
  // Tried twice, in case it was the machine that stood still; a fake is predicted at 10 us.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(result.outcomes[1].failure.starts_with("hang: ")) << result.outcomes[1].failure;
  EXPECT_EQ(result.note, "") << "nothing is said of the hang";
  EXPECT_TRUE(result.lasting);
}

TEST_F(TunerTest, TimesThatDoNotRepeatAreNoEvidence) {
  Request disturbed = request({fake(Act::right), fake(Act::wild, 0, fake_vendor())});
  disturbed.policy->least_final_rounds = disturbed.policy->most_final_rounds = 4;
  const Result result = tune(disturbed);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.outcomes[1].best_us, 0);
  EXPECT_EQ(result.outcomes[1].median_us, 0);
  EXPECT_TRUE(result.outcomes[1].failure.starts_with("timing: unreliable"))
      << result.outcomes[1].failure;
  EXPECT_TRUE(result.lasting);
  EXPECT_TRUE(failures().empty()) << "it may be tried again";

  Request alone = request({fake(Act::wild)});
  alone.policy->least_final_rounds = alone.policy->most_final_rounds = 4;
  const Result wild = tune(alone);
  EXPECT_EQ(wild.chosen, 0);
  EXPECT_NE(wild.note.find("did not repeat"), std::string::npos) << wild.note;
  EXPECT_EQ(wild.cut_s, alone.time_limit_s) << "kept, and tried again with more time";
}

TEST_F(TunerTest, WithoutEvidenceTheModelsChoiceStays) {
  // Two runs of three take ten times as long, of all of them; by their best times all are equal.
  Request disturbed =
      request({fake(Act::wild), fake(Act::wild, 1), fake(Act::wild, 2, fake_vendor())});
  disturbed.policy->least_final_rounds = disturbed.policy->most_final_rounds = 4;
  disturbed.candidates[1].estimate.us = 9;
  const Result result = tune(disturbed);
  EXPECT_TRUE(result.disturbed);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_EQ(result.margin, 0);
  ASSERT_TRUE(result.ruling);
  EXPECT_EQ(result.ruling->rule, Rule::no_evidence);
  EXPECT_EQ(result.outcomes[2].best_us, 0) << "no ratio to the vendor is made of it";
  EXPECT_NE(result.note.find("the model's choice stays"), std::string::npos) << result.note;

  disturbed.incumbent = 0;
  const Result again = tune(disturbed);
  EXPECT_EQ(again.chosen, 0);
  EXPECT_NE(again.note.find("the earlier answer stays"), std::string::npos) << again.note;
}

TEST_F(TunerTest, TimesFarBeyondAllPredictionsAreOfAMachineThatIsBusy) {
  Request busy = request({fake(Act::slow), fake(Act::slow, 1), fake(Act::slow, 2, fake_vendor())});
  busy.candidates[1].estimate.us = 9;
  busy.measure = measure_fakes(0.4);
  const Result result = tune(busy);
  EXPECT_TRUE(result.disturbed);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_EQ(result.cut_s, busy.time_limit_s) << "kept, and tried again with more time";

  busy.measure = measure_fakes(0);
  EXPECT_FALSE(tune(busy).disturbed) << "it is the model that is wrong";
  busy.measure = measure_fakes(0.6);
  busy.candidates[2] = fake(Act::right, 2, fake_vendor());
  const Result believed = tune(busy);
  EXPECT_EQ(believed.chosen, 2) << "one took what was predicted";
  EXPECT_FALSE(believed.disturbed);
}

TEST_F(TunerTest, ASlowerOneThatOthersMakeAnEqualIsSaid) {
  Request busy = request({fake(Act::right), fake(Act::right, 1)});
  for (Candidate& candidate : busy.candidates) candidate.estimate.us = 90;
  busy.measure = [](std::vector<Timed>& kernels, const Policy&, const std::function<bool()>&) {
    kernels[0].contender.samples.assign(30, 120);
    kernels[1].contender.samples.assign(30, 100);
    return std::optional(Surroundings{0.4});
  };
  const Result result = tune(busy);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_LT(result.margin, 0);
  EXPECT_TRUE(result.note.starts_with("machine busy (others 40 % of the CPUs)")) << result.note;
  ASSERT_TRUE(result.ruling);
  EXPECT_EQ(result.ruling->rule, Rule::others);
  EXPECT_EQ(result.ruling->band, 0.4);
}

TEST_F(TunerTest, RecordsTheRuleAndTheBand) {
  // Of two candidates whose runs take these, in turn.
  const auto ruling = [this](std::vector<double> first, std::vector<double> second) {
    Request quiet = request({fake(Act::right), fake(Act::right, 1)});
    for (Candidate& candidate : quiet.candidates) candidate.estimate.us = 90;
    quiet.measure = [=](std::vector<Timed>& kernels, const Policy&, const std::function<bool()>&) {
      for (std::size_t i = 0; i < 40; ++i) {
        // Pairs, so that even and odd rounds are alike.
        kernels[0].contender.samples.push_back(first[i / 2 % first.size()]);
        kernels[1].contender.samples.push_back(second[i / 2 % second.size()]);
      }
      return std::optional(Surroundings{});
    };
    const Result result = tune(quiet);
    EXPECT_EQ(result.chosen, first[0] <= 1.1 * second[0] ? 0 : 1);
    EXPECT_TRUE(result.ruling);
    return result.ruling.value_or(Ruling{});
  };
  const Policy policy;
  EXPECT_EQ(ruling({100}, {150}).rule, Rule::fastest);
  EXPECT_EQ(ruling({150}, {100}).rule, Rule::fastest);
  EXPECT_EQ(ruling({102}, {100}).rule, Rule::equal);
  EXPECT_EQ(ruling({102}, {100}).band, policy.band);
  EXPECT_EQ(ruling({108, 120}, {100, 112}).rule, Rule::restless);
  EXPECT_EQ(ruling({108, 120}, {100, 112}).band, policy.kin_band);
}

TEST_F(TunerTest, WithoutTimesNoRuleIsRecorded) {
  Request cut = request({fake(Act::right)});
  cut.measure = [](auto&&...) { return std::optional<Surroundings>(); };
  EXPECT_FALSE(tune(cut).ruling);
}

TEST(Rule, NamesAreRead) {
  for (const Rule rule :
       {Rule::fastest, Rule::equal, Rule::others, Rule::restless, Rule::no_evidence}) {
    EXPECT_EQ(parse_rule(name(rule)), rule);
  }
  EXPECT_EQ(parse_rule(""), std::nullopt);
}

TEST_F(TunerTest, MeasuresOnTheDevice) {
  Request real = request({fake(Act::right)});
  real.measure = nullptr;
  const Result result = tune(real);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_GT(result.outcomes[0].best_us, 0);
}

TEST_F(TunerTest, ProgressNeverGoesBack) {
  Request watched = request({fake(Act::right), fake(Act::wrong), fake(Act::right, 1)});
  std::vector<int> seen;
  watched.progress = [&](int done, int total, const std::string& text) {
    EXPECT_EQ(total, 6);
    EXPECT_FALSE(text.empty());
    seen.push_back(done);
  };
  tune(watched);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 6);
}

TEST_F(TunerTest, TwoAtOnceDoNotDisturbEachOther) {
  std::vector<Result> results(2);
  {
    std::vector<std::jthread> threads;
    for (Result& result : results) {
      threads.emplace_back([&] {
        result = tune(request({fake(Act::crash), fake(Act::right), fake(Act::throws)}));
      });
    }
  }
  for (const Result& result : results) {
    EXPECT_EQ(result.chosen, 1);
    EXPECT_GT(result.outcomes[1].best_us, 0);
  }
}

TEST_F(TunerTest, KMayBeZero) {
  problem_ = Problem::mm(17, 40, 0, DataType::f32);
  const Result result = tune(request({fake(Act::wrong), fake(Act::right)}));
  EXPECT_EQ(result.chosen, 1);
}

}  // namespace
}  // namespace gemwright::tune
