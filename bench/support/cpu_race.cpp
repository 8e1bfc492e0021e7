#include "support/cpu_race.hpp"

#include "device/cpu/measure.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "families/family.hpp"
#include "model/rank.hpp"
#include "tune/random.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include <time.h>
#include <unistd.h>

namespace gemwright::bench {
namespace {

clockid_t clock_id = CLOCK_MONOTONIC;

double time_once(const Runner& runner, ColdWeights& weights, int runs) {
  const double start = seconds_now();
  for (int run = 0; run < runs; ++run) runner.run(weights.next(runner.weight_bytes));
  return (seconds_now() - start) / runs;
}

std::size_t weight_bytes(const Problem& problem) {
  if (problem.b.packed) return packed_weights_bytes(problem);
  return static_cast<std::size_t>(problem.n * problem.k) *
         static_cast<std::size_t>(size_bytes(problem.b.type));
}

// Grows with what is asked for.
std::shared_ptr<tune::Pages> workspace_of(std::size_t bytes) {
  static std::shared_ptr<tune::Pages> workspace;
  static std::size_t size = 0;
  if (!workspace || size < bytes) {
    size = std::max<std::size_t>(bytes, 1 << 20);
    workspace = std::make_shared<tune::Pages>(size);
  }
  return workspace;
}

}  // namespace

double seconds_now() {
  timespec time{};
  clock_gettime(clock_id, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void count_own_time() {
  clock_id = CLOCK_THREAD_CPUTIME_ID;
}

ColdWeights::ColdWeights(DataType type, std::size_t bytes) : bytes_(bytes), pages_(bytes) {
  const auto period = tune::random_period(type, tune::Input::b, 0x1p-6);
  tune::fill_random(pages_.data(), 0, static_cast<std::int64_t>(bytes) / size_bytes(type), type,
                    period);
}

const void* ColdWeights::next(std::size_t bytes) {
  const std::size_t whole = (bytes + 4095) / 4096 * 4096;
  if (at_ + whole > bytes_) at_ = 0;
  const void* here = pages_.data() + at_;
  at_ += whole;
  return here;
}

Runner reader(const Problem& problem, const Device& device, int threads) {
  const auto bytes = static_cast<std::size_t>(problem.n * problem.k) *
                     static_cast<std::size_t>(size_bytes(problem.b.type));
  return {"read", "read", bytes, [=](const void* weights) {
            const auto* data = static_cast<const std::byte*>(weights);
            constexpr std::size_t kPart = 1 << 20;
            const auto parts = static_cast<int>((bytes + kPart - 1) / kPart);
            cpu::ThreadPool::global().run(parts, threads, [&](int index, int) {
              const std::size_t begin = static_cast<std::size_t>(index) * kPart;
              cpu::read_bytes(device.profile().cpu.features, data + begin,
                              std::min(kPart, bytes - begin));
            });
          }};
}

void add_family(const char* name, const char* group, const Problem& problem, const Device& device,
                const Operands& x, int most, std::vector<Runner>& runners) {
  const Family* family = families::find(name);
  if (family == nullptr || family->refuse(problem, device)) return;
  std::vector<Refusal> refusals;
  std::vector<Candidate> ranked = model::rank(problem, device, refusals);
  std::erase_if(ranked, [&](const Candidate& c) { return c.family != family; });
  for (const Candidate& candidate : model::take_best(ranked, most)) {
    std::shared_ptr<const Kernel> kernel;
    try {
      kernel = family->build(problem, device, candidate.configuration);
    } catch (const Error&) {
      continue;  // oneDNN says only here that it has no fast kernel
    }
    auto workspace = workspace_of(kernel->workspace_bytes(problem));
    runners.push_back({group, label(candidate), weight_bytes(problem), [=](const void* weights) {
                         Operands operands = x;
                         operands.b = weights;
                         kernel->run(problem, operands, workspace->data(), {});
                       }});
  }
}

double Timed::best() const {
  return *std::min_element(seconds.begin(), seconds.end());
}

double Timed::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

tune::Contender Timed::contender(bool rival) const {
  tune::Contender result;
  result.rival = rival;
  for (const double time : seconds) result.samples.push_back(time * 1e6);
  return result;
}

std::vector<Timed> race(const std::vector<Runner>& runners, ColdWeights& weights, double budget) {
  std::vector<Timed> field;
  for (const Runner& runner : runners) field.push_back({&runner, {}});
  const double start = seconds_now();
  constexpr int kRounds = 9;
  constexpr double kLong = 20e-3;
  for (int round = 0; round < kRounds; ++round) {
    std::map<std::string, double> best;
    for (std::size_t i = 0; i < field.size(); ++i) {
      Timed& timed = field[(i + static_cast<std::size_t>(round)) % field.size()];
      double guess = round == 0 ? time_once(*timed.runner, weights, 1) : timed.best();
      if (round == 0 && guess < kLong) guess = time_once(*timed.runner, weights, 1);
      const int runs = std::clamp(static_cast<int>(2e-3 / guess), 1, 50);
      timed.seconds.push_back(round == 0 && runs == 1 ? guess
                                                      : time_once(*timed.runner, weights, runs));
    }
    for (const Timed& timed : field) {
      auto [entry, first] = best.try_emplace(timed.runner->group, timed.best());
      entry->second = std::min(entry->second, timed.best());
    }
    const double limit = round == 0 ? 1.3 : round < 3 ? 1.15 : 1.06;
    std::erase_if(field, [&](const Timed& timed) {
      return timed.best() > limit * best[timed.runner->group];
    });
    if (round >= 1 && seconds_now() - start > budget) break;
  }
  return field;
}

void prepare_peers(char** argv) {
  // libgomp's threads would spin on the cores for milliseconds after each of oneDNN's calls.
  // It reads its environment when it is loaded.
  if (std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  // OpenBLAS 0.3.21 does not know the CPUs that came after it, and falls back to SSE kernels.
  if (Device::cpu().profile().cpu.features.avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  execv("/proc/self/exe", argv);
}

}  // namespace gemwright::bench
