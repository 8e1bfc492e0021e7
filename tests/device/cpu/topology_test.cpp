#include "device/cpu/topology.hpp"

#include "files/files.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gemwright::cpu {
namespace {

class Topology : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::temp_directory_path() /
            (std::string("gemwright_topology_") + test->name());
    std::filesystem::remove_all(root_);
    roots_ = {root_ / "sys", root_ / "proc"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    files::write_atomically(root_ / path, text);
  }

  std::filesystem::path root_;
  Roots roots_;
};

TEST_F(Topology, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_EQ(parse_cpu_list("x,2"), (std::vector<int>{2}));
}

TEST_F(Topology, HyperthreadsOfOneCoreCountOnce) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        std::to_string(core) + "," + std::to_string(core + 4) + "\n");
  }
  EXPECT_EQ(usable_cores({0, 1, 2, 3, 4, 5, 6, 7}, roots_), 4);
  EXPECT_EQ(usable_cores({1, 5}, roots_), 1);
}

TEST_F(Topology, QuotaOfTheGroupOrOfOneAboveIt) {
  EXPECT_EQ(cpu_quota(roots_), 0);
  put("proc/self/cgroup", "0::/user/job\n");
  put("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(roots_), 0);
  put("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(roots_), 2.5);
  EXPECT_EQ(usable_cores({0, 1, 2, 3}, roots_), 2);
  put("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cores({0, 1, 2, 3}, roots_), 1);
}

TEST_F(Topology, QuotaOfTheFirstVersionOfControlGroups) {
  put("proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/job\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(roots_), 3);
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpu_quota(roots_), 0);
}

TEST_F(Topology, CacheSizes) {
  const auto index = [&](int i, const char* level, const char* type, const char* size) {
    const std::string folder = "sys/devices/system/cpu/cpu3/cache/index" + std::to_string(i) + "/";
    put(folder + "level", level);
    put(folder + "type", type);
    put(folder + "size", size);
  };
  index(0, "1\n", "Data\n", "48K\n");
  index(1, "1\n", "Instruction\n", "32K\n");
  index(2, "2\n", "Unified\n", "2M\n");
  index(3, "3\n", "Unified\n", "266240K\n");
  const Caches found = caches(3, roots_);
  EXPECT_EQ(found.l1_bytes, 48U << 10);
  EXPECT_EQ(found.l2_bytes, 2U << 20);
  EXPECT_EQ(found.l3_bytes, 266240U << 10);
}

TEST(TopologyHere, AtLeastOneCore) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_GE(usable_cores(cpus), 1);
  EXPECT_LE(usable_cores(cpus), static_cast<int>(cpus.size()));
}

}  // namespace
}  // namespace gemwright::cpu
