#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "device/calibrate.hpp"
#include "device/profile.hpp"
#include <gemwright/device.hpp>

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

std::string name_as_option(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return "cpu";
  return device.present() ? fmt::format("cuda:{}", device.ordinal()) : device.slug();
}

std::string units(const DeviceProfile& profile) {
  if (profile.kind == DeviceKind::cpu) {
    return count_text(static_cast<std::size_t>(profile.cpu.threads), "thread");
  }
  return fmt::format("{} SMs, sm_{}", profile.cuda.multiprocessors, profile.cuda.sm);
}

double bandwidth(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::cpu ? profile.cpu.dram_bytes_per_s_all
                                         : profile.cuda.memory_bytes_per_s;
}

double bf16_rate(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::cpu ? profile.cpu.bf16_flops * profile.cpu.threads
                                         : profile.cuda.f16_flops;
}

double f32_rate(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::cpu ? profile.cpu.f32_flops * profile.cpu.threads
                                         : profile.cuda.f32_flops;
}

bool is_calibrated(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::cpu ? profile.cpu.calibrated : profile.cuda.calibrated;
}

Json json_of(const Device& device) {
  const DeviceProfile& profile = device.profile();
  Json json;
  json["device"] = name_as_option(device);
  json["kind"] = device.kind() == DeviceKind::cpu ? "cpu" : "cuda";
  json["name"] = device.name();
  json["slug"] = device.slug();
  json["key"] = device.key();
  json["present"] = device.present();
  json["driver"] = profile.driver;
  json["memory_bytes_per_s"] = bandwidth(profile);
  json["bf16_flops"] = bf16_rate(profile);
  json["f32_flops"] = f32_rate(profile);
  json["calibrated"] = is_calibrated(profile);
  return json;
}

int run_devices(Context& context, const OutputOptions& output, bool calibrate) {
  std::vector<Device> devices =
      output.device_name.empty()
          ? Device::all()
          : std::vector{calibrate ? output.present_device() : output.device()};
  if (calibrate) {
    for (Device& device : devices) device = calibrated(device, true);
  }
  if (output.json) {
    Json json = Json::array();
    for (const Device& device : devices) json.push_back(json_of(device));
    context.out << document(json);
    return kDone;
  }
  Table table({"device", "name", "units", "memory", "bf16", "fp32", "rates"});
  for (const Device& device : devices) {
    const DeviceProfile& profile = device.profile();
    table.add({name_as_option(device), device.name(), units(profile),
               fmt::format("{:.0f} GB/s", bandwidth(profile) * 1e-9),
               fmt::format("{:.1f} TFLOP/s", bf16_rate(profile) * 1e-12),
               fmt::format("{:.1f} TFLOP/s", f32_rate(profile) * 1e-12),
               is_calibrated(profile) ? "measured" : "typical"});
  }
  table.print(context.out);
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("devices", "What this machine can run on.");
  command->footer(R"(
Rates are measured ones once a device is calibrated (tune does so, in seconds), else typical ones.

Examples:
  gemwright devices
  gemwright devices --device h200
  gemwright devices --calibrate --json)");
  const auto output = std::make_shared<OutputOptions>();
  const auto calibrate = std::make_shared<bool>(false);
  output->add_to(*command, "all of this machine");
  command->add_flag("--calibrate", *calibrate, "measure the rates again");
  command->callback([&context, output, calibrate] {
    context.action = [&context, output, calibrate] {
      return run_devices(context, *output, *calibrate);
    };
  });
}

}  // namespace gemwright::cli
