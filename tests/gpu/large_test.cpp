// More than 2^31 elements in an operand, in the output, or spanned by strides. The data is zero but
// for a few elements far apart, so that the right result is known without computing the product.
#include "gpu/device_memory.hpp"
#include "numeric/convert.hpp"

#include <string>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::int64_t k2To31 = std::int64_t{1} << 31;

class Large : public GpuTest, public testing::WithParamInterface<const Family*> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const cuda::CurrentContext current(0);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    cuda::check(cuda::driver().mem_get_info(&free_bytes, &total), "cuMemGetInfo");
    if (free_bytes < (std::size_t{12} << 30)) GTEST_SKIP() << "needs 12 GB of free device memory";
  }

  cuda::Buffer zeroed(std::int64_t elements) {
    cuda::Buffer buffer(0, static_cast<std::size_t>(2 * elements));
    const cuda::CurrentContext current(0);
    cuda::check(cuda::driver().memset_bytes(buffer.address(), 0, buffer.bytes(),
                                            memory_.own_stream().handle()),
                "cuMemsetD8Async");
    return buffer;
  }
  void put(const cuda::Buffer& buffer, std::int64_t at, double value) {
    std::uint16_t bits = 0;
    numeric::store(DataType::bf16, &bits, 0, value);
    memory_.upload(static_cast<char*>(buffer.data()) + 2 * at, &bits, 2);
  }
  double get(const cuda::Buffer& buffer, std::int64_t at) {
    std::uint16_t bits = 0;
    memory_.download(&bits, static_cast<char*>(buffer.data()) + 2 * at, 2);
    return numeric::load(DataType::bf16, &bits, 0);
  }

  // Runs the model's first few configurations, each on a poisoned D, and lets `expect` look at it.
  template <typename Expect>
  void run(const Problem& problem, const Operands& operands, const cuda::Buffer& d,
           Expect&& expect) {
    const Family& family = *GetParam();
    const Device device = Device::cuda(0);
    if (const auto why = family.refuse(problem, device)) GTEST_SKIP() << *why;
    const auto configurations = family.configurations(problem, device);
    ASSERT_FALSE(configurations.empty());
    const std::size_t step = std::max<std::size_t>(1, configurations.size() / 3);
    for (std::size_t i = 0; i < configurations.size(); i += step) {
      SCOPED_TRACE(family.configuration_name(configurations[i]));
      const auto kernel = family.build(problem, device, configurations[i]);
      const auto workspace = make_workspace(memory_, kernel->workspace_bytes(problem));
      {
        const cuda::CurrentContext current(0);
        cuda::check(cuda::driver().memset_bytes(d.address(), 0xFF, d.bytes(),
                                                memory_.own_stream().handle()),
                    "cuMemsetD8Async");
      }
      kernel->run(problem, operands, workspace.data, memory_.stream());
      memory_.own_stream().synchronize();
      expect();
    }
  }

  DeviceMemory memory_;
};

TEST_P(Large, Weight) {
  const Problem p = Problem::linear(2, 72000, 32768, DataType::bf16);
  ASSERT_GT(p.n * p.k, k2To31);
  const auto a = zeroed(p.m * p.k);
  const auto b = zeroed(p.n * p.k);
  const auto d = zeroed(p.m * p.n);
  put(a, p.k - 1, 2);        // A[0, last]
  put(a, p.k + 5, 3);        // A[1, 5]
  put(b, p.n * p.k - 1, 7);  // W[last, last]
  put(b, (p.n - 2) * p.k + 5, 5);
  put(b, 5, 11);  // W[0, 5]
  run(p, {.a = a.data(), .b = b.data(), .d = d.data()}, d, [&] {
    EXPECT_EQ(get(d, p.n - 1), 14);
    EXPECT_EQ(get(d, p.n - 2), 0);
    EXPECT_EQ(get(d, p.n), 33);
    EXPECT_EQ(get(d, 2 * p.n - 2), 15);
    EXPECT_EQ(get(d, 2 * p.n - 1), 0);
    EXPECT_EQ(get(d, p.n / 2), 0);
  });
}

TEST_P(Large, Output) {
  const Problem p = Problem::linear(40000, 54016, 64, DataType::bf16);
  ASSERT_GT(p.m * p.n, k2To31);
  const auto a = zeroed(p.m * p.k);
  const auto b = zeroed(p.n * p.k);
  const auto d = zeroed(p.m * p.n);
  put(a, (p.m - 1) * p.k + 3, 2);
  put(a, 7 * p.k + 4, 3);
  put(b, (p.n - 1) * p.k + 3, 5);
  put(b, 9 * p.k + 4, 7);
  run(p, {.a = a.data(), .b = b.data(), .d = d.data()}, d, [&] {
    EXPECT_EQ(get(d, p.m * p.n - 1), 10);
    EXPECT_EQ(get(d, 7 * p.n + 9), 21);
    EXPECT_EQ(get(d, p.m * p.n - 2), 0);
    EXPECT_EQ(get(d, p.m / 2 * p.n), 0);
    EXPECT_EQ(get(d, 0), 0);
  });
}

TEST_P(Large, SpannedByStrides) {
  Problem p = Problem::linear(72, 256, 128, DataType::bf16);
  p.a.row_stride = k2To31 / 64;  // the last rows begin beyond 2^31 elements
  ASSERT_GT((p.m - 1) * p.a.row_stride, k2To31);
  const auto a = zeroed((p.m - 1) * p.a.row_stride + p.k);
  const auto b = zeroed(p.n * p.k);
  const auto d = zeroed(p.m * p.n);
  put(a, (p.m - 1) * p.a.row_stride + 127, 2);
  put(a, 33 * p.a.row_stride + 1, 3);
  put(b, 255 * p.k + 127, 5);
  put(b, 17 * p.k + 1, 7);
  run(p, {.a = a.data(), .b = b.data(), .d = d.data()}, d, [&] {
    EXPECT_EQ(get(d, p.m * p.n - 1), 10);
    EXPECT_EQ(get(d, 33 * p.n + 17), 21);
    EXPECT_EQ(get(d, 33 * p.n + 16), 0);
    EXPECT_EQ(get(d, 0), 0);
  });
}

std::vector<const Family*> cuda_families() {
  std::vector<const Family*> list;
  for (const Family* family : families::all()) {
    if (family->device_kind() == DeviceKind::cuda) list.push_back(family);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Families, Large, testing::ValuesIn(cuda_families()),
                         [](const auto& family) { return std::string(family.param->name()); });

}  // namespace
}  // namespace gemwright::test
