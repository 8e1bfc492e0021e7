#include "device/cuda/known_gpus.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gemwright::cuda {
namespace {

// NVIDIA's data sheets: A100 (June 2021), L4, L40S, H100 SXM, PCIe and NVL, H200; the white papers
// of GA102 (RTX 3090) and AD102 (RTX 4090); for the A10G, of which there is no sheet, AWS's page of
// the G5 instances (80 RT cores, so 80 multiprocessors; 600 GB/s). L2: the architectures' white
// papers. Clock: the one that the data sheet's peaks are for, which is a lower one than the highest
// boost (H100 PCIe: 756 TFLOP/s of bf16, so 1.62 GHz; NVL: 835, so 1.545 GHz); a real one goes
// higher on light work, and lower on heavy work.
constexpr std::array<KnownGpu, 12> kGpus{{
    {"nvidia-a100-sxm4-40gb", "a100-40gb,a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", 80, 108, 1.410,
     1555, 40, 40},
    {"nvidia-a100-sxm4-80gb", "a100,a100-80gb,a100-sxm", "NVIDIA A100-SXM4-80GB", 80, 108, 1.410,
     2039, 80, 40},
    {"nvidia-a100-80gb-pcie", "a100-pcie", "NVIDIA A100 80GB PCIe", 80, 108, 1.410, 1935, 80, 40},
    {"nvidia-a10g", "a10g", "NVIDIA A10G", 86, 80, 1.710, 600, 22.5, 6},
    {"nvidia-geforce-rtx-3090", "rtx3090,3090", "NVIDIA GeForce RTX 3090", 86, 82, 1.695, 936, 24,
     6},
    {"nvidia-geforce-rtx-4090", "rtx4090,4090", "NVIDIA GeForce RTX 4090", 89, 128, 2.520, 1008, 24,
     72},
    {"nvidia-l4", "l4", "NVIDIA L4", 89, 58, 2.040, 300, 22.5, 48},
    {"nvidia-l40s", "l40s", "NVIDIA L40S", 89, 142, 2.520, 864, 45, 96},
    {"nvidia-h100-80gb-hbm3", "h100,h100-sxm,h100-sxm5", "NVIDIA H100 80GB HBM3", 90, 132, 1.830,
     3350, 80, 50},
    {"nvidia-h100-pcie", "h100-pcie", "NVIDIA H100 PCIe", 90, 114, 1.620, 2039, 80, 50},
    {"nvidia-h100-nvl", "h100-nvl", "NVIDIA H100 NVL", 90, 132, 1.545, 3938, 94, 50},
    {"nvidia-h200", "h200", "NVIDIA H200", 90, 132, 1.830, 4800, 140, 60},
}};

// Lower-case letters and digits only, without the maker's name.
std::string normal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  constexpr std::string_view kMaker = "nvidia";
  if (out.starts_with(kMaker)) out.erase(0, kMaker.size());
  return out;
}

bool has_alias(std::string_view aliases, const std::string& wanted) {
  while (!aliases.empty()) {
    const auto comma = std::min(aliases.find(','), aliases.size());
    if (normal(aliases.substr(0, comma)) == wanted) return true;
    aliases.remove_prefix(std::min(comma + 1, aliases.size()));
  }
  return false;
}

// Flops (fma = 2) of one multiprocessor in a clock.
struct Rates {
  int f32, tf32, f16, f8, int8;
};

Rates rates_per_clock(int sm) {
  if (sm >= 120) return {256, 512, 1024, 2048, 2048};
  if (sm >= 100) return {256, 4096, 8192, 16384, 16384};
  if (sm >= 90) return {256, 2048, 4096, 8192, 8192};
  if (sm >= 89) return {256, 512, 1024, 2048, 2048};
  if (sm >= 86) return {256, 512, 1024, 0, 2048};
  return {128, 1024, 2048, 0, 4096};
}

bool half_rate(std::string_view name) {
  return name.find("GeForce") != std::string_view::npos ||
         name.find("A10G") != std::string_view::npos;
}

}  // namespace

std::span<const KnownGpu> known_gpus() {
  return kGpus;
}

const KnownGpu* find_known_gpu(std::string_view name) {
  const std::string wanted = normal(name);
  for (const auto& gpu : kGpus) {
    if (normal(gpu.slug) == wanted || normal(gpu.name) == wanted || has_alias(gpu.alias, wanted)) {
      return &gpu;
    }
  }
  return nullptr;
}

DeviceProfile describe(const KnownGpu& gpu) {
  DeviceProfile profile;
  profile.kind = DeviceKind::cuda;
  profile.name = gpu.name;
  profile.slug = gpu.slug;
  profile.cuda.sm = gpu.sm;
  profile.cuda.multiprocessors = gpu.multiprocessors;
  profile.cuda.clock_ghz = gpu.clock_ghz;
  profile.cuda.memory_bytes_per_s = gpu.memory_gbs * 1e9 * kAttainableBandwidth;
  profile.cuda.memory_bytes = static_cast<std::size_t>(gpu.memory_gib * (1U << 30));
  profile.cuda.l2_bytes = static_cast<std::size_t>(gpu.l2_mib * (1U << 20));
  set_shared_memory(profile.cuda);
  set_peak_rates(profile.cuda, gpu.name);
  return profile;
}

std::string slug_of(std::string_view name) {
  std::string slug;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (slug.ends_with('-')) slug.pop_back();
  return slug;
}

void set_peak_rates(CudaProfile& gpu, std::string_view name) {
  const Rates rates = rates_per_clock(gpu.sm);
  const double clocks = gpu.multiprocessors * gpu.clock_ghz * 1e9;
  const double tensor = half_rate(name) ? clocks / 2 : clocks;
  gpu.f32_flops = rates.f32 * clocks;
  gpu.tf32_flops = rates.tf32 * tensor;
  gpu.f16_flops = rates.f16 * tensor;
  gpu.f8_flops = rates.f8 * tensor;
  gpu.int8_ops = rates.int8 * clocks;
}

void set_shared_memory(CudaProfile& gpu) {
  std::size_t kib = 100;  // 8.6, 8.9, 12.x
  if (gpu.sm == 80 || gpu.sm == 87) kib = 164;
  if (gpu.sm >= 90 && gpu.sm < 120) kib = 228;
  gpu.shared_per_sm = kib << 10;
  gpu.shared_per_block = (kib - 1) << 10;  // the system keeps 1 KiB of each block
}

}  // namespace gemwright::cuda
