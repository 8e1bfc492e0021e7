// Products of a packed low-bit weight in two launches: the weight is decoded to memory
// (kernels/cuda/decode_weight.cu), then a kernel of a dense family multiplies. For many rows of
// activations, and where code times scale is exact in their type.
#include "cuda/lowbit_params.cuh"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_hopper/kernel.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "formats/packed_layout.hpp"
#include "model/lowbit_decoded_cost.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace gemwright {
namespace families {

const Family& cuda_mma();

}  // namespace families

namespace {

using namespace cuda_lowbit;
using cuda_layout::tiles_of;

// With fewer, decoding takes longer than multiplying.
constexpr std::int64_t kLeastRows = 128;

// Of the significands of the numbers that codes stand for, zero points taken off.
int code_digits(const WeightFormat& format, DataType type) {
  switch (format.codes) {
    case Codes::integer:
      return format.zero == Zero::symmetric ? format.bits - 1 : format.bits;
    case Codes::e2m1:
      return 2;
    case Codes::e4m3:
      return 4;
    case Codes::e5m2:
      return 3;
    default:
      return type == DataType::bf16 ? 8 : 11;  // entries of a codebook are rounded to it
  }
}

int scale_digits(ScaleType type) {
  switch (type) {
    case ScaleType::f32:
      return 24;
    case ScaleType::f16:
      return 11;
    case ScaleType::bf16:
      return 8;
    case ScaleType::e8m0:
      return 1;
    case ScaleType::e4m3:
      return 4;
  }
  return 0;
}

// fp16 has room for e4m3 scales of codes that are not large, and for no scales of a wide range;
// bf16 has the range of fp32.
bool in_range(const WeightFormat& format, DataType type) {
  if (type == DataType::bf16) return true;
  const bool small = format.codes == Codes::e2m1 || format.codes == Codes::integer;
  return format.scale == ScaleType::e4m3 && small && format.bits <= 4;
}

bool scales_rows(const WeightFormat& format) {
  return format.grouping == Grouping::row || format.grouping == Grouping::tensor;
}

// Whether a scale is left over for the rows of the decoded weight: columns of the product.
bool has_factors(const WeightFormat& format) {
  return scales_rows(format) || format.global_scale;
}

// Why a number of the weight, once rounded to the type of A, would not be what it was.
std::optional<std::string> refuse_rounding(const Problem& p) {
  const WeightFormat& format = *p.weight;
  if (format.zero == Zero::real) return "zero points are real numbers";
  const int codes = code_digits(format, p.a.type);
  const int scales = scale_digits(format.scale);
  // A power of two adds no digits.
  const int digits = std::min(codes, scales) == 1 ? std::max(codes, scales) : codes + scales;
  const int most = p.a.type == DataType::bf16 ? 8 : 11;
  if (scales_rows(format) || (digits <= most && in_range(format, p.a.type))) return std::nullopt;
  return fmt::format(
      "a code times its group's scale is not exact in {}; e8m0 scales in bf16 are, "
      "and e4m3 scales of integers or e2m1",
      name(p.a.type));
}

// The product that follows, with B where the run keeps it.
struct Dense {
  Canonical form;
  std::int64_t pitch = 0;  // elements of a row of the decoded weight

  explicit Dense(const Problem& p) {
    Problem plain = p;
    pitch = 8 * std::max<std::int64_t>(1, tiles_of(p.k, 8));
    plain.weight.reset();
    plain.b = {.type = p.a.type, .row_stride = 1, .col_stride = pitch};
    form = canonical(plain);
  }

  std::size_t bytes() const {
    const Problem& p = form.problem;
    return static_cast<std::size_t>(form.swapped ? p.m : p.n) * static_cast<std::size_t>(pitch) *
           static_cast<std::size_t>(size_bytes(p.a.type));
  }
};

// Where a run keeps what it decodes: after what the product needs, and its counters.
struct Places {
  std::size_t factors = 0;  // fp32, one for each row
  std::size_t weight = 0;
  std::size_t bytes = 0;

  Places(const Dense& dense, std::int64_t rows, std::size_t product_bytes) {
    factors = after_workspace(product_bytes);
    weight = after_workspace(factors + static_cast<std::size_t>(rows) * sizeof(float));
    bytes = weight + dense.bytes();
  }
};

class DecodedKernel final : public CompiledKernel {
 public:
  DecodedKernel(const CudaFamily& family, const Family& dense, const Problem& problem,
                const Device& device, const Configuration& configuration)
      : CompiledKernel(family, problem, device, configuration),
        product_(dense.build(Dense(problem).form.problem, device, configuration)) {
    if (has_factors(*problem.weight)) {
      factored_ = dynamic_cast<const cuda_hopper::HopperProduct*>(product_.get());
    }
    load(0);
  }

  bool serves(const Problem& problem) const override {
    return CompiledKernel::serves(problem) && product_->serves(Dense(problem).form.problem);
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    return places(Dense(problem), problem).bytes;
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    const Dense dense(problem);
    const Places place = places(dense, problem);
    auto* base = static_cast<char*>(workspace);
    auto* factors = reinterpret_cast<float*>(base + place.factors);
    decode(problem, operands, dense.pitch, base + place.weight, factors, stream);

    Operands plain = operands;
    plain.b = base + place.weight;
    // The product may begin while the weight is decoded: all that came before is then complete.
    plain.early = Early::a;
    const Problem& product = dense.form.problem;
    const bool swapped = dense.form.swapped;
    if (swapped) plain = plain.transposed();
    if (factored_ == nullptr) return product_->run(product, plain, workspace, stream);
    const cuda_hopper::Factors rows{.rows = factors};
    const cuda_hopper::Factors columns{.columns = factors};
    factored_->run_with(product, plain, swapped ? rows : columns, workspace, stream);
  }

