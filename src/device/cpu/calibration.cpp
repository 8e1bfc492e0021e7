#include "device/cpu/calibration.hpp"

#include "device/constants_file.hpp"
#include "device/cpu/measure.hpp"
#include "files/file_lock.hpp"
#include "files/files.hpp"
#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright::cpu {
namespace {

// Raised when a constant is measured otherwise or means something else.
constexpr int kVersion = 2;

std::array<NamedConstant, 7> named_constants(CpuProfile& cpu) {
  return {{{"f32_flops", &cpu.f32_flops},
           {"bf16_flops", &cpu.bf16_flops},
           {"dram_bytes_per_s_1", &cpu.dram_bytes_per_s_1},
           {"dram_bytes_per_s_all", &cpu.dram_bytes_per_s_all},
           {"l3_bytes_per_s", &cpu.l3_bytes_per_s},
           {"l2_bytes_per_s", &cpu.l2_bytes_per_s},
           {"fork_join_s", &cpu.fork_join_s}}};
}

// Memory read for a bandwidth, over all threads; enough that starting up does not show.
constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;

void measure_rates(CpuProfile& cpu) {
  const int threads = std::min(cpu.threads, cpu.cores);
  const auto share = static_cast<std::size_t>(threads);
  cpu.f32_flops = math_rate(cpu.features, false, threads);
  cpu.bf16_flops =
      cpu.features.avx512_bf16 ? math_rate(cpu.features, true, threads) : cpu.f32_flops;
  cpu.dram_bytes_per_s_1 = memory_read_rate(cpu.features, kMemoryBytes / 2, 1);
  cpu.dram_bytes_per_s_all =
      std::max(cpu.dram_bytes_per_s_1,
               threads == 1 ? 0 : memory_read_rate(cpu.features, kMemoryBytes / share, threads));
  cpu.l2_bytes_per_s = cached_read_rate(cpu.features, cpu.l2_bytes / 2, threads) / threads;
  const std::size_t in_l3 =
      std::max(2 * cpu.l2_bytes, std::min(8 * cpu.l2_bytes, cpu.l3_bytes / 2 / share));
  cpu.l3_bytes_per_s = cached_read_rate(cpu.features, in_l3, threads) / threads;
  if (threads > 1) cpu.fork_join_s = fork_join_seconds(threads);
  cpu.calibrated = true;
}

std::filesystem::path lock_path(const DeviceProfile& profile) {
  const auto path = calibration_path(profile);
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  return path.string() + ".lock";
}

std::string key_of(const DeviceProfile& profile) {
  return Device(std::make_shared<DeviceProfile>(profile), 0, true).key();
}

}  // namespace

std::filesystem::path calibration_path(const DeviceProfile& profile) {
  return files::cache_folder() / "calibration" /
         fmt::format("{}-{}.json", profile.slug, profile.cpu.threads);
}

std::string calibration_text(const DeviceProfile& profile) {
  CpuProfile cpu = profile.cpu;
  return constants_text(kVersion, key_of(profile), named_constants(cpu));
}

bool parse_calibration(const std::string& text, DeviceProfile& profile) {
  if (!parse_constants(text, kVersion, key_of(profile), named_constants(profile.cpu))) return false;
  profile.cpu.calibrated = true;
  return true;
}

bool attach_calibration(DeviceProfile& profile) {
  const auto path = calibration_path(profile);
  const auto text = files::read(path);
  if (!text) return false;
  const bool good = parse_calibration(*text, profile);
  if (!good) log::info("the calibration in {} is not of this CPU and version", path.string());
  return good;
}

Device calibrated(const Device& device, bool again, double patience_s) {
  auto profile = std::make_shared<DeviceProfile>(device.profile());
  if (!again && attach_calibration(*profile)) return {std::move(profile), 0, true};
  const files::FileLock turn(lock_path(*profile), files::FileLock::Kind::alone, patience_s, [&] {
    log::warn("another process measures {}: waiting for at most {:g} s", device.name(), patience_s);
  });
  if (again || !attach_calibration(*profile)) {
    measure_rates(profile->cpu);
    try {
      files::write_atomically(calibration_path(*profile), calibration_text(*profile));
    } catch (const Error& error) {
      log::warn("the calibration is not kept: {}", error.what());
    }
  }
  return {std::move(profile), 0, true};
}

}  // namespace gemwright::cpu
