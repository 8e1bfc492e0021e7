// Operands in host memory, timed by the steady clock.
#include "device/cpu/helpers.hpp"
#include "device/profile.hpp"
#include "tune/cpu_clock.hpp"
#include "tune/low_bit.hpp"
#include "tune/memory.hpp"
#include "tune/random.hpp"
#include "tune/testbed.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

namespace gemwright::tune {
namespace {

// Keeps the calling thread on its core for a single-threaded timing. Kernels of more threads may
// start these within a run, and they would inherit the pin.
class Pinned {
 public:
  explicit Pinned(bool wanted) {
    cpu_set_t before;
    const int core = sched_getcpu();
    if (!wanted || core < 0 || sched_getaffinity(0, sizeof before, &before) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) before_ = before;
  }
  ~Pinned() {
    if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

// Page faults cost more than copying, and they scale with threads.
void fill_parallel(std::byte* out, std::int64_t elements, DataType type,
                   const std::vector<std::byte>& period, int threads) {
  constexpr std::int64_t kChunk = std::int64_t{8} << 20;
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t at = next.fetch_add(kChunk); at < elements; at = next.fetch_add(kChunk)) {
      fill_random(out + at * size_bytes(type), at, std::min(kChunk, elements - at), type, period);
    }
  };
  const std::int64_t chunks = (elements + kChunk - 1) / kChunk;
  const auto wanted = std::max<std::int64_t>(std::min<std::int64_t>(threads, chunks), 1) - 1;
  const auto helpers = cpu::start_helpers(static_cast<std::size_t>(wanted), work);
  work();
}

// Before anything is filled, which may take minutes.
void check_fits(const Problem& p, int copies) {
  const auto bytes = [&p](const Operand& operand, std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(storage_bytes(p, operand, rows, cols));
  };
  double needed = bytes(p.a, p.m, p.k) + copies * bytes(p.b, p.k, p.n) + bytes(p.d, p.m, p.n);
  if (p.c) needed += bytes(*p.c, p.m, p.n);
  const auto left = static_cast<double>(available_memory());
  if (needed < left) return;
  constexpr double kMiB = 1 << 20;
  throw OutOfMemory(
      fmt::format("test operands of {:.0f} MiB do not fit into the {:.0f} MiB of memory left",
                  needed / kMiB, left / kMiB));
}

class CpuTestbed final : public Testbed {
 public:
  CpuTestbed(const Problem& problem, const Device& device, const TestbedOptions& options);

  int copies() const override { return static_cast<int>(operands_.size()); }
  void poison() override;
  void run(const Kernel& kernel, bool fresh) override;
  std::span<const std::byte> output() override;
  Written written() override { return look_through(problem_.d.type, output(), all_threads_); }
  std::vector<double> values(std::span<const std::int64_t> places) override {
    return values_at(problem_.d.type, output(), places);
  }
  std::unique_ptr<Rotation> rotation(std::shared_ptr<const Kernel> kernel, int runs) override;
  double clock_ghz() override { return cpu_clock_ghz(); }

  const Problem& problem() const { return problem_; }
  // The copy that was used longest ago, whoever used it: kernels that each went round on their own
  // would now and then meet what another has just brought into the cache, and look twice as fast.
  const Operands& coldest() {
    const Operands& next = operands_[static_cast<std::size_t>(next_copy_)];
    if (++next_copy_ == copies()) next_copy_ = 0;
    return next;
  }
  bool single_threaded() const { return threads_ == 1; }

 private:
  std::byte* place(std::int64_t bytes, std::int64_t offset, const Operand& operand);
  const void* fill(const Operand& operand, std::int64_t rows, std::int64_t cols,
                   const std::vector<std::byte>& period);
  const void* fill_packed_b(const std::vector<std::byte>& period);
  const void* fill_bias();

  Problem problem_;
  int threads_;
  int all_threads_;
  bool guard_pages_;
  std::vector<Pages> pages_;
  std::vector<Operands> operands_;  // one a copy of B
  std::byte* output_ = nullptr;
  std::size_t output_bytes_ = 0;
  Pages workspace_;
  std::size_t workspace_bytes_ = 0;
  int next_copy_ = 0;
};

class CpuRotation final : public Rotation {
 public:
  CpuRotation(CpuTestbed& testbed, std::shared_ptr<const Kernel> kernel, int runs)
      : testbed_(testbed),
        kernel_(std::move(kernel)),
        workspace_(kernel_->workspace_bytes(testbed.problem())),
        runs_(runs) {}

  double seconds() override {
    const Pinned pinned(testbed_.single_threaded());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs_; ++i) {
      kernel_->run(testbed_.problem(), testbed_.coldest(), workspace_.data(), {});
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count();
  }

