#include "device/cpu/detect.hpp"
#include "families/cpu_packed/case.hpp"
#include "families/cpu_packed/setup.hpp"
#include "numeric/convert.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

using testing::Case;
using testing::integers;
using testing::normal;
using testing::Values;

const Family& family() {
  return *families::find("cpu_packed");
}

// This machine's CPU with fewer features, and a given number of threads.
Device limited(bool avx2, bool avx512, bool bf16, int threads = 2) {
  auto profile = std::make_shared<DeviceProfile>(cpu::detect());
  CpuFeatures& features = profile->cpu.features;
  features.avx2_fma = features.avx2_fma && avx2;
  features.avx512 = features.avx512 && avx512;
  features.avx512_bf16 = features.avx512_bf16 && bf16;
  profile->cpu.threads = threads;
  profile->cpu.cores = threads;
  // Caches so small that small problems have many blocks.
  profile->cpu.l1_bytes = 8 << 10;
  profile->cpu.l2_bytes = 64 << 10;
  return {profile, 0, true};
}

std::vector<Device> devices() {
  return {limited(true, true, true), limited(true, true, false), limited(true, false, false),
          limited(false, false, false)};
}

void check_everywhere(const Problem& problem, const Values& values = normal()) {
  Case test(problem, values);
  for (const Device& device : devices()) test.check_all(family(), device);
}

Problem typed(Problem problem, DataType a, DataType b, DataType d) {
  problem.a.type = a;
  problem.b.type = b;
  problem.d.type = d;
  for (Operand* operand : {&problem.a, &problem.b, &problem.d})
    operand->alignment = size_bytes(operand->type);
  return problem;
}

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16};

TEST(CpuPacked, EveryConfigurationAtEveryTileEdge) {
  for (const DataType type : kTypes) {
    for (const std::int64_t m : {1, 2, 3, 5, 6, 7, 8, 9, 13, 14, 15, 28, 29}) {
      check_everywhere(typed(Problem::linear(m, 17, 33, type), type, type, DataType::f32));
      check_everywhere(typed(Problem::mm(m, 33, 31, type), type, type, type));
      if (HasFailure()) return;
    }
    for (const std::int64_t n : {1, 2, 7, 15, 16, 31, 32, 47, 48, 49, 63, 64, 65, 127, 129}) {
      check_everywhere(typed(Problem::linear(5, n, 19, type), type, type, type));
      check_everywhere(typed(Problem::mm(5, n, 19, type), type, type, DataType::f32));
      if (HasFailure()) return;
    }
    for (const std::int64_t k : {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 513}) {
      check_everywhere(typed(Problem::linear(4, 21, k, type), type, type, DataType::f32));
      check_everywhere(typed(Problem::mm(17, 35, k, type), type, type, type));
      if (HasFailure()) return;
    }
  }
}

TEST(CpuPacked, IntegersAreExact) {
  for (const DataType type : kTypes) {
    for (const auto& [m, n, k] : {std::array{37, 101, 211}, {131, 67, 97}, {7, 257, 1031}}) {
      for (const bool linear : {false, true}) {
        Problem problem = linear ? Problem::linear(m, n, k, type) : Problem::mm(m, n, k, type);
        check_everywhere(typed(problem, type, type, DataType::f32), integers());
        if (HasFailure()) return;
      }
    }
  }
}

TEST(CpuPacked, AnyMixOfTypes) {
  for (const DataType a : kTypes) {
    for (const DataType b : kTypes) {
      for (const DataType d : kTypes) {
        check_everywhere(typed(Problem::mm(11, 37, 45, a), a, b, d));
        check_everywhere(typed(Problem::linear(11, 37, 45, a), a, b, d));
        if (HasFailure()) return;
      }
    }
  }
}

