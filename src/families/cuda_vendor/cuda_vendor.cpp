// cuBLASLt's own choices, as candidates like any other.
#include "device/cuda/driver.hpp"
#include "device/profile.hpp"
#include "families/cuda_vendor/matmul.hpp"
#include "families/family.hpp"
#include "model/rank.hpp"

#include <algorithm>

#include <cuda/params.cuh>
#include <fmt/format.h>

namespace gemwright {
namespace {

using cuda_vendor::Matmul;

constexpr int kHeuristics = 8;

// What determines an algorithm, each a parameter of the configuration.
constexpr std::array kAttributes{
    CUBLASLT_ALGO_CONFIG_ID,
    CUBLASLT_ALGO_CONFIG_TILE_ID,
    CUBLASLT_ALGO_CONFIG_STAGES_ID,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
    CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,
    CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
};
// Algorithms may hold more than their attributes tell: the last parameter counts those of a list
// that look alike.
constexpr std::array<std::string_view, kAttributes.size() + 1> kParameters{
    "algorithm", "tile",          "stages",      "split_k",       "reduction",
    "swizzle",   "custom_option", "inner_shape", "cluster_shape", "repeat"};
constexpr std::size_t kRepeat = kAttributes.size();

// The inner and cluster shape are 16 bits wide, the rest 32; the library tells by the size asked.
std::size_t attribute_bytes(cublasLtMatmulAlgoConfigAttributes_t attribute) {
  return attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ||
                 attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID
             ? sizeof(std::uint16_t)
             : sizeof(std::uint32_t);
}

Configuration read(const cublasLtMatmulAlgo_t& algorithm) {
  const auto& lt = *cuda_vendor::find_cublaslt();
  Configuration configuration;
  for (std::size_t i = 0; i < kAttributes.size(); ++i) {
    std::size_t written = 0;
    // An attribute that an algorithm does not have stays 0.
    lt.algo_get(&algorithm, kAttributes[i], &configuration.values[i],
                attribute_bytes(kAttributes[i]), &written);
  }
  return configuration;
}

struct Choice {
  Configuration configuration;
  cublasLtMatmulAlgo_t algorithm;
};

std::vector<Choice> choices(const Matmul& matmul, int ordinal) {
  const auto handle = cuda_vendor::handle(ordinal);
  const cuda::CurrentContext current(ordinal);
  std::vector<Choice> list;
  for (const auto& result : matmul.heuristics(handle, kHeuristics)) {
    Choice choice{read(result.algo), result.algo};
    const auto equal = [&](const Choice& other) {
      return std::equal(other.configuration.values.begin(),
                        other.configuration.values.begin() + kRepeat,
                        choice.configuration.values.begin());
    };
    choice.configuration.values[kRepeat] =
        static_cast<std::int32_t>(std::count_if(list.begin(), list.end(), equal));
    list.push_back(choice);
  }
  return list;
}

// From the attributes alone, when the heuristics no longer offer it.
cublasLtMatmulAlgo_t rebuild(const Matmul& matmul, const Configuration& configuration,
                             cublasLtHandle_t handle) {
  const auto& lt = *cuda_vendor::find_cublaslt();
  cublasLtMatmulAlgo_t algorithm{};
  cuda_vendor::check(lt.algo_init(handle, matmul.compute_type(), CUDA_R_32F, matmul.input_type(),
                                  matmul.input_type(), matmul.output_type(), matmul.output_type(),
                                  configuration.values[0], &algorithm),
                     "cublasLtMatmulAlgoInit");
  for (std::size_t i = 1; i < kAttributes.size(); ++i) {
    if (configuration.values[i] == 0) continue;  // what AlgoInit has set
    cuda_vendor::check(lt.algo_set(&algorithm, kAttributes[i], &configuration.values[i],
                                   attribute_bytes(kAttributes[i])),
                       "cublasLtMatmulAlgoConfigSetAttribute");
  }
  return algorithm;
}

class VendorKernel final : public Kernel {
 public:
  VendorKernel(const Problem& problem, int ordinal, const Configuration& configuration)
      : problem_(problem),
        matmul_(problem),
        ordinal_(ordinal),
        handle_(cuda_vendor::handle(ordinal)),
        context_(cuda::primary_context(ordinal)),
        driver_(cuda::driver()) {
    const auto list = choices(matmul_, ordinal);
    const auto offered = std::find_if(list.begin(), list.end(), [&](const Choice& choice) {
      return choice.configuration == configuration;
    });
    const cuda::CurrentContext current(ordinal);
    algorithm_ =
        offered != list.end() ? offered->algorithm : rebuild(matmul_, configuration, handle_);
    if (problem.bias != Bias::none) {
      const auto any = unaligned(problem).heuristics(handle_, 1);
      if (!any.empty()) for_unaligned_bias_ = any.front().algo;
    }
    const auto bytes = needed(problem);
    if (!bytes) throw DeviceError("cuBLASLt no longer takes this algorithm for the problem");
    workspace_bytes_ = *bytes;
  }

