#include "cli/reason.hpp"

#include <gtest/gtest.h>

namespace gemwright::cli {
namespace {

// Of a kernel whose margin is `margin`, with times that repeat within 1 %.
std::string reason(double margin, const std::string& note = {}) {
  Explanation explanation;
  explanation.source = Source::tuned;
  explanation.chosen.median_us = 10;
  explanation.margin = margin;
  explanation.noise = 0.01;
  explanation.note = note;
  return reason_of(explanation, tune::Policy{});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Reason, OnlyTheFastestIsCalledSo) {
  EXPECT_EQ(reason(0.2), "the fastest of those measured just now");
  for (const double margin : {-0.01, -0.08, -0.168}) {
    EXPECT_FALSE(has(reason(margin), "the fastest of those")) << margin;
  }
}

TEST(Reason, NamesTheRuleThatKeptASlowerOne) {
  EXPECT_TRUE(has(reason(-0.02), "within 3.0 % of the fastest")) << reason(-0.02);
  EXPECT_TRUE(has(reason(-0.08), "restless machine")) << reason(-0.08);
  EXPECT_TRUE(has(reason(-0.168, "others took 30 % of the CPUs"), "others used the CPUs"));
  EXPECT_TRUE(has(reason(0, "times did not repeat: something else uses this device"),
                  "no time is evidence"));
}

TEST(Reason, WhatWasNotMeasuredIsSaid) {
  Explanation explanation;
  explanation.source = Source::tuned;
  EXPECT_TRUE(has(reason_of(explanation, tune::Policy{}), "not measured"));
}

}  // namespace
}  // namespace gemwright::cli