// Strides of every kind, in elements, for an m x n x k product.
std::vector<Problem> strided(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  std::vector<Problem> problems;
  const auto add = [&](auto change) {
    Problem problem = typed(Problem::mm(m, n, k, type), type, type, DataType::f32);
    change(problem);
    problems.push_back(problem);
  };
  const auto set = [](Operand& operand, std::int64_t row, std::int64_t col) {
    operand.row_stride = row;
    operand.col_stride = col;
  };
  add([&](Problem& p) { set(p.a, 1, m); });
  add([&](Problem& p) { set(p.b, 1, k); });
  add([&](Problem& p) { set(p.b, 1, k + 1); });
  add([&](Problem& p) { set(p.b, n + 3, 1); });
  add([&](Problem& p) { set(p.a, k + 5, 1); });
  add([&](Problem& p) { set(p.d, n + 7, 1); });
  add([&](Problem& p) { set(p.d, 1, m); });
  add([&](Problem& p) { set(p.d, 2 * n, 2); });
  add([&](Problem& p) { set(p.a, 3 * k, 3); });
  add([&](Problem& p) { set(p.b, 2 * n, 2); });
  add([&](Problem& p) { set(p.b, 2, 2 * k); });
  add([&](Problem& p) { set(p.a, 0, 1); });
  add([&](Problem& p) { set(p.a, 1, 0); });
  add([&](Problem& p) { set(p.b, 0, 1); });
  add([&](Problem& p) { set(p.b, 1, 0); });
  add([&](Problem& p) { set(p.b, 0, 0); });
  add([&](Problem& p) { set(p.a, 1, 1); });  // overlapping views
  add([&](Problem& p) { set(p.b, 1, 1); });
  add([&](Problem& p) { p.a.alignment = p.b.alignment = p.d.alignment = 16; });
  return problems;
}

TEST(CpuPacked, AnyStrides) {
  for (const DataType type : kTypes) {
    for (const auto& [m, n, k] : {std::array{4, 50, 39}, {18, 35, 66}}) {
      for (const Problem& problem : strided(m, n, k, type)) {
        check_everywhere(problem);
        if (HasFailure()) return;
      }
    }
  }
  // Size-1 dimensions with absurd strides.
  Problem problem =
      typed(Problem::mm(1, 40, 1, DataType::f32), DataType::f32, DataType::f32, DataType::f32);
  problem.a.row_stride = 1 << 20;
  problem.a.col_stride = 12345;
  problem.b.row_stride = 99991;
  check_everywhere(problem);
}

