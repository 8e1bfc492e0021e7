#include "device/cpu/naming.hpp"

#include <gtest/gtest.h>

namespace gemwright::cpu {
namespace {

TEST(CpuName, HiddenBrandIsNamedByModel) {
  const Name name = name_of({"GenuineIntel", 6, 207, 2, "Intel(R) Xeon(R) Processor"});
  EXPECT_EQ(name.name, "Intel Xeon (Emerald Rapids)");
  EXPECT_EQ(name.slug, "intel-xeon-emerald-rapids");
}

TEST(CpuName, EpycOfTheClouds) {
  const Name name = name_of({"AuthenticAMD", 0x19, 0x11, 1, "AMD EPYC 9R14 96-Core Processor"});
  EXPECT_EQ(name.name, "AMD EPYC 9R14 (Zen 4)");
  EXPECT_EQ(name.slug, "amd-epyc-zen4");
}

TEST(CpuName, SteppingTellsCascadeLakeFromSkylake) {
  const std::string brand = "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz";
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0x55, 7, brand}).slug, "intel-xeon-cascade-lake");
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0x55, 4, brand}).slug, "intel-xeon-skylake");
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0x55, 7, brand}).name,
            "Intel Xeon Platinum 8275CL (Cascade Lake)");
}

TEST(CpuName, ClientParts) {
  EXPECT_EQ(name_of({"AuthenticAMD", 0x19, 0x61, 2, "AMD Ryzen 9 7950X 16-Core Processor"}).slug,
            "amd-ryzen-zen4");
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0xB7, 1, "13th Gen Intel(R) Core(TM) i9-13900K"}).slug,
            "intel-core-raptor-lake");
}

TEST(CpuName, UnknownModelKeepsItsNumbers) {
  EXPECT_EQ(name_of({"GenuineIntel", 6, 250, 0, "Intel(R) Xeon(R) 6999P"}).slug,
            "intel-xeon-6-250");
}

TEST(CpuName, AModelThatLacksWhatIsThereIsNotIt) {
  const std::string brand = "Intel(R) Xeon(R) Processor";
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0xA7, 1, brand}).slug, "intel-xeon-rocket-lake");
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0xA7, 1, brand, true}).slug, "intel-xeon-6-167");
  EXPECT_EQ(name_of({"GenuineIntel", 6, 0xAD, 1, brand, true}).slug, "intel-xeon-granite-rapids");
}

TEST(CpuName, OtherProcessorsAreNamedByTheirMachine) {
  EXPECT_TRUE(name_of({}).slug.starts_with("cpu-"));
}

}  // namespace
}  // namespace gemwright::cpu
