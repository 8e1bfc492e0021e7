#include "tune/validator.hpp"

#include "device/profile.hpp"
#include "log/log.hpp"
#include "tune/stopwatch.hpp"
#include "tune/worker_pool.hpp"
#include <gemwright/errors.hpp>

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gemwright::tune {
namespace {

using nlohmann::json;

constexpr double kPrepareLimit = 120;
constexpr double kReleaseLimit = 5;

std::string device_text(const Device& device) {
  if (device.kind() == DeviceKind::cuda) return fmt::format("cuda:{}", device.ordinal());
  return fmt::format("cpu:{}", device.profile().cpu.threads);
}

Verdict parse_verdict(const std::string& line) {
  try {
    const json message = json::parse(line);
    return {parse_kind(message.at("kind").get<std::string>()), message.value("reason", "")};
  } catch (const std::exception& error) {
    return {Verdict::Kind::undone, std::string("the worker's reply: ") + error.what()};
  }
}

}  // namespace

Validator::Validator(const Problem& problem, const Device& device)
    : problem_(problem), device_(device) {}

Validator::~Validator() {
  if (!worker_) return;
  const auto answer = worker_->ask(json{{"release", true}}.dump(), kReleaseLimit);
  if (answer.state == WorkerProcess::State::answered) {
    WorkerPool::instance().give_back(std::move(worker_));
  }
}

void Validator::prepare(const std::function<bool()>& stop) {
  if (prepared_) return;
  const Stopwatch spent;
  if (!here_ && !worker_) worker_ = WorkerPool::instance().take();
  const double started = spent.seconds();
  unprepared_ = worker_ ? prepare_worker(stop) : prepare_here();
  prepared_ = unprepared_.kind == Verdict::Kind::right;
  preparing_s_ += spent.seconds();
  log::debug("worker there after {:.0f} ms, operands and reference after {:.0f} ms", 1e3 * started,
             1e3 * spent.seconds());
}

Verdict Validator::prepare_worker(const std::function<bool()>& stop) {
  const std::string request =
      json{{"problem", key(problem_)}, {"device", device_text(device_)}}.dump();
  const auto answer = worker_->ask(request, kPrepareLimit, stop);
  if (answer.state == WorkerProcess::State::answered) return parse_verdict(answer.text);
  worker_.reset();
  return {Verdict::Kind::memory, "the worker " + answer.text + " while it made the operands"};
}

Verdict Validator::prepare_here() {
  here_.emplace(false);
  try {
    here_->prepare(problem_, device_);
    return {};
  } catch (const OutOfMemory& error) {
    return {Verdict::Kind::memory, error.what()};
  } catch (const std::bad_alloc&) {
    return {Verdict::Kind::memory, "out of memory"};
  } catch (const Error& error) {
    return {Verdict::Kind::undone, error.what()};
  }
}

Verdict Validator::check(const Candidate& candidate, double limit_s,
                         const std::function<bool()>& stop) {
  const std::string request =
      json{{"family", candidate.family->name()},
           {"configuration",
            json::parse(families::to_json(*candidate.family, candidate.configuration))}}
          .dump();
  Verdict verdict;
  // What an earlier candidate left behind may have killed the worker, and a machine that stood
  // still may have made it late: a second try, in a fresh one, tells whose fault it is.
  for (int attempt = 0; attempt < 2; ++attempt) {
    prepare(stop);
    if (!prepared_) return unprepared_;
    if (here_) return here_->check(*candidate.family, candidate.configuration);
    verdict = check_in_worker(request, limit_s, stop);
    if (verdict.kind != Verdict::Kind::fault && verdict.kind != Verdict::Kind::hang) break;
  }
  return verdict;
}

Verdict Validator::check_in_worker(const std::string& request, double limit_s,
                                   const std::function<bool()>& stop) {
  const auto answer = worker_->ask(request, limit_s, stop);
  Verdict verdict;
  switch (answer.state) {
    case WorkerProcess::State::answered:
      verdict = parse_verdict(answer.text);
      break;
    case WorkerProcess::State::late:
      verdict = {Verdict::Kind::hang, fmt::format("did not end within {:.1f} s", limit_s)};
      break;
    case WorkerProcess::State::stopped:
      verdict = {Verdict::Kind::undone, "stopped before it was done"};
      break;
    case WorkerProcess::State::died:
      // Killed from outside, most likely for the memory of the machine.
      verdict = {answer.killed ? Verdict::Kind::memory : Verdict::Kind::fault,
                 "the worker process " + answer.text};
      break;
  }
  const bool reusable =
      answer.state == WorkerProcess::State::answered && verdict.kind != Verdict::Kind::fault;
  if (!reusable) {
    log::info("worker {} is replaced: {}", worker_->pid(), verdict.reason);
    worker_.reset();
    prepared_ = false;
  }
  return verdict;
}

}  // namespace gemwright::tune
