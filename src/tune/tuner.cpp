#include "tune/tuner.hpp"

#include "device/cpu/helpers.hpp"
#include "log/log.hpp"
#include "tune/build.hpp"
#include "tune/channel.hpp"
#include "tune/decide.hpp"
#include "tune/failures.hpp"
#include "tune/memory.hpp"
#include "tune/stopwatch.hpp"
#include "tune/turn.hpp"
#include "tune/validator.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Of the time limit, what may be gone before measuring must begin.
constexpr double kShareBeforeMeasuring = 0.6;
// Seconds for which another process that tunes is waited for.
constexpr double kPatience = 60;

// Seconds for a candidate in the worker: where kernels are compiled there, and where they are not.
constexpr double kCompiled = 10;
constexpr double kPrebuilt = 2;
// Bytes a second at which a CPU's candidate may touch memory: a virtual machine whose host takes
// free pages back got them again at 0.3 GB/s.
constexpr double kFirstTouch = 0.25e9;

class Tuning {
 public:
  explicit Tuning(const Request& request)
      : request_(request),
        failures_(request.database, *request.problem, *request.device, request.retry_failed),
        policy_(request.policy.value_or(policy_of(request.device->kind()))),
        start_(Clock::now()),
        left_(request.candidates) {}

  Result run() {
    build_and_validate();
    validated_s_ = elapsed_s();
    measure();
    if (result_.chosen < 0) choose_unmeasured();
    judge();
    log_times();
    return std::move(result_);
  }

 private:
  std::vector<std::size_t> add_next();
  void build_and_validate();
  void build_and_validate(const std::vector<std::size_t>& indices, Validator& validator);
  bool all_failed() const;
  void take(Outcome& outcome, Built built);
  void validate(std::size_t index, Validator& validator);
  std::optional<Surroundings> time(std::vector<Timed>& timed) const;
  void measure();
  void leave_out_too_large();
  void choose_unmeasured();
  void judge();
  void fail(Outcome& outcome, const Verdict& verdict);
  void log_times() const;

  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool cancelled() const { return request_.cancelled && request_.cancelled(); }
  bool stop_after(double share) const {
    return elapsed_s() > share * request_.time_limit_s || cancelled();
  }
  void progress(int done, const std::string& text) const {
    const int total = 2 * static_cast<int>(result_.outcomes.size());
    if (request_.progress) request_.progress(done, total, text);
  }
  bool is_incumbent(const Candidate& candidate) const {
    return request_.incumbent >= 0 &&
           label(candidate) ==
               label(request_.candidates[static_cast<std::size_t>(request_.incumbent)]);
  }
  // Why something was left out, the first reason given.
  void lack(const std::string& reason) {
    if (lacking_.empty()) lacking_ = reason;
  }
  std::string unmeasured() const;
  std::string hurry() const {
    return cancelled() ? "interrupted" : fmt::format("time limit {:g} s", request_.time_limit_s);
  }
  double limit_s(const Candidate& candidate) const {
    const bool compiles = request_.device->kind() == DeviceKind::cuda;
    const double least = request_.candidate_limit_s.value_or(compiles ? kCompiled : kPrebuilt);
    const double touching = compiles ? 0 : request_.problem->bytes() / kFirstTouch;
    return std::max(least + touching, 50e-6 * candidate.estimate.us);
  }

  const Request& request_;
  Failures failures_;
  Policy policy_;
  Clock::time_point start_;
  std::vector<Candidate> left_;  // of the request, not among the outcomes yet
  int incumbent_ = -1;           // of the outcomes
  int done_ = 0;                 // candidates checked
  // Seconds, for the log.
  double validated_s_ = 0;  // from the start until all were
  double slowest_build_s_ = 0;
  double preparing_s_ = 0;
  double checking_s_ = 0;
  Result result_;
  std::vector<bool> right_;  // of the outcomes, once validated
  std::string lacking_;      // why candidates were not measured
};

// Makes outcomes of the next candidates; which of them are to be tried.
std::vector<std::size_t> Tuning::add_next() {
  std::vector<std::size_t> indices;
  const auto barred = [&](const Candidate& one) { return !failures_.remembered(one).empty(); };
  for (const Candidate& candidate : model::take_best(left_, request_.own, barred)) {
    const std::size_t index = result_.outcomes.size();
    result_.outcomes.push_back({candidate, nullptr, 0, 0, failures_.remembered(candidate)});
    if (result_.outcomes.back().failure.empty()) indices.push_back(index);
    if (is_incumbent(candidate)) incumbent_ = static_cast<int>(index);
  }
  right_.resize(result_.outcomes.size(), false);
  return indices;
}

bool Tuning::all_failed() const {
  return std::none_of(result_.outcomes.begin(), result_.outcomes.end(),
                      [](const Outcome& outcome) { return outcome.failure.empty(); });
}

