#include "plan/explain.hpp"
#include "plan/plan_impl.hpp"
#include "plan/reason.hpp"
#include <gemwright/plan.hpp>

#include <utility>

namespace gemwright {

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::memory:
      return "memory";
    case Bound::math:
      return "math";
    case Bound::latency:
      return "latency";
    case Bound::waves:
      return "wave quantisation";
    case Bound::overhead:
      return "overhead";
  }
  return "?";
}

std::string_view name(Source source) {
  switch (source) {
    case Source::tuned:
      return "tuned";
    case Source::store:
      return "store";
    case Source::model:
      return "model";
    case Source::forced:
      return "forced";
  }
  return "?";
}

Operands Operands::transposed() const {
  Operands result = *this;
  std::swap(result.a, result.b);
  if (early != Early::none) result.early = early == Early::a ? Early::b : Early::a;
  return result;
}

Plan::Impl::Impl(const Problem& given_problem, const Canonical& canonical_form,
                 const Device& device, std::shared_ptr<const Kernel> built, Explanation why,
                 std::string candidates_json, std::optional<tune::Ruling> ruling)
    : given(given_problem),
      form(canonical_form),
      kernel(std::move(built)),
      name(why.chosen.family + "/" + why.chosen.configuration),
      pool(device, kernel ? kernel->workspace_bytes(form.problem) : 0),
      candidates_json_(std::move(candidates_json)),
      ruling_(ruling),
      explanation_(std::move(why)) {}

void Plan::Impl::complete_explanation() const {
  std::optional<tune::Ruling> ruling = ruling_;
  if (!candidates_json_.empty()) {
    Evidence evidence = stored_evidence(candidates_json_);
    explanation_.candidates = std::move(evidence.candidates);
    ruling = evidence.ruling;
  }
  if (ruling) {
    explanation_.rule = tune::name(ruling->rule);
    explanation_.band = ruling->band;
  }
  if (kernel != nullptr) explanation_.reason = reason_of(explanation_, ruling);
}

const Explanation& Plan::Impl::explanation() const {
  std::call_once(completed_, [this] { complete_explanation(); });
  return explanation_;
}

void Plan::run(const Operands& operands, Stream stream, Workspace workspace) const {
  if (impl_->kernel == nullptr) return;
  execute(impl_->given, impl_->form, *impl_->kernel, operands, stream, workspace, impl_->pool);
}

std::size_t Plan::workspace_bytes() const {
  return impl_->pool.bytes();
}
const Problem& Plan::problem() const {
  return impl_->given;
}
const std::string& Plan::kernel() const {
  return impl_->name;
}
const Explanation& Plan::explanation() const {
  return impl_->explanation();
}
const Plan::Impl& Plan::impl() const {
  return *impl_;
}

}  // namespace gemwright
