// The oracle: fp64 accumulation in order of k, any type, stride and weight format, one rounding at
// the end.
#include "families/family.hpp"
#include "formats/packed_reader.hpp"
#include "numeric/activations.hpp"
#include "numeric/convert.hpp"

#include <array>
#include <optional>
#include <vector>

namespace gemwright {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  bool serves(const Problem& problem) const override { return plain(problem); }
  static bool plain(const Problem& problem) { return problem.weight || !problem.b.packed; }
  std::size_t workspace_bytes(const Problem&) const override { return 0; }

  void run(const Problem& p, const Operands& operands, void*, Stream) const override {
    std::optional<formats::PackedReader> weight;
    if (p.weight && p.k > 0) weight.emplace(operands.b, *p.weight, p.n, p.k, p.b.type);
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        std::vector<double> a;
        if (weight) a = packed_row(p, operands, *weight, batch, row);
        for (std::int64_t col = 0; col < p.n; ++col) {
          const std::int64_t at =
              batch * p.d.batch_stride + row * p.d.row_stride + col * p.d.col_stride;
          const double sum =
              weight ? low_bit_sum(*weight, a, col) : plain_sum(p, operands, batch, row, col);
          numeric::store(p.d.type, operands.d, at, finished(p, operands, batch, row, col, sum));
        }
      }
    }
  }

 private:
  static double plain_sum(const Problem& p, const Operands& operands, std::int64_t batch,
                          std::int64_t row, std::int64_t col) {
    const std::int64_t a = batch * p.a.batch_stride + row * p.a.row_stride;
    const std::int64_t b = batch * p.b.batch_stride + col * p.b.col_stride;
    double sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      sum += numeric::load(p.a.type, operands.a, a + k * p.a.col_stride) *
             numeric::load(p.b.type, operands.b, b + k * p.b.row_stride);
    }
    return sum;
  }

  // The row of A that meets the weight's packed columns, rounded as the problem says.
  static std::vector<double> packed_row(const Problem& p, const Operands& operands,
                                        const formats::PackedReader& weight, std::int64_t batch,
                                        std::int64_t row) {
    const std::int64_t first = batch * p.a.batch_stride + row * p.a.row_stride;
    std::vector<float> given(static_cast<std::size_t>(p.k));
    for (std::int64_t k = 0; k < p.k; ++k) {
      given[static_cast<std::size_t>(k)] =
          static_cast<float>(numeric::load(p.a.type, operands.a, first + k * p.a.col_stride));
    }
    const double scale = numeric::round_activations(p.activations, given);
    std::vector<double> values(given.size());
    for (std::int64_t k = 0; k < p.k; ++k) {
      values[static_cast<std::size_t>(k)] =
          scale * given[static_cast<std::size_t>(weight.column_of(k))];
    }
    return values;
  }

  static double low_bit_sum(const formats::PackedReader& weight, const std::vector<double>& a,
                            std::int64_t col) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += a[k] * weight.value(col, static_cast<std::int64_t>(k));
    }
    return sum;
  }

  static double finished(const Problem& p, const Operands& operands, std::int64_t batch,
                         std::int64_t row, std::int64_t col, double sum) {
    double value = static_cast<double>(p.alpha) * sum;
    if (p.c && p.beta != 0) {
      const std::int64_t c =
          batch * p.c->batch_stride + row * p.c->row_stride + col * p.c->col_stride;
      value += static_cast<double>(p.beta) * numeric::load(p.c->type, operands.c, c);
    }
    if (p.bias == Bias::per_row) value += numeric::load(p.bias_type, operands.bias, row);
    if (p.bias == Bias::per_column) value += numeric::load(p.bias_type, operands.bias, col);
    return value;
  }
};

class Reference final : public Family {
 public:
  std::string_view name() const override { return "cpu_reference"; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& problem, const Device&) const override {
    if (!ReferenceKernel::plain(problem))
      return "B is packed: the reference reads plain operands only";
    return std::nullopt;
  }

  std::span<const std::string_view> parameters() const override { return {}; }
  std::string configuration_name(const Configuration&) const override { return "fp64"; }

  std::vector<Configuration> configurations(const Problem&, const Device&) const override {
    return {Configuration{}};
  }

  void estimate(const Problem& problem, const Device&, std::span<const Configuration>,
                std::span<Estimate> estimates) const override {
    // A scalar loop with a conversion on each side: about 2 ns a multiply-add on any CPU; finding
    // a code and its scale takes ten times that.
    const double us_a_flop = problem.weight ? 1e-2 : 1e-3;
    for (Estimate& estimate : estimates) {
      estimate = {.us = problem.flops() * us_a_flop + 1, .bound = Bound::math};
    }
  }

  std::shared_ptr<const Kernel> build(const Problem&, const Device&,
                                      const Configuration&) const override {
    return std::make_shared<ReferenceKernel>();
  }
};

}  // namespace

namespace families {
const Family& cpu_reference() {
  static const Reference family;
  return family;
}
}  // namespace families

}  // namespace gemwright