void Tuning::build_and_validate() {
  Validator validator(*request_.problem, *request_.device);
  do {
    build_and_validate(add_next(), validator);
  } while (all_failed() && !left_.empty() && !stop_after(kShareBeforeMeasuring));
  preparing_s_ = validator.preparing_s();
}

// Each is validated as soon as it is built, while others still compile; the worker makes its
// operands meanwhile.
void Tuning::build_and_validate(const std::vector<std::size_t>& indices, Validator& validator) {
  std::vector<const Candidate*> candidates;
  candidates.reserve(indices.size());
  for (const std::size_t i : indices) candidates.push_back(&result_.outcomes[i].candidate);
  Channel<std::pair<std::size_t, Built>> built;
  const auto build = [&] {
    build_each(
        *request_.problem, *request_.device, candidates,
        [&] { return stop_after(kShareBeforeMeasuring); },
        [&](std::size_t i, Built one) {
          built.push({indices[i], std::move(one)});
        });
    built.close();
  };
  const auto building = cpu::start_helpers(1, build);
  if (building.empty()) build();
  validator.prepare([&] { return stop_after(kShareBeforeMeasuring); });
  while (auto one = built.pop()) {
    Outcome& outcome = result_.outcomes[one->first];
    take(outcome, std::move(one->second));
    validate(one->first, validator);
    progress(++done_, "checked " + label(outcome.candidate));
  }
  for (const std::size_t i : indices) {
    if (!result_.outcomes[i].kernel && result_.outcomes[i].failure.empty()) lack(hurry());
  }
}

void Tuning::take(Outcome& outcome, Built built) {
  slowest_build_s_ = std::max(slowest_build_s_, built.seconds);
  outcome.kernel = std::move(built.kernel);
  if (outcome.kernel) return;
  fail(outcome,
       {built.out_of_memory ? Verdict::Kind::memory : Verdict::Kind::build, built.failure});
}

void Tuning::validate(std::size_t index, Validator& validator) {
  Outcome& outcome = result_.outcomes[index];
  if (!outcome.kernel) return;
  if (stop_after(kShareBeforeMeasuring)) {
    lack(hurry());
    return;
  }
  const bool any_right = std::find(right_.begin(), right_.end(), true) != right_.end();
  const double left = kShareBeforeMeasuring * request_.time_limit_s - elapsed_s();
  if (any_right && 3e-6 * outcome.candidate.estimate.us > left) {
    log::info("{} is not tried: predicted to take {:.0f} ms", label(outcome.candidate),
              outcome.candidate.estimate.us * 1e-3);
    lack(hurry());
    return;
  }
  const Stopwatch spent;
  const Verdict verdict =
      validator.check(outcome.candidate, limit_s(outcome.candidate), [&] { return stop_after(1); });
  checking_s_ += spent.seconds();
  log::debug("{} checked in {:.0f} ms", label(outcome.candidate), 1e3 * spent.seconds());
  if (verdict.kind == Verdict::Kind::right) {
    right_[index] = true;
  } else if (verdict.kind != Verdict::Kind::undone && verdict.kind != Verdict::Kind::memory) {
    outcome.kernel.reset();
    fail(outcome, verdict);
  } else {
    log::warn("{} was not validated: {}", label(outcome.candidate), verdict.reason);
    lack(stop_after(kShareBeforeMeasuring) ? hurry() : verdict.reason);
  }
}

// What comes before measuring is done side by side: the longest of these decides.
void Tuning::log_times() const {
  log::info(
      "{}: {:.0f} ms to build and validate (slowest build {:.0f}, operands and reference {:.0f}, "
      "{} checks {:.0f}), {:.0f} ms to measure",
      key(*request_.problem), 1e3 * validated_s_, 1e3 * slowest_build_s_, 1e3 * preparing_s_, done_,
      1e3 * checking_s_, 1e3 * (elapsed_s() - validated_s_));
}

std::optional<Surroundings> Tuning::time(std::vector<Timed>& timed) const {
  const auto stop = [&] { return stop_after(1); };
  if (request_.measure) return request_.measure(timed, policy_, stop);
  return tune::measure(*request_.problem, *request_.device, timed, policy_, stop);
}

