// Products of a packed low-bit weight with activations rounded to 8 bits, for all weights that
// cuda_lowbit_wide takes: codes of either kind are exact in bf16, so that a first launch rounds
// rows of A to codes in bf16 and a scale each (kernels/cuda/round_rows.cu), and a kernel of
// cuda_lowbit_wide multiplies them and then scales its rows.
#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/rounding.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "families/cuda_lowbit/wide_kernel.hpp"
#include "model/lowbit_a8_cost.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace gemwright {
namespace {

using namespace cuda_lowbit;

constexpr std::int64_t kColumnsEach = 16;  // that a thread rounds

// The product of the codes. Columns of the weight that have an order of their own meet codes in
// that order.
Problem product_of(const Problem& p) {
  Problem q = p;
  q.activations = Activations::as_given;
  q.weight->ordered = false;
  const std::int64_t pitch =
      kColumnsEach * std::max<std::int64_t>(1, cuda_layout::tiles_of(p.k, kColumnsEach));
  q.a = {.type = DataType::bf16, .row_stride = pitch};
  return q;
}

// Where a run keeps rounded activations.
struct Places {
  std::size_t scales = 0;
  std::size_t codes = 0;
  std::size_t bytes = 0;

  Places(const Problem& product, std::size_t product_bytes) {
    const auto rows = static_cast<std::size_t>(product.m);
    scales = after_workspace(product_bytes);
    codes = after_workspace(scales + rows * sizeof(float));
    bytes = codes + rows * static_cast<std::size_t>(product.a.row_stride) * 2;
  }
};

class RoundedKernel final : public CompiledKernel {
 public:
  RoundedKernel(const CudaFamily& family, const Problem& problem, const Device& device,
                const Configuration& configuration)
      : CompiledKernel(family, problem, device, configuration),
        product_(build_wide_kernel(wide_family(true), product_of(problem), device, configuration)) {
    load(0);
  }

  bool serves(const Problem& problem) const override {
    return CompiledKernel::serves(problem) && product_->serves(product_of(problem));
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    const Problem product = product_of(problem);
    return Places(product, product_->workspace_bytes(product)).bytes;
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    const Problem product = product_of(problem);
    const Places place(product, product_->workspace_bytes(product));
    auto* codes = static_cast<char*>(workspace) + place.codes;
    auto* scales = reinterpret_cast<float*>(static_cast<char*>(workspace) + place.scales);
    const auto pitch = static_cast<int>(product.a.row_stride);
    auto params = rounding_params(problem, operands, pitch, codes, scales);
    void* arguments[] = {&params};
    launch(rounding_shape(problem, operands, pitch), arguments, stream);

    Operands rounded = operands;
    rounded.a = codes;
    // The weight may be read while A is rounded: all that came before is then complete.
    rounded.early = Early::b;
    product_->run_with(product, rounded, scales, workspace, stream);
  }

 private:
  std::shared_ptr<const WideProduct> product_;
};

class CudaLowbitRounded final : public CudaFamily {
 public:
  std::string_view name() const override { return "cuda_lowbit_rounded"; }
  int version() const override { return 2; }

  std::optional<std::string> refuse(const Problem& p, const Device& device) const override {
    if (!p.weight) return "B is not a low-bit weight";
    if (p.activations == Activations::as_given) return "activations are not to be rounded";
    if (has_codebook(*p.weight) && p.b.type != DataType::bf16) {
      return fmt::format("the codebook is kept in {}; codes of activations are multiplied in bf16",
                         gemwright::name(p.b.type));
    }
    return wide().refuse(product_of(p), device);
  }

  std::span<const std::string_view> parameters() const override { return wide().parameters(); }

  std::string configuration_name(const Configuration& configuration) const override {
    return "rounded_" + wide().configuration_name(configuration);
  }

  std::vector<Configuration> configurations(const Problem& p, const Device& device) const override {
    return wide().configurations(product_of(p), device);
  }

  void estimate(const Problem& p, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    wide().estimate(product_of(p), device, configurations, estimates);
    const double elements = static_cast<double>(p.m) * static_cast<double>(p.k);
    const double us = model::rounding_us(device.profile().cuda, elements, size_bytes(p.a.type) + 2);
    for (Estimate& estimate : estimates) estimate.us += us;
  }

  // Of the launch that rounds; the product's is cuda_lowbit_wide's.
  compile::Source source(const Problem& p, const Device& /*device*/,
                         const Configuration& /*configuration*/) const override {
    const Rounded to =
        p.activations == Activations::e4m3 ? Rounded::e4m3_numbers : Rounded::int8_numbers;
    return {.file = "round_rows.cu",
            .preamble = "namespace gemwright_device {\n" + rounding_preamble(p, to) + "}\n",
            .kernel_name = "quantise_rows",
            .sm = 90,
            .arch_specific = true};
  }

  std::vector<compile::Source> sources(const Problem& p, const Device& device,
                                       const Configuration& configuration) const override {
    return {source(p, device, configuration), wide().source(product_of(p), device, configuration)};
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return std::make_shared<RoundedKernel>(*this, problem, device, configuration);
  }

 private:
  static const CudaFamily& wide() { return wide_family(true); }
};

}  // namespace

namespace families {

const Family& cuda_lowbit_rounded() {
  static const CudaLowbitRounded family;
  return family;
}

}  // namespace families
}  // namespace gemwright
