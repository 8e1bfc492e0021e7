// Runs that may begin before the work before them has ended (Operands::early): chains in which each
// reads what the one before wrote, in a stream and in a graph, and behind other kinds of work.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include <gemwright/gemwright.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::int64_t kSize = 1024;  // N and K
constexpr int kLinks = 8;
constexpr std::uint16_t kOne = 0x3F80;  // bf16

// One link of a chain: from A's rows to D.
using Link = std::function<void(const void* a, void* d, Stream stream)>;

// Weights that permute: every element of D is one of A, so that a single element read too early,
// when it is still poison, ruins the end of the chain.
class Overlap : public GpuTest {
 protected:
  void make(std::int64_t m) {
    m_ = m;
    memory_.clear();
    std::mt19937 random(7);
    order_.resize(kSize);
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), random);
    std::vector<std::uint16_t> weight(kSize * kSize, 0);
    for (std::size_t n = 0; n < kSize; ++n) weight[n * kSize + order_[n]] = kOne;
    weight_ = put(weight);
    input_.resize(static_cast<std::size_t>(m * kSize));
    for (auto& x : input_) x = static_cast<std::uint16_t>(kOne + random() % 100);
    rows_.resize(kLinks + 1);
    for (auto& rows : rows_) rows = memory_.allocate(row_bytes());
    source_ = put(input_);
  }

  Problem problem() const { return Problem::linear(m_, kSize, kSize, DataType::bf16); }

  // A kernel of a family, overlapping what is before it.
  Link link(std::shared_ptr<const Kernel> kernel, Early early) {
    const Canonical form = canonical(problem());
    const Workspace workspace = make_workspace(memory_, kernel->workspace_bytes(form.problem));
    return [=, this](const void* a, void* d, Stream stream) {
      const Operands operands{.a = a, .b = weight_, .d = d, .early = early};
      kernel->run(form.problem, form.swapped ? operands.transposed() : operands, workspace.data,
                  stream);
    };
  }

  std::shared_ptr<const Kernel> first_of(const char* name, const Device& device) const {
    const Family* family = families::find(name);
    const Problem form = canonical(problem()).problem;
    return family->build(form, device, family->configurations(form, device).front());
  }

  // "" when the end of the chain is what it must be, each time, from a stream and from a graph.
  std::string run(const std::vector<Link>& links) {
    const auto enqueue = [&] {
      // Poison and input by the same stream: the first link's predecessor is a copy.
      for (void* rows : rows_) {
        cuda::check(cuda::driver().memset_bytes(reinterpret_cast<CUdeviceptr>(rows), 0xFF,
                                                row_bytes(), memory_.own_stream().handle()),
                    "memset");
      }
      copy(source_, rows_[0]);
      for (std::size_t i = 0; i < kLinks; ++i) {
        links[i % links.size()](rows_[i], rows_[i + 1], memory_.stream());
      }
      // Not a dependent launch itself: it follows the whole chain.
      copy(rows_[kLinks], rows_[0]);
    };
    const cuda::CurrentContext current(0);
    for (int i = 0; i < 3; ++i) {
      enqueue();
      if (auto fault = compare(); !fault.empty()) return "in a stream: " + fault;
    }
    const cuda::Graph graph(0, memory_.own_stream(), enqueue);
    for (int i = 0; i < 3; ++i) {
      graph.launch(memory_.own_stream());
      if (auto fault = compare(); !fault.empty()) return "in a graph: " + fault;
    }
    return "";
  }

  void copy(const void* from, void* to) {
    cuda::check(cuda::driver().memcpy_on_device(reinterpret_cast<CUdeviceptr>(to),
                                                reinterpret_cast<CUdeviceptr>(from), row_bytes(),
                                                memory_.own_stream().handle()),
                "copy");
  }

  DeviceMemory memory_;

 private:
  std::size_t row_bytes() const { return static_cast<std::size_t>(m_ * kSize) * 2; }

  void* put(const std::vector<std::uint16_t>& values) {
    void* at = memory_.allocate(values.size() * 2);
    memory_.upload(at, values.data(), values.size() * 2);
    return at;
  }

  std::string compare() {
    std::vector<std::uint16_t> got(input_.size());
    memory_.download(got.data(), rows_[0], row_bytes());
    for (std::size_t i = 0; i < got.size(); ++i) {
      std::size_t column = i % kSize;
      for (int link = 0; link < kLinks; ++link) column = order_[column];
      const std::uint16_t expected = input_[i / kSize * kSize + column];
      if (got[i] != expected) {
        return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
               std::to_string(expected);
      }
    }
    return "";
  }

  std::int64_t m_ = 0;
  std::vector<std::size_t> order_;
  std::vector<std::uint16_t> input_;
  const void* weight_ = nullptr;
  const void* source_ = nullptr;
  std::vector<void*> rows_;  // of each link, the first one's input before them
};

TEST_F(Overlap, ChainsOfEveryStreamingConfiguration) {
  const Device device = Device::cuda(0);
  const auto& family = dynamic_cast<const CudaFamily&>(*families::find("cuda_stream"));
  for (const std::int64_t m : {3, 16, 40}) {
    make(m);
    const Problem form = canonical(problem()).problem;
    const auto configurations = family.configurations(form, device);
    std::vector<compile::Source> sources;
    for (const auto& c : configurations) sources.push_back(family.source(form, device, c));
    build_ahead(sources);
    for (const auto& c : configurations) {
      const auto kernel = family.build(form, device, c);
      EXPECT_EQ(run({link(kernel, Early::b)}), "") << family.configuration_name(c) << " m=" << m;
    }
  }
}

TEST_F(Overlap, BehindAndAheadOfOtherWork) {
  const Device device = Device::cuda(0);
  make(16);
  const auto stream = link(first_of("cuda_stream", device), Early::b);
  for (const char* name : {"cuda_simt", "cuda_mma", "cuda_hopper"}) {
    if (families::find(name)->refuse(canonical(problem()).problem, device)) continue;
    for (const Early early : {Early::none, Early::b}) {
      const auto other = link(first_of(name, device), early);
      EXPECT_EQ(run({stream, other}), "") << name;
      EXPECT_EQ(run({other, stream, stream}), "") << name;
    }
  }
}

}  // namespace
}  // namespace gemwright::test