void Tuning::measure() {
  std::vector<Timed> timed;
  std::vector<std::size_t> indices;
  bool vendor_seen = false;
  for (std::size_t i = 0; i < result_.outcomes.size(); ++i) {
    if (!right_[i]) continue;
    const Outcome& outcome = result_.outcomes[i];
    const bool vendor = outcome.candidate.family->vendor();
    Timed& added = timed.emplace_back();
    added.family = outcome.candidate.family;
    added.kernel = outcome.kernel;
    added.label = label(outcome.candidate);
    added.contender.always_final = vendor && !vendor_seen;
    added.contender.rival = vendor;
    vendor_seen = vendor_seen || vendor;
    indices.push_back(i);
  }
  if (timed.empty() || stop_after(1)) return;
  const int count = static_cast<int>(result_.outcomes.size());
  progress(count, fmt::format("measuring {} candidates", timed.size()));
  try {
    if (const auto surroundings = time(timed)) {
      decide(result_, timed, indices, incumbent_, policy_, *surroundings);
    } else {
      lack("no memory for its operands");
    }
  } catch (const std::exception& error) {
    lack(error.what());
    log::warn("{} was not measured: {}", key(*request_.problem), error.what());
  }
  const std::string none = unmeasured();
  progress(
      2 * count,
      result_.chosen >= 0
          ? "chose " + label(result_.outcomes[static_cast<std::size_t>(result_.chosen)].candidate)
      : none.empty() ? "every candidate failed"
                     : none);
}

// Untried kernels whose workspace there is no memory for.
void Tuning::leave_out_too_large() {
  if (request_.device->kind() != DeviceKind::cpu) return;
  for (Outcome& outcome : result_.outcomes) {
    if (!outcome.kernel) continue;
    const std::size_t bytes = outcome.kernel->workspace_bytes(*request_.problem);
    if (workspace_fits(bytes)) continue;
    outcome.kernel.reset();
    fail(outcome, {Verdict::Kind::memory,
                   fmt::format("a workspace of {} MiB does not fit into memory", bytes >> 20)});
  }
}

// "3 of 7 candidates not measured"; empty when all that did not fail were.
std::string Tuning::unmeasured() const {
  const auto count = std::count_if(
      result_.outcomes.begin(), result_.outcomes.end(),
      [](const Outcome& outcome) { return outcome.best_us <= 0 && outcome.failure.empty(); });
  if (count == 0) return {};
  return fmt::format("{} of {} candidates not measured", count, result_.outcomes.size());
}

void Tuning::choose_unmeasured() {
  leave_out_too_large();
  const auto first = [&](const auto& wanted) {
    for (std::size_t i = 0; i < result_.outcomes.size() && result_.chosen < 0; ++i) {
      if (wanted(i)) result_.chosen = static_cast<int>(i);
    }
  };
  first([&](std::size_t i) { return right_[i] && result_.outcomes[i].failure.empty(); });
  first([&](std::size_t i) { return result_.outcomes[i].kernel != nullptr; });
  if (result_.chosen >= 0) {
    log::warn("{}: {} is chosen unmeasured", key(*request_.problem),
              label(result_.outcomes[static_cast<std::size_t>(result_.chosen)].candidate));
  }
}

// What the answer lacks, and whether it is to be kept. One that the time limit cut short is, and
// one whose times did not repeat, both marked: asking again would only spend that time again, until
// a longer limit is given.
void Tuning::judge() {
  if (result_.chosen < 0) return;
  const bool measured = result_.outcomes[static_cast<std::size_t>(result_.chosen)].best_us > 0;
  const bool late = elapsed_s() > kShareBeforeMeasuring * request_.time_limit_s;
  if (result_.disturbed) {
    result_.note =
        fmt::format("times did not repeat: something else uses this device; {} stays",
                    result_.chosen == incumbent_ ? "the earlier answer" : "the model's choice");
  } else if (const std::string text = unmeasured(); !text.empty()) {
    result_.note = text + ": " + (lacking_.empty() ? hurry() : lacking_);
  } else if (stop_after(1)) {
    result_.note = "measured in few rounds: " + hurry();
  }
  if (result_.disturbed || (!result_.note.empty() && (late || cancelled()))) {
    result_.cut_s = cancelled() ? elapsed_s() : request_.time_limit_s;
  }
  if (result_.others > 0) {
    result_.note +=
        fmt::format("{}machine busy (others {:.0f} % of the CPUs): smaller leads not counted",
                    result_.note.empty() ? "" : "; ", 100 * result_.others);
  }
  const bool right = right_[static_cast<std::size_t>(result_.chosen)];
  result_.lasting = measured || (right && late && !cancelled());
}

void Tuning::fail(Outcome& outcome, const Verdict& verdict) {
  outcome.failure = fmt::format("{}: {}", name(verdict.kind), verdict.reason);
  log::warn("{} is dropped: {}", label(outcome.candidate), outcome.failure);
  result_.short_of_memory = result_.short_of_memory || verdict.kind == Verdict::Kind::memory;
  failures_.remember(outcome.candidate, verdict);
}

}  // namespace

Result tune(const Request& request) {
  const Turn turn(*request.device, std::max(kPatience, 2 * request.time_limit_s),
                  request.cancelled);
  return Tuning(request).run();
}

}  // namespace gemwright::tune
