// What plans hold.
#pragma once

#include "families/family.hpp"
#include "plan/execute.hpp"
#include "tune/rule.hpp"
#include <gemwright/plan.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gemwright {

class Plan::Impl {
 public:
  Impl(const Problem& given, const Canonical& form, const Device& device,
       std::shared_ptr<const Kernel> kernel, Explanation explanation,
       std::string candidates_json = {}, std::optional<tune::Ruling> ruling = {});
  /// Reads a stored plan's evidence at the first call.
  const Explanation& explanation() const;

  Problem given;
  Canonical form;
  std::shared_ptr<const Kernel> kernel;  // null only for a problem with no output
  std::string name;
  mutable WorkspacePool pool;

 private:
  void complete_explanation() const;

  const std::string candidates_json_;  // Record::candidates_json; empty unless from the store
  const std::optional<tune::Ruling> ruling_;  // of what was measured just now
  mutable std::once_flag completed_;
  mutable Explanation explanation_;
};

class PlanSet::Impl {
 public:
  /// Kernel `kernel` serves every M from the previous step's last_m + 1 to last_m.
  struct Step {
    std::int64_t last_m;
    int kernel;
  };

  Impl(const Problem& given, std::int64_t min_m, std::int64_t max_m, const Device& device,
       std::vector<Plan> plans, std::vector<Step> steps, std::size_t workspace_bytes);
  const Plan& plan_of(std::int64_t m) const;

  Problem given;
  std::int64_t min_m;
  std::int64_t max_m;
  std::vector<Plan> plans;
  std::vector<Step> steps;  // by last_m
  mutable WorkspacePool pool;
};

}  // namespace gemwright