TEST(CpuPacked, Epilogues) {
  for (const DataType type : kTypes) {
    for (const Bias bias : {Bias::none, Bias::per_row, Bias::per_column}) {
      for (const auto& [alpha, beta] :
           {std::pair{1.0F, 0.0F}, {0.5F, 0.0F}, {1.0F, 1.0F}, {-2.0F, 0.25F}}) {
        Problem problem = typed(Problem::linear(9, 37, 50, type), type, type, type);
        problem.alpha = alpha;
        problem.beta = beta;
        problem.bias = bias;
        problem.bias_type = type;
        problem.c = problem.d;
        check_everywhere(problem);
        problem.c->type = DataType::bf16;
        problem.c->row_stride = 1;
        problem.c->col_stride = 9;
        problem.bias_type = DataType::f32;
        check_everywhere(problem);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(CpuPacked, NoDepthLeavesTheEpilogue) {
  for (const bool linear : {false, true}) {
    for (const DataType type : kTypes) {
      Problem problem = linear ? Problem::linear(5, 19, 0, type) : Problem::mm(5, 19, 0, type);
      problem = typed(problem, type, type, DataType::f32);
      problem.a.row_stride = 1;
      problem.b.col_stride = linear ? 1 : problem.b.col_stride;
      problem.beta = 2;
      problem.c = problem.d;
      problem.bias = Bias::per_column;
      check_everywhere(problem, integers());
    }
  }
}

TEST(CpuPacked, BetaOfZeroNeverReadsC) {
  Problem problem =
      typed(Problem::mm(6, 20, 30, DataType::f32), DataType::f32, DataType::f32, DataType::f32);
  problem.c = problem.d;
  const Values values = integers();
  check_everywhere(problem, [&](char which, std::int64_t i) {
    return which == 'c' ? std::numeric_limits<double>::quiet_NaN() : values(which, i);
  });
}

TEST(CpuPacked, NaNAndInfinityGoWhereTheyShould) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DataType type : kTypes) {
    for (const bool linear : {false, true}) {
      for (const std::int64_t k : {33, 64, 65}) {
        for (const char where : {'a', 'b'}) {
          const Values values = integers();
          Problem problem = linear ? Problem::linear(7, 35, k, type) : Problem::mm(7, 35, k, type);
          check_everywhere(typed(problem, type, type, type), [&](char which, std::int64_t i) {
            // Near the end of K too, where padding begins.
            if (which == where && i == k - 1) return inf;
            if (which == where && i == 3 * k + 5) return std::nan("");
            if (which == where && i == 5 * k - 1) return -inf;
            return values(which, i);
          });
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(CpuPacked, ResultsBeyondFp16AreInfinite) {
  Problem problem =
      typed(Problem::linear(3, 18, 40, DataType::f16), DataType::f16, DataType::f16, DataType::f16);
  check_everywhere(problem, [](char, std::int64_t i) { return i % 7 == 0 ? -60000.0 : 50000.0; });
}

TEST(CpuPacked, OneHotRowsShowEveryIndex) {
  for (const DataType type : kTypes) {
    for (const bool linear : {false, true}) {
      const std::int64_t k = 70;
      Problem problem = linear ? Problem::linear(23, 83, k, type) : Problem::mm(23, 83, k, type);
      check_everywhere(typed(problem, type, type, DataType::f32), [&](char which, std::int64_t i) {
        if (which != 'a') return static_cast<double>(i % 251);
        return i % k == (i / k * 29 + 11) % k ? 1.0 : 0.0;
      });
    }
  }
}

TEST(CpuPacked, BatchesWithAnyStrides) {
  for (const DataType type : kTypes) {
    for (const std::int64_t batch : {2, 3, 5, 17}) {
      Problem problem = typed(Problem::bmm(batch, 9, 34, 21, type), type, type, DataType::f32);
      check_everywhere(problem);
      problem.a.batch_stride = 0;
      check_everywhere(problem);
      problem.b.batch_stride = 0;
      check_everywhere(problem);
      problem.a.batch_stride = 3;  // overlapping
      problem.d.batch_stride += 11;
      problem.bias = Bias::per_row;
      check_everywhere(problem);
      // D with the batch innermost.
      problem.d.batch_stride = 1;
      problem.d.col_stride = batch;
      problem.d.row_stride = batch * 34;
      check_everywhere(problem);
      if (HasFailure()) return;
    }
  }
}

TEST(CpuPacked, SkinnyAndDeep) {
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    check_everywhere(typed(Problem::linear(1, 3, 20011, type), type, type, DataType::f32));
    check_everywhere(typed(Problem::mm(2, 5, 9973, type), type, type, DataType::f32));
    check_everywhere(typed(Problem::mm(1, 20011, 2, type), type, type, DataType::f32));
    check_everywhere(typed(Problem::mm(1031, 1, 3, type), type, type, DataType::f32));
  }
}

// Sizes that no 32-bit number of a configuration holds; nothing runs.
TEST(CpuPacked, DepthsOfAnySizeHaveBlocks) {
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    for (const int log_k : {31, 32, 40}) {
      for (const std::int64_t m : {1, 64}) {
        const Problem problem = Problem::mm(m, 1, std::int64_t{1} << log_k, type);
        for (const auto& configuration : family().configurations(problem, devices()[0])) {
          const auto setup = cpu_packed::decode(configuration);
          if (setup.path == cpu_packed::Path::dot) continue;
          ASSERT_GT(setup.kc, 0) << family().configuration_name(configuration);
        }
      }
    }
  }
}

struct AlignedBytes {
  explicit AlignedBytes(std::size_t bytes)
      : size((bytes + 63) / 64 * 64),
        data(static_cast<std::byte*>(std::aligned_alloc(64, size)), &std::free) {
    std::fill_n(data.get(), size, std::byte{0xFF});
  }
  std::size_t size;
  std::unique_ptr<std::byte, decltype(&std::free)> data;
};

TEST(CpuPacked, PackedWeightsServeEveryConfiguration) {
  for (const DataType type : kTypes) {
    for (const DataType a : kTypes) {
      for (const auto& [m, n, k] :
           {std::array{1, 16, 32}, {8, 33, 77}, {21, 70, 130}, {40, 5, 1}}) {
        for (const bool linear : {false, true}) {
          Problem problem = linear ? Problem::linear(m, n, k, type) : Problem::mm(m, n, k, type);
          problem = typed(problem, a, type, DataType::f32);
          Case test(problem);
          AlignedBytes packed(packed_weights_bytes(problem));
          pack_weights(problem, test.b(), packed.data.get());
          Problem planned = problem;
          planned.b.packed = true;
          for (const Device& device : devices()) {
            for (const auto& configuration : family().configurations(planned, device)) {
              test.check(family(), device, configuration, planned, packed.data.get());
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(CpuPacked, PackedLayoutIsThatOfTheHeader) {
  for (const DataType type : kTypes) {
    const std::int64_t n = 21;
    const std::int64_t k = 7;
    const Problem problem = Problem::linear(1, n, k, type);
    std::vector<std::byte> weights(static_cast<std::size_t>(n * k * size_bytes(type)));
    for (std::int64_t i = 0; i < n * k; ++i)
      numeric::store(type, weights.data(), i, static_cast<double>(i));
    AlignedBytes packed(packed_weights_bytes(problem));
    pack_weights(problem, weights.data(), packed.data.get());
    const std::int64_t depth = size_bytes(type) == 4 ? 1 : 2;
    const std::int64_t units = (k + depth - 1) / depth;
    ASSERT_EQ(packed_weights_bytes(problem), static_cast<std::size_t>(2 * units * 16 * 4));
    for (std::int64_t i = 0; i < 2 * units * 16 * depth; ++i) {
      const std::int64_t at = i % depth + i / (16 * depth) % units * depth;
      const std::int64_t column = i / depth % 16 + i / (16 * depth * units) * 16;
      const double want = column < n && at < k ? static_cast<double>(column * k + at) : 0;
      EXPECT_EQ(numeric::load(type, packed.data.get(), i), want) << name(type) << ' ' << i;
    }
  }
}

TEST(CpuPacked, PackingRefusesWhatItCannotDo) {
  alignas(64) float out[1024];
  float weights[256] = {};
  Problem problem = Problem::bmm(2, 4, 8, 8, DataType::f32);
  EXPECT_THROW(pack_weights(problem, weights, out), InvalidArgument);
  problem = Problem::linear(4, 8, 8, DataType::f32);
  EXPECT_THROW(pack_weights(problem, weights, out + 1), InvalidArgument);
  EXPECT_THROW(pack_weights(problem, nullptr, out), InvalidArgument);
  problem.b.packed = true;
  EXPECT_THROW(pack_weights(problem, weights, out), InvalidArgument);
}

TEST(CpuPacked, OneKernelFromManyThreads) {
  const Problem problem = typed(Problem::linear(20, 130, 100, DataType::f32), DataType::f32,
                                DataType::f32, DataType::f32);
  const Device device = limited(true, true, true);
  std::vector<float> a(20 * 100);
  std::vector<float> b(130 * 100);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  for (const auto& configuration : family().configurations(problem, device)) {
    const auto kernel = family().build(problem, device, configuration);
    std::vector<std::vector<float>> results(3, std::vector<float>(20 * 130));
    std::vector<std::thread> users;
    for (auto& result : results) {
      users.emplace_back([&] {
        AlignedBytes workspace(kernel->workspace_bytes(problem) + 256);
        auto* aligned = workspace.data.get() +
                        (256 - reinterpret_cast<std::uintptr_t>(workspace.data.get()) % 256) % 256;
        for (int run = 0; run < 5; ++run) {
          kernel->run(problem, {.a = a.data(), .b = b.data(), .d = result.data()}, aligned, {});
        }
      });
    }
    for (auto& user : users) user.join();
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
    double expected = 0;
    for (std::size_t k = 0; k < 100; ++k) expected += a[19 * 100 + k] * b[129 * 100 + k];
    EXPECT_EQ(results[0].back(), static_cast<float>(expected));
  }
}

TEST(CpuPacked, ResultsDoNotDependOnWhoComputes) {
  const Problem problem = Problem::linear(19, 300, 257, DataType::f32);
  std::vector<float> a(19 * 257);
  std::vector<float> b(300 * 257);
  const Values values = normal();
  for (float& value : a) value = static_cast<float>(values('a', 0));
  for (float& value : b) value = static_cast<float>(values('b', 0));
  const Device device = limited(true, true, true, 4);
  for (const auto& configuration : family().configurations(problem, device)) {
    const auto kernel = family().build(problem, device, configuration);
    AlignedBytes workspace(kernel->workspace_bytes(problem) + 256);
    auto* aligned = workspace.data.get() +
                    (256 - reinterpret_cast<std::uintptr_t>(workspace.data.get()) % 256) % 256;
    std::vector<float> first(19 * 300);
    std::vector<float> again(19 * 300);
    kernel->run(problem, {.a = a.data(), .b = b.data(), .d = first.data()}, aligned, {});
    for (int run = 0; run < 3; ++run) {
      kernel->run(problem, {.a = a.data(), .b = b.data(), .d = again.data()}, aligned, {});
      EXPECT_EQ(first, again) << family().configuration_name(configuration);
    }
  }
}

TEST(CpuPacked, NamesAreUniqueAndConfigurationsSurviveTheStore) {
  const Device device = Device::cpu();
  for (const Problem& problem : {Problem::linear(16, 4096, 4096, DataType::f32),
                                 Problem::mm(512, 4096, 4096, DataType::bf16),
                                 Problem::linear(1, 128, 4096, DataType::bf16)}) {
    std::vector<std::string> names;
    for (const auto& configuration : family().configurations(problem, device)) {
      names.push_back(family().configuration_name(configuration));
      EXPECT_EQ(families::from_json(family(), families::to_json(family(), configuration)),
                configuration);
    }
    EXPECT_FALSE(names.empty());
    EXPECT_LE(names.size(), 400U);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  }
}

}  // namespace
}  // namespace gemwright
