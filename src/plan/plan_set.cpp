// A plan set: kernels for a range of M, tuned at a few M and interpolated between.
#include "plan/build.hpp"
#include "plan/plan_impl.hpp"
#include "store/database.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/planner.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gemwright {
namespace {

Problem with_m(const Problem& problem, std::int64_t m) {
  Problem result = problem;
  result.m = m;
  return result;
}

// Powers of two between the ends, and the ends.
std::vector<std::int64_t> grid(std::int64_t min_m, std::int64_t max_m) {
  std::vector<std::int64_t> points{min_m};
  for (std::int64_t m = 1; m < max_m; m *= 2) {
    if (m > min_m) points.push_back(m);
  }
  if (max_m > min_m) points.push_back(max_m);
  return points;
}

// Whether the kernel runs the problem for every M between, ends included.
bool serves_all(const Plan& plan, const Problem& problem, std::int64_t first, std::int64_t last) {
  for (std::int64_t m = first; m <= last; ++m) {
    if (!plan.impl().kernel->serves(canonical(with_m(problem, m)).problem)) return false;
  }
  return true;
}

// The candidate that an explanation names.
std::optional<Candidate> find(const CandidateReport& report, const Problem& own,
                              const Device& device) {
  const Family* family = families::find(report.family);
  if (family == nullptr) return std::nullopt;
  for (const Configuration& configuration : family->configurations(own, device)) {
    if (family->configuration_name(configuration) == report.configuration) {
      return Candidate{family, configuration, {}};
    }
  }
  return std::nullopt;
}

// The model's prediction of a plan's kernel at another M, corrected by what was measured at its
// own.
class Prediction {
 public:
  Prediction(const Plan& plan, const Device& device) : device_(device) {
    const CandidateReport& chosen = plan.explanation().chosen;
    named_ = find(chosen, plan.impl().form.problem, device);
    const double predicted = estimate(plan.impl().form.problem);
    if (chosen.median_us > 0 && predicted > 0) correction_ = chosen.median_us / predicted;
  }

  // 0 when the model has nothing to say.
  double us(const Problem& problem) const {
    return correction_ * estimate(canonical(problem).problem);
  }

 private:
  double estimate(const Problem& problem) const {
    if (!named_) return 0;
    Estimate result;
    named_->family->estimate(problem, device_, {&named_->configuration, 1}, {&result, 1});
    return result.us;
  }

  const Device& device_;
  std::optional<Candidate> named_;
  double correction_ = 1;
};

// Builds the table: tuned plans at the grid's points, one or two kernels for each gap between.
class TableBuilder {
 public:
  TableBuilder(const Planner& planner, const Problem& problem, const PlanOptions& options)
      : planner_(planner), problem_(problem), options_(options) {}

  std::shared_ptr<PlanSet::Impl> build(std::int64_t min_m, std::int64_t max_m) {
    const std::vector<std::int64_t> points = grid(min_m, max_m);
    int lower = add(planner_.plan(with_m(problem_, points[0]), options_));
    steps_.push_back({points[0], lower});
    for (std::size_t i = 1; i < points.size(); ++i) {
      const int upper = add(planner_.plan(with_m(problem_, points[i]), options_));
      fill_gap(points[i - 1] + 1, points[i] - 1, lower, upper);
      steps_.push_back({points[i], upper});
      lower = upper;
    }
    return std::make_shared<PlanSet::Impl>(problem_, min_m, max_m, planner_.device(), plans_,
                                           steps_, workspace_bytes(min_m));
  }

 private:
  int add(Plan plan) {
    plans_.push_back(std::move(plan));
    return static_cast<int>(plans_.size()) - 1;
  }

  const Plan& plan(int index) const { return plans_[static_cast<std::size_t>(index)]; }

  void fill_gap(std::int64_t first, std::int64_t last, int lower, int upper) {
    if (first > last) return;
    const bool lower_serves = serves_all(plan(lower), problem_, first, last);
    const bool upper_serves = serves_all(plan(upper), problem_, first, last);
    if (lower_serves && upper_serves) {
      const std::int64_t cut = crossing(first, last, plan(lower), plan(upper));
      if (cut >= first) steps_.push_back({cut, lower});
      if (cut < last) steps_.push_back({last, upper});
    } else if (lower_serves || upper_serves) {
      steps_.push_back({last, lower_serves ? lower : upper});
    } else {
      steps_.push_back({last, add(cover(first, last, plan(upper)))});
    }
  }

  // Last M at which the lower plan is predicted to be no slower.
  std::int64_t crossing(std::int64_t first, std::int64_t last, const Plan& lower,
                        const Plan& upper) const {
    if (lower.kernel() == upper.kernel()) return last;
    const Prediction below(lower, planner_.device());
    const Prediction above(upper, planner_.device());
    std::int64_t cut = first - 1;
    while (cut < last) {
      const Problem next = with_m(problem_, cut + 1);
      if (below.us(next) > above.us(next)) break;
      ++cut;
    }
    return cut;
  }

