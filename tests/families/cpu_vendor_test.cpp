#ifdef GEMWRIGHT_ONEDNN

#include "device/profile.hpp"
#include "families/family.hpp"
#include "support/gemm_case.hpp"
#include <gemwright/errors.hpp>

#include <array>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace gemwright {
namespace {

const Family& vendor() {
  return *families::find("cpu_vendor");
}

Device two_threads() {
  auto profile = std::make_shared<DeviceProfile>(Device::cpu().profile());
  profile->cpu.threads = 2;  // whether or not there are two cores for them
  return {std::move(profile), 0, true};
}

TEST(CpuVendor, RefusalsSayWhatIsWrong) {
  const Device device = Device::cpu();
  Problem packed = Problem::linear(4, 64, 64, DataType::f32);
  packed.b.packed = true;
  EXPECT_NE(vendor().refuse(packed, device)->find("packed"), std::string::npos);

  Problem strided = Problem::mm(4, 64, 64, DataType::f32);
  strided.b.row_stride = 130;
  strided.b.col_stride = 2;
  EXPECT_NE(vendor().refuse(strided, device)->find("B has no contiguous"), std::string::npos);

  const Problem deep = Problem::mm(1, 1, std::int64_t{1} << 33, DataType::f32);
  EXPECT_NE(vendor().refuse(canonical(deep).problem, device)->find("32 bits"), std::string::npos);

  Problem mixed = Problem::mm(4, 64, 64, DataType::f32);
  mixed.b.type = DataType::bf16;
  EXPECT_NE(vendor().refuse(mixed, device)->find("one type"), std::string::npos);

  EXPECT_FALSE(vendor().refuse(Problem::linear(4, 64, 64, DataType::f32), device).has_value());
}

TEST(CpuVendor, RefusesWhatOneDnnComputesWrongly) {
  const Device device = Device::cpu();
  Problem biased = Problem::bmm(3, 4, 64, 64, DataType::f32);
  biased.bias = Bias::per_column;
  biased.alpha = 2;
  EXPECT_FALSE(vendor().refuse(biased, device).has_value());
  biased.d.batch_stride += 5;
  EXPECT_NE(vendor().refuse(biased, device)->find("D without gaps"), std::string::npos);
  biased.alpha = 1;
  EXPECT_FALSE(vendor().refuse(biased, device).has_value());

  const auto odd = vendor().refuse(Problem::linear(4, 64, 63, DataType::bf16), device);
  EXPECT_NE(odd.value_or("").find("bf16"), std::string::npos);
}

TEST(CpuVendor, FirstConfigurationIsWhatACallerOfOneDnnGets) {
  const Device device = two_threads();
  const auto list = vendor().configurations(Problem::linear(1, 64, 64, DataType::f32), device);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(vendor().configuration_name(list[0]), "onednn_matmul_t2");
  EXPECT_EQ(vendor().configuration_name(list[1]), "onednn_linear_t2");
  EXPECT_EQ(vendor().configuration_name(list[2]), "onednn_matmul_t1");
  // Too large for one thread to be as fast.
  const auto large = Problem::linear(512, 4096, 4096, DataType::f32);
  EXPECT_EQ(vendor().configurations(large, device).size(), 2U);
}

// Any strides that a product may have, of which oneDNN takes some.
Operand random_operand(std::mt19937& random, DataType type, std::int64_t rows, std::int64_t cols,
                       std::int64_t batch, bool broadcast) {
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  Operand operand{.type = type, .row_stride = cols + one_of({0, 1, 3}), .col_stride = 1};
  if (random() % 3 == 0) {
    operand.row_stride = 1;
    operand.col_stride = rows + one_of({0, 1, 3});
  }
  operand.batch_stride = batch == 1 ? 0 : rows * cols * 4 + one_of({0, 1, 16});
  if (broadcast) {
    if (random() % 3 == 0) operand.batch_stride = one_of({0, 4});
    if (random() % 4 == 0) operand.row_stride = one_of({0, 1, 4});
  }
  return operand;
}

TEST(CpuVendor, WhatItDoesNotRefuseIsBuilt) {
  const Device device = Device::cpu();
  std::mt19937 random(7);
  int built = 0;
  for (int i = 0; i < 300; ++i) {
    const DataType type = random() % 2 == 0 ? DataType::f32 : DataType::bf16;
    Problem p;
    p.m = std::array{1, 7, 16, 33}[random() % 4];
    p.n = std::array{1, 16, 129}[random() % 3];
    p.k = std::array{1, 64, 1122}[random() % 3];
    p.batch = std::array{1, 4}[random() % 2];
    p.a = random_operand(random, type, p.m, p.k, p.batch, true);
    p.b = random_operand(random, type, p.k, p.n, p.batch, true);
    p.d =
        random_operand(random, random() % 4 == 0 ? DataType::f32 : type, p.m, p.n, p.batch, false);
    if (random() % 2 == 0) {
      p.beta = 1;
      p.c = random_operand(random, p.d.type, p.m, p.n, p.batch, true);
    }
    p.bias = static_cast<Bias>(random() % 3);
    p.bias_type = type;
    p.alpha = random() % 2 == 0 ? 1.0F : 0.5F;
    p.check();
    const Problem problem = canonical(p).problem;
    if (vendor().refuse(problem, device)) continue;
    for (const Configuration& configuration : vendor().configurations(problem, device)) {
      EXPECT_NO_THROW(vendor().build(problem, device, configuration)) << key(problem);
      ++built;
    }
  }
  EXPECT_GT(built, 20);
}

TEST(CpuVendor, CallersNumberOfThreadsIsPutBack) {
  using Get = int (*)();
  using Set = void (*)(int);
  const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (get == nullptr || set == nullptr) GTEST_SKIP() << "oneDNN was built without OpenMP";
  const int before = get();
  set(7);
  const Problem problem = Problem::linear(3, 64, 32, DataType::f32);
  const Device device = two_threads();
  const auto kernel = vendor().build(problem, device, vendor().configurations(problem, device)[0]);
  EXPECT_EQ(get(), 7);
  const std::vector<float> a(3 * 32, 1.0F);
  const std::vector<float> b(64 * 32, 0.5F);
  std::vector<float> d(3 * 64);
  std::vector<std::byte> scratch(kernel->workspace_bytes(problem));
  kernel->run(problem, {.a = a.data(), .b = b.data(), .d = d.data()}, scratch.data(), {});
  EXPECT_EQ(get(), 7);
  EXPECT_EQ(d[100], 16.0F);
  set(before);
}

// More threads than the kernel keeps sets of memory objects for.
TEST(CpuVendor, OneKernelFromManyThreads) {
  const Problem problem = Problem::linear(5, 48, 40, DataType::f32);
  const Device device = Device::cpu(1);
  const auto kernel = vendor().build(problem, device, vendor().configurations(problem, device)[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 12; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> a(5 * 40, static_cast<float>(t));
      const std::vector<float> b(48 * 40, 1.0F);
      std::vector<std::byte> scratch(kernel->workspace_bytes(problem));
      for (int run = 0; run < 50; ++run) {
        std::vector<float> d(5 * 48, -1.0F);
        kernel->run(problem, {.a = a.data(), .b = b.data(), .d = d.data()}, scratch.data(), {});
        for (const float value : d) wrong += value != 40.0F * static_cast<float>(t) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace gemwright

#endif
