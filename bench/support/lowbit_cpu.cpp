#include "support/lowbit_cpu.hpp"

#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "model/cpu_rates.hpp"
#include "support/cpu_race.hpp"
#include "tune/low_bit.hpp"
#include "tune/random.hpp"
#include <gemwright/weights.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace gemwright::bench {
namespace {

// Beyond what a third-level cache keeps of them between two runs, other competitors' in between.
constexpr std::size_t kDenseBytes = std::size_t{960} << 20;
constexpr std::size_t kCodedBytes = std::size_t{320} << 20;

// Copies of a packed weight, to be read in turn.
class Copies {
 public:
  explicit Copies(const Problem& problem)
      : bytes_(packed_weights_bytes(problem)),
        each_((bytes_ + 4095) / 4096 * 4096),
        count_(std::max<std::size_t>(2, kCodedBytes / each_)),
        pages_(each_ * count_) {
    pack_weights(tune::test_weight(problem), pages_.data());
    for (std::size_t i = 1; i < count_; ++i) {
      std::memcpy(pages_.data() + i * each_, pages_.data(), bytes_);
    }
  }
  const void* next() { return pages_.data() + next_++ % count_ * each_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t each_;
  std::size_t count_;
  tune::Pages pages_;
  std::size_t next_ = 0;
};

struct Coded {
  std::string format;
  std::shared_ptr<Copies> copies;
};

Problem layer(std::int64_t m, const Shape& shape, const std::string& format,
              Activations activations) {
  Problem problem =
      Problem::linear(m, shape.n, shape.k, DataType::bf16, parse_weight_format(format));
  problem.activations = activations;
  return canonical(problem).problem;
}

// A and D of one problem and type.
class RowsAndResult {
 public:
  explicit RowsAndResult(const Problem& p)
      : a_(static_cast<std::size_t>(p.m * p.k * size_bytes(p.a.type))),
        d_(static_cast<std::size_t>(p.m * p.n * size_bytes(p.d.type))) {
    tune::fill_random(a_.data(), 0, p.m * p.k, p.a.type,
                      tune::random_period(p.a.type, tune::Input::a, 1));
  }
  Operands operands() { return {.a = a_.data(), .d = d_.data()}; }

 private:
  tune::Pages a_;
  tune::Pages d_;
};

// Best of each competitor, median microseconds.
std::map<std::string, std::pair<double, std::string>> best_of(const std::vector<Timed>& times) {
  std::map<std::string, const Timed*> best;
  for (const Timed& timed : times) {
    const Timed*& entry = best[timed.runner->group];
    if (entry == nullptr || timed.best() < entry->best()) entry = &timed;
  }
  std::map<std::string, std::pair<double, std::string>> result;
  for (const auto& [group, timed] : best) {
    result[group] = {timed->median() * 1e6, timed->runner->kernel};
  }
  return result;
}

class Bench {
 public:
  Bench(const LowBitCpuArguments& arguments, const Device& device, Report& report)
      : arguments_(arguments),
        device_(device),
        threads_(device.profile().cpu.threads),
        report_(report),
        dense_(DataType::bf16, kDenseBytes) {}

  void shape(const Shape& shape, double budget) {
    std::vector<Coded> coded;
    for (const std::string& format : arguments_.formats) {
      coded.push_back(
          {format, std::make_shared<Copies>(layer(1, shape, format, arguments_.activations))});
    }
    for (const std::int64_t m : arguments_.m) {
      measure(m, shape, coded, budget / static_cast<double>(arguments_.m.size()));
      report_.sample_clock();
    }
  }

