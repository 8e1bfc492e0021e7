#include "plan/reason.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

std::string reason(Source source, const std::optional<tune::Ruling>& ruling) {
  Explanation explanation;
  explanation.source = source;
  explanation.chosen.median_us = 10;
  explanation.margin = -0.02;
  explanation.note = "others took 30 % of the CPUs";
  return reason_of(explanation, ruling);
}

std::string reason(tune::Rule rule, double band = 0.03) {
  return reason(Source::tuned, tune::Ruling{rule, band});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Reason, NamesTheRuleThatWasRecorded) {
  using tune::Rule;
  EXPECT_EQ(reason(Rule::fastest), "the fastest of those measured just now");
  EXPECT_TRUE(has(reason(Rule::equal), "within 3.0 % of the fastest")) << reason(Rule::equal);
  EXPECT_TRUE(has(reason(Rule::equal), "noise band")) << reason(Rule::equal);
  EXPECT_TRUE(has(reason(Rule::others, 0.3), "within 30.0 %")) << reason(Rule::others, 0.3);
  EXPECT_TRUE(has(reason(Rule::others), "others used of the CPUs")) << reason(Rule::others);
  EXPECT_TRUE(has(reason(Rule::restless), "restless machine")) << reason(Rule::restless);
  EXPECT_TRUE(has(reason(Rule::no_evidence), "no time is evidence"));
}

TEST(Reason, WithoutARecordedRuleNoneIsNamed) {
  EXPECT_EQ(reason(Source::store, std::nullopt), "measured when it was tuned");
}

TEST(Reason, WhatWasNotMeasuredIsSaid) {
  Explanation explanation;
  explanation.source = Source::tuned;
  EXPECT_TRUE(has(reason_of(explanation, std::nullopt), "not measured"));
}

}  // namespace
}  // namespace gemwright