  // The fastest measured kernel at the gap's upper end that takes every M of the gap; it is built
  // for the gap's last M, where its family might not have listed it.
  Plan cover(std::int64_t first, std::int64_t last, const Plan& upper) const {
    std::vector<CandidateReport> reports = upper.explanation().candidates;
    std::erase_if(reports, [](const CandidateReport& r) { return !r.failure.empty(); });
    std::stable_sort(reports.begin(), reports.end(), [](const auto& x, const auto& y) {
      return (x.best_us > 0 ? x.best_us : 1e30) < (y.best_us > 0 ? y.best_us : 1e30);
    });
    const Problem given = with_m(problem_, last);
    const Canonical form = canonical(given);
    const tune::Failures failures(&planner_.store().database(), form.problem, planner_.device(),
                                  false);
    for (const CandidateReport& report : reports) {
      const auto named = find(report, upper.impl().form.problem, planner_.device());
      if (!named || named->family->refuse(form.problem, planner_.device())) continue;
      std::string failure;
      auto kernel = try_build(*named, form.problem, planner_.device(), failures, failure);
      if (kernel == nullptr) continue;
      Explanation why = upper.explanation();
      why.chosen = report;
      Plan candidate(std::make_shared<Plan::Impl>(given, form, planner_.device(), std::move(kernel),
                                                  std::move(why), ""));
      if (serves_all(candidate, problem_, first, last)) return candidate;
    }
    throw Unsupported("no kernel takes every m from " + std::to_string(first) + " to " +
                      std::to_string(last) + " of " + key(problem_));
  }

  std::size_t workspace_bytes(std::int64_t min_m) const {
    std::size_t most = 0;
    std::int64_t m = min_m;
    for (const PlanSet::Impl::Step& step : steps_) {
      const Kernel& kernel = *plan(step.kernel).impl().kernel;
      for (; m <= step.last_m; ++m) {
        most = std::max(most, kernel.workspace_bytes(canonical(with_m(problem_, m)).problem));
      }
    }
    return most;
  }

  const Planner& planner_;
  const Problem& problem_;
  const PlanOptions& options_;
  std::vector<Plan> plans_;
  std::vector<PlanSet::Impl::Step> steps_;
};

}  // namespace

PlanSet::Impl::Impl(const Problem& given_problem, std::int64_t first_m, std::int64_t last_m,
                    const Device& device, std::vector<Plan> built, std::vector<Step> table,
                    std::size_t workspace_bytes)
    : given(given_problem),
      min_m(first_m),
      max_m(last_m),
      plans(std::move(built)),
      steps(std::move(table)),
      pool(device, workspace_bytes) {}

const Plan& PlanSet::Impl::plan_of(std::int64_t m) const {
  if (m < min_m || m > max_m) {
    throw InvalidArgument("m", std::to_string(m),
                          std::to_string(min_m) + " to " + std::to_string(max_m));
  }
  const auto step = std::lower_bound(steps.begin(), steps.end(), m,
                                     [](const Step& s, std::int64_t x) { return s.last_m < x; });
  return plans[static_cast<std::size_t>(step->kernel)];
}

void PlanSet::run(std::int64_t m, const Operands& operands, Stream stream,
                  Workspace workspace) const {
  const Plan::Impl& plan = impl_->plan_of(m).impl();
  const Problem problem = with_m(impl_->given, m);
  execute(problem, canonical(problem), *plan.kernel, operands, stream, workspace, impl_->pool);
}

PlanSet Planner::plan_range(const Problem& problem, std::int64_t min_m, std::int64_t max_m,
                            const PlanOptions& options) const {
  constexpr std::int64_t kMost = 1 << 20;
  if (min_m < 1 || min_m > kMost)
    throw InvalidArgument("min_m", std::to_string(min_m), "1 to 2^20");
  if (max_m < min_m || max_m > kMost) {
    throw InvalidArgument("max_m", std::to_string(max_m), "min_m to 2^20");
  }
  if (problem.n == 0 || problem.batch == 0) {
    throw InvalidArgument("problem", key(problem), "n and batch above 0");
  }
  return PlanSet(TableBuilder(*this, problem, options).build(min_m, max_m));
}

std::size_t PlanSet::workspace_bytes() const {
  return impl_->pool.bytes();
}
const std::string& PlanSet::kernel(std::int64_t m) const {
  return impl_->plan_of(m).kernel();
}
std::int64_t PlanSet::min_m() const {
  return impl_->min_m;
}
std::int64_t PlanSet::max_m() const {
  return impl_->max_m;
}

}  // namespace gemwright