 private:
  void measure(std::int64_t m, const Shape& shape, const std::vector<Coded>& coded, double budget) {
    const Problem bf16 = Problem::linear(m, shape.n, shape.k, DataType::bf16);
    const Problem f32 = Problem::linear(m, shape.n, shape.k, DataType::f32);
    RowsAndResult narrow(bf16);
    RowsAndResult wide(f32);
    std::vector<Runner> runners = {reader(bf16, device_, threads_)};
    for (const Coded& one : coded)
      add_coded(layer(m, shape, one.format, arguments_.activations), one, narrow, runners);
    Problem packed = bf16;
    packed.b.packed = true;
    add_family("cpu_packed", "own_bf16", packed, device_, narrow.operands(), arguments_.own,
               runners);
    add_family("cpu_vendor", "onednn_plain", bf16, device_, narrow.operands(), 0, runners);
    add_any("onednn_bf16", bf16, narrow, runners);
    add_any("onednn_f32", f32, wide, runners);
    auto times = best_of(race(runners, dense_, budget));
    // Its threads spin for long after a call, so it runs when nobody else does.
    const std::vector<Runner> blas = openblas(f32, wide.operands(), threads_);
    times.merge(best_of(race(blas, dense_, 0)));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const Coded& one : coded) add_row(m, shape, one, times);
  }

  // The race's weights are not for them: a packed weight has a header and scales.
  void add_coded(const Problem& problem, const Coded& coded, RowsAndResult& x,
                 std::vector<Runner>& runners) const {
    std::vector<Runner> own;
    add_family("cpu_lowbit", coded.format.c_str(), problem, device_, x.operands(), arguments_.own,
               own);
    for (Runner& runner : own) {
      runner.weight_bytes = 0;
      runner.run = [run = std::move(runner.run), copies = coded.copies](const void*) {
        run(copies->next());
      };
      runners.push_back(std::move(runner));
    }
  }

  void add_any(const char* group, const Problem& problem, RowsAndResult& x,
               std::vector<Runner>& runners) const {
    for (Runner& runner : onednn_any(problem, x.operands(), threads_)) {
      runner.group = group;
      runners.push_back(std::move(runner));
    }
  }

  void add_row(std::int64_t m, const Shape& shape, const Coded& coded,
               const std::map<std::string, std::pair<double, std::string>>& times) {
    const auto time = [&](const std::string& group) {
      const auto found = times.find(group);
      return found == times.end() ? 0.0 : found->second.first;
    };
    const Problem problem = layer(m, shape, coded.format, arguments_.activations);
    Row row = Row::of(problem);
    row.model = shape.model;
    row.role = shape.role;
    if (time(coded.format) > 0) row.kernel = times.at(coded.format).second;
    const auto dense_bytes = static_cast<double>(shape.n * shape.k * 2);
    const double read = time("read") * static_cast<double>(coded.copies->bytes()) / dense_bytes;
    const CpuProfile& cpu = device_.profile().cpu;
    const double rate = model::flops_per_core(cpu, problem) * threads_;
    const double math = problem.flops() / rate * 1e6;
    double best = 0;
    for (const char* peer : {"onednn_plain", "onednn_bf16", "onednn_f32", "openblas"}) {
      if (time(peer) > 0) best = best > 0 ? std::min(best, time(peer)) : time(peer);
    }
    row.us = {{"chosen", time(coded.format)},
              {"own", time(coded.format)},
              {"own_bf16", time("own_bf16")},
              {"onednn_bf16", time("onednn_bf16")},
              {"onednn_f32", time("onednn_f32")},
              {"openblas", time("openblas")},
              {"read", read},
              {"vendor_first", time("onednn_plain")},
              {"vendor_best", best},
              {"floor", std::max(read, math)}};
    std::erase_if(row.us, [](const auto& entry) { return entry.second <= 0; });
    report_.add(std::move(row));
  }

  const LowBitCpuArguments& arguments_;
  const Device& device_;
  int threads_;
  Report& report_;
  ColdWeights dense_;
};

}  // namespace

void measure_lowbit_cpu(const LowBitCpuArguments& arguments, const Device& device, Report& report) {
  // Before any thread is bound to a core.
  cpu::ThreadPool::global().reserve(device.profile().cpu.threads);
  Bench bench(arguments, device, report);
  const double start = seconds_now();
  std::size_t left = arguments.shapes.size();
  for (const Shape& shape : arguments.shapes) {
    const double remaining = arguments.seconds - (seconds_now() - start);
    // The rest is for packing the weights and for what a race takes beyond its budget.
    bench.shape(shape, std::max(0.1, 0.85 * remaining / static_cast<double>(left--)));
  }
}

}  // namespace gemwright::bench
