// cuda_stream: every configuration at awkward sizes, one kernel for every M of its class, equal
// results from run to run.
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/gemm_case.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gemwright::test {
namespace {

class CudaStream : public GpuTest {
 protected:
  const CudaFamily& family() const {
    return dynamic_cast<const CudaFamily&>(*families::find("cuda_stream"));
  }

  // A linear layer with weights as [N,K], or as [K,N].
  static Problem layer(std::int64_t m, std::int64_t n, std::int64_t k, bool along_k) {
    return along_k ? Problem::linear(m, n, k, DataType::bf16)
                   : Problem::mm(m, n, k, DataType::bf16);
  }

  void check_all(const std::vector<Problem>& problems, Fill fill = Fill::normal) {
    const Device device = Device::cuda(0);
    compile_all(problems, device);
    for (const Problem& problem : problems) {
      const Problem form = canonical(problem).problem;
      ASSERT_FALSE(family().refuse(form, device)) << *family().refuse(form, device);
      memory_.clear();
      Fixture fixture({key(form), problem, fill, false}, memory_);
      for (const auto& configuration : family().configurations(form, device)) {
        EXPECT_EQ(check(family(), device, configuration, fixture), "");
      }
    }
  }

  void compile_all(const std::vector<Problem>& problems, const Device& device) {
    std::vector<compile::Source> sources;
    for (const Problem& problem : problems) {
      const Problem form = canonical(problem).problem;
      for (const auto& configuration : family().configurations(form, device)) {
        sources.push_back(family().source(form, device, configuration));
      }
    }
    build_ahead(sources);
  }

  void run(const Kernel& kernel, const Problem& problem, const Fixture& fixture) {
    const Canonical form = canonical(problem);
    const Operands given = fixture.operands();
    const Operands operands = form.swapped ? given.transposed() : given;
    kernel.run(form.problem, operands, nullptr, memory_.stream());
  }

  DeviceMemory memory_;
};

TEST_F(CudaStream, EveryConfigurationAtAwkwardSizes) {
  std::vector<Problem> problems;
  for (const std::int64_t m : {1, 9, 40}) {
    for (const bool along_k : {true, false}) {
      if (!along_k && m > 16) continue;
      // More tiles than fit at once; one; K that ends inside a step, in the first stage, nowhere.
      problems.push_back(layer(m, 17000, 136, along_k));
      problems.push_back(layer(m, 72, 1000, along_k));
      problems.push_back(layer(m, 1048, 2048, along_k));
      problems.push_back(layer(m, 64, 8, along_k));
    }
  }
  check_all(problems);
}

TEST_F(CudaStream, BatchesWithOwnAndSharedOperands) {
  std::vector<Problem> problems;
  for (const std::int64_t m : {3, 40}) {
    Problem problem = Problem::linear(m, 520, 264, DataType::bf16);
    problem.batch = 5;
    problem.a.batch_stride = m * problem.k;
    problem.d.batch_stride = m * problem.n;
    problem.b.batch_stride = problem.n * problem.k;
    problems.push_back(problem);
    problem.a.batch_stride = 0;
    problems.push_back(problem);
  }
  check_all(problems);
}

TEST_F(CudaStream, Fp32InputsAsTf32) {
  // Small integers are exact in tf32, so that only an indexing mistake shows.
  std::vector<Problem> problems;
  for (const std::int64_t m : {5, 16, 40}) {
    problems.push_back(Problem::linear(m, 1048, 268, DataType::f32));
    problems.back().allow_tf32 = true;
  }
  check_all(problems, Fill::integers);
}

TEST_F(CudaStream, OneKernelServesEveryMOfItsClass) {
  const Device device = Device::cuda(0);
  for (const std::int64_t largest : {8, 32}) {
    const Problem built = canonical(layer(largest, 2056, 1032, true)).problem;
    compile_all({built}, device);
    const auto configurations = family().configurations(built, device);
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (const auto& configuration : configurations) {
      kernels.push_back(family().build(built, device, configuration));
    }
    for (std::int64_t m = largest / 2 + 1; m <= largest; m += 3) {
      memory_.clear();
      const Problem problem = layer(m, 2056, 1032, true);
      const Problem form = canonical(problem).problem;
      Fixture fixture({key(form), problem, Fill::normal, false}, memory_);
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        ASSERT_TRUE(kernels[i]->serves(form)) << key(form);
        fixture.reset();
        run(*kernels[i], problem, fixture);
        EXPECT_EQ(fixture.compare(), "") << family().configuration_name(configurations[i]);
      }
    }
  }
}

TEST_F(CudaStream, SameBitsEveryRun) {
  const Device device = Device::cuda(0);
  for (const std::int64_t m : {4, 48}) {
    const Problem problem = layer(m, 4096, 4096, true);
    const Problem form = canonical(problem).problem;
    compile_all({problem}, device);
    Fixture fixture({"bits", problem, Fill::normal, false}, memory_);
    for (const auto& configuration : family().configurations(form, device)) {
      const auto kernel = family().build(form, device, configuration);
      std::vector<std::byte> first;
      for (int i = 0; i < 5; ++i) {
        fixture.reset();
        run(*kernel, problem, fixture);
        auto bits = fixture.output();
        if (i == 0)
          first = std::move(bits);
        else
          ASSERT_EQ(bits, first) << family().configuration_name(configuration);
      }
    }
  }
}

}  // namespace
}  // namespace gemwright::test
