#include "tune/validator.hpp"

#include "tune/fakes.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

using Kind = Verdict::Kind;

constexpr double kLimit = 1;

class ValidatorTest : public testing::Test {
 protected:
  Verdict check(Act act) { return validator_.check(fake(act), act == Act::hang ? kLimit : 60); }

  Problem problem_ = Problem::mm(9, 33, 21, DataType::f32);
  Device device_ = small_device();
  Validator validator_{problem_, device_};
};

TEST_F(ValidatorTest, TellsWhatEachCandidateDoes) {
  const std::map<Act, Kind> expected = {
      {Act::right, Kind::right},     {Act::crash, Kind::fault},      {Act::hang, Kind::hang},
      {Act::wrong, Kind::wrong},     {Act::unwritten, Kind::wrong},  {Act::tramples, Kind::wrong},
      {Act::overreads, Kind::fault}, {Act::dirty, Kind::wrong},      {Act::no_build, Kind::build},
      {Act::bad_build, Kind::build}, {Act::no_memory, Kind::memory}, {Act::throws, Kind::fault},
      {Act::talks, Kind::right},     {Act::wild, Kind::right},       {Act::slow, Kind::right},
  };
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kActs));
  for (const auto& [act, kind] : expected) {
    const Verdict verdict = check(act);
    EXPECT_EQ(name(verdict.kind), name(kind)) << static_cast<int>(act) << " " << verdict.reason;
    EXPECT_EQ(verdict.reason.empty(), kind == Kind::right) << verdict.reason;
    // Whatever it did, the next one is judged as if nothing had been.
    EXPECT_EQ(check(Act::right).kind, Kind::right) << "after " << static_cast<int>(act);
  }
}

TEST_F(ValidatorTest, ReasonsSayWhatWasSeen) {
  EXPECT_NE(check(Act::unwritten).reason.find("left 1 elements of D unwritten"), std::string::npos);
  EXPECT_NE(check(Act::wrong).reason.find("D[0,4,16]"), std::string::npos);
  EXPECT_NE(check(Act::tramples).reason.find("outside of D"), std::string::npos);
  EXPECT_NE(check(Act::dirty).reason.find("second run"), std::string::npos);
  EXPECT_NE(check(Act::hang).reason.find("within 1.0 s"), std::string::npos);
}

TEST_F(ValidatorTest, WithoutAWorkerItChecksHere) {
  const std::string worker = std::getenv("GEMWRIGHT_WORKER");
  setenv("GEMWRIGHT_WORKER", "/nowhere/gemwright", 1);
  EXPECT_EQ(check(Act::right).kind, Kind::right);
  EXPECT_EQ(check(Act::wrong).kind, Kind::wrong);
  EXPECT_EQ(check(Act::throws).kind, Kind::fault);
  setenv("GEMWRIGHT_WORKER", worker.c_str(), 1);
}

}  // namespace
}  // namespace gemwright::tune
