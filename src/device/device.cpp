#include "device/cpu/calibration.hpp"
#include "device/cpu/detect.hpp"
#include "device/cuda/devices.hpp"
#include "device/profile.hpp"
#include <gemwright/device.hpp>
#include <gemwright/errors.hpp>

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gemwright {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  std::string allowed = "cpu, cpu:THREADS, cuda, cuda:ORDINAL";
  const auto slugs = cuda::known_slugs();
  allowed += slugs.empty() ? " (this build has no CUDA half, and knows no GPU by name)"
                           : fmt::format(", or one of {}", fmt::join(slugs, ", "));
  throw InvalidArgument("device", std::string(text), allowed);
}

// The number after the colon of "cpu:4"; nothing when there is no colon.
std::optional<int> number_after_colon(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + colon + 1, end, number);
  if (error != std::errc() || last != end || number < 0) refuse(text);
  return number;
}

// No thread at all is no CPU: only Device::cpu() reads 0 as every core.
Device cpu_of(std::string_view text, std::optional<int> threads) {
  Device all = Device::cpu();
  if (!threads) return all;
  if (*threads < 1 || *threads > all.profile().cpu.cores) {
    throw InvalidArgument("device", std::string(text),
                          fmt::format("cpu:1 to cpu:{}, the cores that this process may use",
                                      all.profile().cpu.cores));
  }
  return Device::cpu(*threads);
}

std::string features_key(const CpuFeatures& f) {
  std::string key = f.avx512 ? "avx512" : f.avx2_fma ? "avx2" : "scalar";
  if (f.avx512_bf16) key += "+bf16";
  if (f.avx512_fp16) key += "+fp16";
  if (f.avx512_vnni) key += "+vnni";
  if (f.amx_bf16) key += "+amx";
  return key;
}

}  // namespace

Device Device::cpu(int threads) {
  static const DeviceProfile detected = cpu::detect();
  if (threads < 0 || threads > detected.cpu.cores) {
    throw InvalidArgument("threads", std::to_string(threads),
                          fmt::format("0 (all cores) to {}, the cores that this process may use",
                                      detected.cpu.cores));
  }
  auto profile = std::make_shared<DeviceProfile>(detected);
  if (threads > 0) profile->cpu.threads = threads;
  cpu::attach_calibration(*profile);
  return {std::move(profile), 0, true};
}

Device Device::cuda(int ordinal) {
  return cuda::device(ordinal);
}

Device Device::parse(std::string_view text) {
  const auto kind = text.substr(0, text.find(':'));
  if (kind == "cpu") return cpu_of(text, number_after_colon(text));
  if (kind == "cuda") return cuda(number_after_colon(text).value_or(0));
  for (int ordinal = 0; ordinal < cuda::device_count(); ++ordinal) {
    Device here = cuda(ordinal);
    if (here.slug() == text || here.slug() == fmt::format("nvidia-{}", text)) return here;
  }
  if (auto known = cuda::known_device(text)) return *known;
  refuse(text);
}

std::vector<Device> Device::all() {
  const int gpus = cuda::device_count();
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(gpus) + 1);
  for (int ordinal = 0; ordinal < gpus; ++ordinal) {
    devices.push_back(cuda(ordinal));
  }
  devices.push_back(cpu());
  return devices;
}

DeviceKind Device::kind() const {
  return profile_->kind;
}

const std::string& Device::name() const {
  return profile_->name;
}

const std::string& Device::slug() const {
  return profile_->slug;
}

std::string Device::key() const {
  if (kind() == DeviceKind::cpu) {
    const CpuProfile& cpu = profile_->cpu;
    return fmt::format("{} {} threads={}/{} l2={}k l3={}k", slug(), features_key(cpu.features),
                       cpu.threads, cpu.cores, cpu.l2_bytes >> 10, cpu.l3_bytes >> 10);
  }
  const CudaProfile& gpu = profile_->cuda;
  return fmt::format("{} sm_{} units={} memory={}g", slug(), gpu.sm, gpu.multiprocessors,
                     gpu.memory_bytes >> 30);
}

}  // namespace gemwright
