// Facts of GPUs that are known without being here.
#pragma once

#include "device/profile.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gemwright::cuda {

/// One row of the table, from NVIDIA's data sheets and what the driver says on the real ones.
struct KnownGpu {
  std::string_view slug;   // "nvidia-l40s"
  std::string_view alias;  // other usual names, comma separated; may be empty
  std::string_view name;   // as the driver says
  int sm;
  int multiprocessors;
  double clock_ghz;   // at which the data sheet states its peaks
  double memory_gbs;  // of the data sheet, in 10^9 bytes/s
  double memory_gib;
  double l2_mib;
};

std::span<const KnownGpu> known_gpus();

/// By slug with or without "nvidia-", alias, or the driver's name; case, spaces and dashes do not
/// matter. Null when there is none.
const KnownGpu* find_known_gpu(std::string_view name);

/// The profile that the row describes.
DeviceProfile describe(const KnownGpu& gpu);

/// "NVIDIA H100 PCIe" as "nvidia-h100-pcie".
std::string slug_of(std::string_view name);

/// Sets the peak rates, dense, from what one multiprocessor of the architecture does in a clock.
/// Tensor rates with fp32 accumulation are halved on the cards of the GeForce line (and A10G).
void set_peak_rates(CudaProfile& gpu, std::string_view name);

/// Shared memory of an architecture, per multiprocessor and largest per block (CUDA programming
/// guide, compute capabilities).
void set_shared_memory(CudaProfile& gpu);

/// Part of the data sheet's memory bandwidth that reading attains: 4.39 of 4.8 TB/s on an H200. Not
/// measured on the others; the calibration replaces it where a device is present.
inline constexpr double kAttainableBandwidth = 0.91;

}  // namespace gemwright::cuda