 private:
  Places places(const Dense& dense, const Problem& problem) const {
    return {dense, problem.n, product_->workspace_bytes(dense.form.problem)};
  }

  void decode(const Problem& problem, const Operands& operands, std::int64_t pitch, void* to,
              float* factors, Stream stream) const {
    constexpr std::int64_t kBlocks = 4;  // of a CTA
    gemwright_device::DecodeParams params{};
    params.weight = weight_at(problem, operands.b);
    params.out = to;
    params.factors = factors;
    params.pitch = pitch;
    params.n = static_cast<int>(problem.n);
    const std::int64_t ctas = tiles_of(problem.n, 64) * tiles_of(params.weight.blocks, kBlocks);
    void* arguments[] = {&params};
    launch({.grid = {static_cast<unsigned>(ctas), 1, 1},
            .threads = 128,
            .dependent = operands.early != Early::none},
           arguments, stream);
  }

  std::shared_ptr<const Kernel> product_;
  const cuda_hopper::HopperProduct* factored_ = nullptr;  // the product, where it takes factors
};

class CudaLowbitDecoded final : public CudaFamily {
 public:
  // `on_hopper`: by the kernels of cuda_hopper, else of cuda_mma.
  CudaLowbitDecoded(std::string_view name, bool on_hopper) : name_(name), on_hopper_(on_hopper) {}

  std::string_view name() const override { return name_; }
  int version() const override { return 1; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (auto reason = refuse_weight(p)) return reason;
    if (p.weight->ordered) return "columns of the weight have an order of their own";
    if (auto reason = refuse_rounding(p)) return reason;
    if (has_factors(*p.weight) && !on_hopper_) {
      return "a scale of the weight or of its rows is left over, which cuda_mma does not apply";
    }
    if (p.k == 0) return "k is 0: there is nothing to decode";
    if (p.m < kLeastRows && !p.batch_invariant) {
      return fmt::format("m is {}: below {} the weight takes longer to decode than to multiply",
                         p.m, kLeastRows);
    }
    if (tiles_of(p.n, 64) * tiles_of(p.k, 64) > std::numeric_limits<int>::max()) {
      return "the weight has more blocks than a grid can hold";
    }
    return dense(p).refuse(Dense(p).form.problem, device);
  }

  std::span<const std::string_view> parameters() const override { return any().parameters(); }

  std::string configuration_name(const Configuration& configuration) const override {
    return "decoded_" + any().configuration_name(configuration);
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    return dense(p).configurations(Dense(p).form.problem, device);
  }

  std::string_view summation_order(const Problem& p,
                                   const Configuration& configuration) const override {
    return dense(p).summation_order(Dense(p).form.problem, configuration);
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    const Dense decoded(p);
    dense(p).estimate(decoded.form.problem, device, configurations, estimates);
    const double packed = static_cast<double>(formats::packed_layout(*p.weight, p.n, p.k).bytes);
    const double us = model::lowbit_decoding_us(device.profile().cuda, packed,
                                                static_cast<double>(decoded.bytes()));
    for (Estimate& estimate : estimates) estimate.us += us;
  }

  // Of the decoder; the product's is the dense family's.
  compile::Source source(const Problem& p, const Device& device,
                         const Configuration& /*configuration*/) const override {
    const int sm = device.profile().cuda.sm;
    return {.file = "decode_weight.cu",
            .preamble = fmt::format("namespace gemwright_device {{\n"
                                    "constexpr int kType = {};\nconstexpr bool kPaired = {};\n"
                                    "{}}}\n",
                                    static_cast<int>(p.a.type), formats::paired(*p.weight),
                                    weight_preamble(p)),
            .kernel_name = "decode_weight",
            .sm = sm,
            .arch_specific = sm == 90};
  }

  std::vector<compile::Source> sources(const Problem& p, const Device& device,
                                       const Configuration& configuration) const override {
    return {source(p, device, configuration),
            dense(p).source(Dense(p).form.problem, device, configuration)};
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return std::make_shared<DecodedKernel>(*this, dense(problem), problem, device, configuration);
  }

 private:
  const CudaFamily& any() const {
    if (on_hopper_) return cuda_hopper::family_with({});
    return dynamic_cast<const CudaFamily&>(families::cuda_mma());
  }

  const CudaFamily& dense(const Problem& p) const {
    if (!on_hopper_ || !has_factors(*p.weight)) return any();
    const bool swapped = Dense(p).form.swapped;
    return cuda_hopper::family_with({.rows = swapped, .columns = !swapped});
  }

  std::string_view name_;
  bool on_hopper_;
};

}  // namespace

namespace families {

const Family& cuda_lowbit_decoded() {
  static const CudaLowbitDecoded family("cuda_lowbit_decoded", true);
  return family;
}

const Family& cuda_lowbit_decoded_mma() {
  static const CudaLowbitDecoded family("cuda_lowbit_decoded_mma", false);
  return family;
}

}  // namespace families
}  // namespace gemwright