 private:
  CpuTestbed& testbed_;
  std::shared_ptr<const Kernel> kernel_;
  Pages workspace_;
  int runs_;
};

CpuTestbed::CpuTestbed(const Problem& problem, const Device& device, const TestbedOptions& options)
    : problem_(problem),
      threads_(device.profile().cpu.threads),
      all_threads_(device.profile().cpu.cores),
      guard_pages_(options.guard_pages) {
  const int copies = options.copies > 0 ? options.copies
                                        : rotating_copies(problem, device.profile().cpu.l3_bytes,
                                                          available_memory() / 4);
  check_fits(problem, copies);
  const auto period = [&](Input input, const Operand& operand, std::int64_t rows,
                          std::int64_t cols) {
    return random_period(operand.type, input, input_scale(problem, input),
                         storage_bytes(problem, operand, rows, cols) / size_bytes(operand.type));
  };
  Operands shared;
  shared.a =
      fill(problem.a, problem.m, problem.k, period(Input::a, problem.a, problem.m, problem.k));
  if (problem.c) {
    shared.c =
        fill(*problem.c, problem.m, problem.n, period(Input::c, *problem.c, problem.m, problem.n));
  }
  if (problem.bias != Bias::none) shared.bias = fill_bias();
  const std::int64_t d_bytes = storage_bytes(problem, problem.d, problem.m, problem.n);
  output_bytes_ = static_cast<std::size_t>(d_bytes + 2 * kGuardBytes);
  const std::int64_t d_offset = base_offset(problem.d);
  pages_.emplace_back(output_bytes_ + static_cast<std::size_t>(d_offset));
  output_ = pages_.back().data() + d_offset;
  shared.d = output_ + kGuardBytes;
  const std::vector<std::byte> b_period = period(Input::b, problem.b, problem.k, problem.n);
  for (int copy = 0; copy < copies; ++copy) {
    operands_.push_back(shared);
    operands_.back().b = problem.b.packed ? fill_packed_b(b_period)
                                          : fill(problem.b, problem.k, problem.n, b_period);
  }
}

std::byte* CpuTestbed::place(std::int64_t bytes, std::int64_t offset, const Operand& operand) {
  if (!guard_pages_) {
    pages_.emplace_back(static_cast<std::size_t>(bytes + offset));
    return pages_.back().data() + offset;
  }
  // The end lies on the guard page; the start is then aligned to no more than what is promised.
  const auto alignment = static_cast<std::size_t>(operand.packed ? 64 : operand.alignment);
  pages_.emplace_back(static_cast<std::size_t>(bytes), true, alignment);
  return pages_.back().data();
}

const void* CpuTestbed::fill(const Operand& operand, std::int64_t rows, std::int64_t cols,
                             const std::vector<std::byte>& period) {
  const std::int64_t bytes = storage_bytes(problem_, operand, rows, cols);
  std::byte* to = place(bytes, base_offset(operand), operand);
  fill_parallel(to, bytes / size_bytes(operand.type), operand.type, period, all_threads_);
  return to;
}

const void* CpuTestbed::fill_packed_b(const std::vector<std::byte>& period) {
  const std::int64_t bytes = storage_bytes(problem_, problem_.b, problem_.k, problem_.n);
  std::byte* to = place(bytes, 0, problem_.b);
  if (operands_.size() > 1) {  // packing takes far longer than copying
    std::memcpy(to, operands_.front().b, static_cast<std::size_t>(bytes));
    return to;
  }
  if (problem_.weight) {
    pack_weights(test_weight(problem_), to);
    return to;
  }
  Problem plain = problem_;
  plain.b = {.type = problem_.b.type, .row_stride = problem_.n, .col_stride = 1};
  const std::int64_t elements = problem_.k * problem_.n;
  const Pages from(static_cast<std::size_t>(elements * size_bytes(plain.b.type)));
  fill_parallel(from.data(), elements, plain.b.type, period, all_threads_);
  pack_weights(plain, from.data(), to);
  return to;
}

const void* CpuTestbed::fill_bias() {
  const std::int64_t entries = problem_.bias == Bias::per_row ? problem_.m : problem_.n;
  const Operand as_operand{.type = problem_.bias_type};
  std::byte* to = place(entries * size_bytes(problem_.bias_type), 0, as_operand);
  fill_random(to, 0, entries, problem_.bias_type,
              random_period(problem_.bias_type, Input::bias, 1, entries));
  return to;
}

void CpuTestbed::poison() {
  std::memset(output_, static_cast<int>(kPoison), output_bytes_);
}

void CpuTestbed::run(const Kernel& kernel, bool fresh) {
  const std::size_t bytes = kernel.workspace_bytes(problem_);
  if (bytes > workspace_bytes_) {
    workspace_ = Pages(bytes);
    workspace_bytes_ = bytes;
  } else if (fresh && bytes > 0) {
    std::memset(workspace_.data(), 0, bytes);
  }
  kernel.run(problem_, operands_.front(), workspace_.data(), {});
}

std::span<const std::byte> CpuTestbed::output() {
  return {output_, output_bytes_};
}

std::unique_ptr<Rotation> CpuTestbed::rotation(std::shared_ptr<const Kernel> kernel, int runs) {
  return std::make_unique<CpuRotation>(*this, std::move(kernel), runs);
}

}  // namespace

std::unique_ptr<Testbed> make_cpu_testbed(const Problem& problem, const Device& device,
                                          const TestbedOptions& options) {
  return std::make_unique<CpuTestbed>(problem, device, options);
}

}  // namespace gemwright::tune
