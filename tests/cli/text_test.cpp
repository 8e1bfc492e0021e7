#include "cli/text.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace gemwright::cli {
namespace {

TEST(Table, AlignsNumbersRightAndLeavesEmptyColumnsOut) {
  Table table({"kernel", "time", "note", "x"});
  table.add({"a/µ", "12.3 us", "", "1.25"});
  table.add({"longer", "-", "", "10.00"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "kernel     time      x\n"
            "a/µ     12.3 us   1.25\n"
            "longer        -  10.00\n");
}

TEST(Table, TakesDatesAndNamesForText) {
  Table table({"date", "name"});
  table.add({"2026-11-30T12:00:00Z", "128x64"});
  table.add({"never", "none"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "date                  name\n"
            "2026-11-30T12:00:00Z  128x64\n"
            "never                 none\n");
}

TEST(Text, OneOfAThingIsNoPlural) {
  EXPECT_EQ(count_text(0, "thread"), "0 threads");
  EXPECT_EQ(count_text(1, "thread"), "1 thread");
  EXPECT_EQ(count_text(2, "thread"), "2 threads");
}

TEST(Text, TimesKeepTheirDigits) {
  EXPECT_EQ(time_text(0), "-");
  EXPECT_EQ(time_text(0.0123), "12.3 ns");
  EXPECT_EQ(time_text(12.34), "12.3 us");
  EXPECT_EQ(time_text(1234), "1.23 ms");
}

TEST(Text, RatesKeepTheirDigits) {
  EXPECT_EQ(rate_text(0, "FLOP/s"), "-");
  EXPECT_EQ(rate_text(12.5, "B/s"), "12.5 B/s");
  EXPECT_EQ(rate_text(4.567e9, "FLOP/s"), "4.57 GFLOP/s");
  EXPECT_EQ(rate_text(4.567e15, "FLOP/s"), "4.57 PFLOP/s");
}

}  // namespace
}  // namespace gemwright::cli
