// Validates candidates of one problem where a fault or a hang harms nobody.
#pragma once

#include "model/rank.hpp"
#include "tune/checker.hpp"
#include "tune/worker_process.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gemwright::tune {

/// In a worker process, which is replaced when a candidate kills it or passes its limit; in this
/// process when there is no worker to be had. Not safe from several threads.
class Validator {
 public:
  Validator(const Problem& problem, const Device& device);
  ~Validator();
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  /// Makes operands and reference, unless `stop` says so before they are done. check() does so when
  /// it must; before it, it saves time.
  void prepare(const std::function<bool()>& stop = {});
  /// Seconds that prepare() has taken, all told.
  double preparing_s() const { return preparing_s_; }

  /// Builds the candidate, runs it and checks the result. Undone when `stop` says so before it is
  /// done. That and `limit_s` hold in a worker only.
  Verdict check(const Candidate& candidate, double limit_s, const std::function<bool()>& stop = {});

 private:
  Verdict prepare_worker(const std::function<bool()>& stop);
  Verdict prepare_here();
  Verdict check_in_worker(const std::string& request, double limit_s,
                          const std::function<bool()>& stop);

  const Problem& problem_;
  const Device& device_;
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<Checker> here_;
  bool prepared_ = false;
  double preparing_s_ = 0;
  Verdict unprepared_;  // why, when it could not be prepared
};

}  // namespace gemwright::tune
