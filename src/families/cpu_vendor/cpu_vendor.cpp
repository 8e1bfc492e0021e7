// oneDNN as the CPU's vendor library: the fallback for everything, and what own kernels must beat.
#include "device/profile.hpp"
#include "families/cpu_vendor/onednn.hpp"
#include "families/family.hpp"
#include "model/cpu_cost.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace gemwright {
namespace {

enum Parameter : unsigned char { kPrimitive, kThreads };

class VendorKernel final : public Kernel {
 public:
  VendorKernel(const Problem& problem, onednn::Primitive primitive, int threads)
      : problem_(problem), gemm_(problem, primitive, threads) {}

  // The code that oneDNN generates is for one set of sizes and strides.
  bool serves(const Problem& problem) const override { return problem == problem_; }
  std::size_t workspace_bytes(const Problem&) const override { return gemm_.scratch_bytes(); }
  void run(const Problem&, const Operands& operands, void* workspace, Stream) const override {
    gemm_.run(operands, workspace);
  }

 private:
  Problem problem_;
  onednn::Gemm gemm_;
};

// oneDNN refuses, or is very slow, where no dimension is contiguous or elements overlap.
bool plain(const Operand& x, std::int64_t rows, std::int64_t cols, std::int64_t batch) {
  const bool row_major = x.col_stride == 1 && x.row_stride >= cols;
  const bool col_major = x.row_stride == 1 && x.col_stride >= rows;
  if (!row_major && !col_major) return false;
  const std::int64_t matrix = row_major ? rows * x.row_stride : cols * x.col_stride;
  return batch == 1 || x.batch_stride == 0 || x.batch_stride >= matrix;
}

bool dense(const Operand& x, std::int64_t rows, std::int64_t cols) {
  return (x.col_stride == 1 && x.row_stride == cols) || (x.row_stride == 1 && x.col_stride == rows);
}

std::optional<std::string> refuse_types(const Problem& p) {
  if (p.a.type != p.b.type) return "oneDNN multiplies operands of one type only";
  const DataType type = p.a.type;
  if (p.d.type != type && p.d.type != DataType::f32) {
    return fmt::format("oneDNN writes {} products as {} or f32 only", name(type), name(type));
  }
  if (p.bias != Bias::none && p.bias_type != type && p.bias_type != DataType::f32) {
    return fmt::format("oneDNN adds a bias of {} or f32 to {} products", name(type), name(type));
  }
  // As version 3.2 does it, which misses the bound of fp32 accumulation by far.
  if (type == DataType::f16) return "oneDNN sums fp16 products in fp16 on CPUs, if at all";
  // Version 2.6 multiplies pairs along K, and the last element of A twice: once with zero.
  if (type == DataType::bf16 && p.k % 2 != 0) {
    return "oneDNN makes a NaN of an infinity at the end of K where K is odd, in bf16";
  }
  if (!onednn::multiplies(type)) {
    return fmt::format("oneDNN {} has no fast {} kernels for this CPU", onednn::version(),
                       name(type));
  }
  return std::nullopt;
}

std::optional<std::string> refuse_layout(const Problem& p) {
  if (p.b.packed) return "B is packed by gemwright: oneDNN reads plain operands only";
  if (p.k == 0) return "oneDNN takes no product over K = 0";
  // Beyond, version 2.6 divides by zero while it makes the primitive.
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (std::max({p.m, p.n, p.k, p.batch}) > kLargest) return "oneDNN's kernels count in 32 bits";
  if (!plain(p.a, p.m, p.k, p.batch)) return "A has no contiguous dimension, or elements overlap";
  if (!plain(p.b, p.k, p.n, p.batch)) return "B has no contiguous dimension, or elements overlap";
  if (p.d.col_stride != 1 || !plain(p.d, p.m, p.n, p.batch)) return "D has no contiguous rows";
  if (p.bias == Bias::per_row) return "oneDNN's fast kernels add a bias by column only";
  // Version 2.6 finds the bias by D's offset modulo N, and reads past its end.
  if (p.batch > 1 && p.bias != Bias::none && p.alpha != 1.0F &&
      !(dense(p.d, p.m, p.n) && p.d.batch_stride == p.m * p.n)) {
    return "oneDNN adds a bias to scaled batches in a D without gaps only";
  }
  if (p.c && (p.c->type != p.d.type || p.c->col_stride != 1)) {
    return "oneDNN adds a C of D's type and with contiguous rows only";
  }
  return std::nullopt;
}

// Padded rows, and a bias after a scale, would send the linear layer to a reference loop.
bool linear_layer(const Problem& p) {
  const bool epilogue = p.bias == Bias::none || p.alpha == 1.0F;
  return epilogue && p.batch == 1 && p.a.col_stride == 1 && p.a.row_stride == p.k &&
         dense(p.b, p.k, p.n) && p.d.row_stride == p.n;
}

// Why a primitive does not take the problem. Of what its fast kernels always take it is not asked,
// which would cost more than all the other families' answers.
std::string unusual_refusal(const Problem& p, onednn::Primitive primitive) {
  const bool usual = p.batch == 1 && !p.c && p.bias == Bias::none && p.alpha == 1.0F &&
                     dense(p.a, p.m, p.k) && dense(p.b, p.k, p.n) && dense(p.d, p.m, p.n);
  return usual ? "" : onednn::refusal(p, primitive);
}

class Vendor final : public Family {
 public:
  std::string_view name() const override { return "cpu_vendor"; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 2; }
  bool vendor() const override { return true; }

  std::optional<std::string> refuse(const Problem& problem, const Device&) const override {
    if (auto reason = refuse_layout(problem)) return reason;
    if (auto reason = refuse_types(problem)) return reason;
    auto reason = unusual_refusal(problem, onednn::Primitive::matmul);
    return reason.empty() ? std::nullopt : std::optional(std::move(reason));
  }

  std::span<const std::string_view> parameters() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"primitive", "threads"};
    return kNames;
  }

  std::string configuration_name(const Configuration& c) const override {
    const bool linear = c.values[kPrimitive] == static_cast<int>(onednn::Primitive::inner_product);
    return fmt::format("onednn_{}_t{}", linear ? "linear" : "matmul", c.values[kThreads]);
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    const int all = device.profile().cpu.threads;
    std::vector<Configuration> list;
    const auto add = [&](onednn::Primitive primitive, int threads) {
      Configuration configuration;
      configuration.values[kPrimitive] = static_cast<int>(primitive);
      configuration.values[kThreads] = threads;
      list.push_back(configuration);
    };
    // What a caller of oneDNN would do comes first.
    add(onednn::Primitive::matmul, all);
    if (linear_layer(problem) &&
        unusual_refusal(problem, onednn::Primitive::inner_product).empty()) {
      add(onednn::Primitive::inner_product, all);
    }
    // Below this a team costs about as much as it brings.
    constexpr double kSmallFlops = 2e7;
    if (all > 1 && problem.flops() < kSmallFlops) add(onednn::Primitive::matmul, 1);
    return list;
  }

  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      estimates[i] =
          model::cpu_vendor_cost(problem, device.profile().cpu, configurations[i].values[kThreads]);
    }
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device&,
                                      const Configuration& configuration) const override {
    return std::make_shared<VendorKernel>(
        problem, static_cast<onednn::Primitive>(configuration.values[kPrimitive]),
        configuration.values[kThreads]);
  }
};

}  // namespace

namespace families {

const Family& cpu_vendor() {
  static const Vendor family;
  return family;
}

}  // namespace families
}  // namespace gemwright