  bool serves(const Problem& problem) const override { return workspace(problem).has_value(); }

  std::size_t workspace_bytes(const Problem& problem) const override {
    const std::size_t bytes = workspace(problem).value_or(0);
    return bytes == 0 ? 0 : bytes + gemwright_device::kCounterBytes;
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    CUcontext before = nullptr;
    driver_.ctx_get_current(&before);
    std::optional<cuda::CurrentContext> current;
    if (before != context_) current.emplace(ordinal_);
    // The counters in front, which plans of other kernels count on being zero, stay untouched.
    void* scratch = workspace == nullptr
                        ? nullptr
                        : static_cast<char*>(workspace) + gemwright_device::kCounterBytes;
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(operands.bias) % cuda_vendor::kBiasAlignment == 0;
    const auto& algorithm = aligned || !for_unaligned_bias_ ? algorithm_ : *for_unaligned_bias_;
    if (problem == problem_) {
      matmul_.run(handle_, algorithm, operands, scratch, workspace_bytes_, stream);
    } else {
      Matmul(problem).run(handle_, algorithm, operands, scratch, needed(problem).value_or(0),
                          stream);
    }
  }

 private:
  // With a bias that is aligned to its type only.
  static Matmul unaligned(const Problem& problem) {
    return Matmul(problem, static_cast<std::uintptr_t>(size_bytes(problem.bias_type)));
  }

  // Workspace for either alignment of the bias; nothing when an algorithm does not take the
  // problem.
  std::optional<std::size_t> needed(const Problem& problem) const {
    const auto bytes = Matmul(problem).workspace_bytes(handle_, algorithm_);
    if (!bytes || problem.bias == Bias::none || !for_unaligned_bias_) return bytes;
    const auto other = unaligned(problem).workspace_bytes(handle_, *for_unaligned_bias_);
    if (!other) return std::nullopt;
    return std::max(*bytes, *other);
  }

  // Of a problem that is taken; nothing for others.
  std::optional<std::size_t> workspace(const Problem& problem) const {
    if (problem == problem_) return workspace_bytes_;
    const bool same_types = problem.a.type == problem_.a.type &&
                            problem.d.type == problem_.d.type &&
                            problem.allow_tf32 == problem_.allow_tf32;
    if (!same_types || cuda_vendor::refuse(problem)) return std::nullopt;
    const cuda::CurrentContext current(ordinal_);
    return needed(problem);
  }

  Problem problem_;
  Matmul matmul_;
  int ordinal_;
  cublasLtHandle_t handle_;
  CUcontext context_;
  const cuda::Driver& driver_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::optional<cublasLtMatmulAlgo_t> for_unaligned_bias_;
  std::size_t workspace_bytes_ = 0;
};

class CudaVendor final : public Family {
 public:
  std::string_view name() const override { return "cuda_vendor"; }
  DeviceKind device_kind() const override { return DeviceKind::cuda; }
  int version() const override { return 1; }
  bool vendor() const override { return true; }

  std::optional<std::string> refuse(const Problem& problem, const Device& device) const override {
    if (!device.present()) {
      return "cuBLASLt chooses its algorithms on the device itself, and " + device.name() +
             " is not here";
    }
    std::string why;
    if (cuda_vendor::find_cublaslt(&why) == nullptr) return why;
    return cuda_vendor::refuse(problem);
  }

  std::span<const std::string_view> parameters() const override { return kParameters; }

  std::string configuration_name(const Configuration& configuration) const override {
    const auto& v = configuration.values;
    auto name = fmt::format("cublaslt_a{}_tile{}_s{}_k{}", v[0], v[1], v[2], v[3]);
    constexpr std::array<const char*, 6> kOthers{"_red", "_swz", "_opt", "_inner", "_c", "_again"};
    for (std::size_t i = 0; i < kOthers.size(); ++i) {
      if (v[4 + i] != 0) name += fmt::format("{}{}", kOthers[i], v[4 + i]);
    }
    return name;
  }

  std::vector<Configuration> configurations(const Problem& problem,
                                            const Device& device) const override {
    std::vector<Configuration> list;
    for (const auto& choice : choices(Matmul(problem), device.ordinal())) {
      list.push_back(choice.configuration);
    }
    return list;
  }

  // Its kernels are not ours to model: all are the roofline and a launch, in the library's order.
  void estimate(const Problem& problem, const Device& device,
                std::span<const Configuration> configurations,
                std::span<Estimate> estimates) const override {
    const double us = model::floor_us(problem, device) + device.profile().cuda.launch_s * 1e6;
    std::fill_n(estimates.begin(), configurations.size(),
                Estimate{.us = us, .bound = Bound::memory});
  }

  std::shared_ptr<const Kernel> build(const Problem& problem, const Device& device,
                                      const Configuration& configuration) const override {
    return std::make_shared<VendorKernel>(problem, device.ordinal(), configuration);
  }
};

}  // namespace

namespace families {

const Family& cuda_vendor() {
  static const CudaVendor family;
  return family;
}

}  // namespace families
}  // namespace gemwright
