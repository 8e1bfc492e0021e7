#include "device/cuda/calibration.hpp"

#include "device/constants_file.hpp"
#include "device/cuda/launch.hpp"
#include "device/cuda/memory.hpp"
#include "files/files.hpp"
#include "log/log.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

// Raised when a constant is measured otherwise or means something else.
constexpr int kVersion = 2;

constexpr int kThreads = 256;
constexpr int kUnroll = 4;
constexpr int kRounds = 5;

std::array<NamedConstant, 2> named_constants(CudaProfile& gpu) {
  return {{{"launch_s", &gpu.launch_s}, {"memory_bytes_per_s", &gpu.memory_bytes_per_s}}};
}

std::string key_of(const DeviceProfile& profile) {
  return Device(std::make_shared<DeviceProfile>(profile), 0, true).key();
}

std::filesystem::path path_of(const DeviceProfile& profile) {
  return files::cache_folder() / "calibration" / (profile.slug + ".json");
}

// The kernels of calibrate.cu on one device, and the memory that they read.
class Bench {
 public:
  explicit Bench(const Device& device)
      : gpu_(device.profile().cuda),
        ordinal_(device.ordinal()),
        stream_(ordinal_),
        start_(ordinal_),
        end_(ordinal_) {
    const auto compiled =
        compile::compile({"calibrate.cu",
                          fmt::format("constexpr int kThreads = {};\nconstexpr int kUnroll = {};\n",
                                      kThreads, kUnroll),
                          "read_kernel", gpu_.sm, false});
    empty_ = LoadedKernel::load(device, compiled, "empty_kernel", 0);
    read_ = LoadedKernel::load(device, compiled, "read_kernel", 0);
    const CurrentContext current(ordinal_);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(driver().mem_get_info(&free_bytes, &total_bytes), "cuMemGetInfo");
    // Far beyond L2, so that what is left of the last pass hardly counts.
    bytes_ = std::min(64 * gpu_.l2_bytes, free_bytes / 2);
    memory_ = Buffer(ordinal_, bytes_ + 256);
    fill();
  }

  /// From the begin of a kernel to the begin of the next, inside a graph.
  double launch_seconds() {
    constexpr int kKernels = 200;
    const LaunchShape shape{.grid = {static_cast<unsigned>(gpu_.multiprocessors), 1, 1},
                            .threads = kThreads};
    return best([&] {
             for (int i = 0; i < kKernels; ++i) empty_->launch(shape, nullptr, stream());
           }) /
           kKernels;
  }

  double memory_rate() {
    return static_cast<double>(bytes_) / best([&] { read(); });
  }

 private:
  Stream stream() const { return {stream_.handle()}; }
  void* result() const { return static_cast<char*>(memory_.data()) + bytes_; }

  // Random words: zeros are read faster than memory delivers anything else.
  void fill() {
    std::mt19937 random(1);
    std::vector<unsigned> words(std::size_t{1} << 20);
    std::generate(words.begin(), words.end(), std::ref(random));
    std::size_t done = std::min(words.size() * sizeof(unsigned), memory_.bytes());
    check(driver().memcpy_to_device(memory_.address(), words.data(), done, stream_.handle()),
          "cuMemcpyHtoDAsync");
    while (done < memory_.bytes()) {
      const std::size_t count = std::min(done, memory_.bytes() - done);
      check(driver().memcpy_on_device(memory_.address() + done, memory_.address(), count,
                                      stream_.handle()),
            "cuMemcpyDtoDAsync");
      done += count;
    }
    stream_.synchronize();
  }

  void read() {
    const void* data = memory_.data();
    void* out = result();
    auto count = static_cast<long long>(bytes_ / 16);
    void* arguments[] = {&data, &count, &out};
    const auto grid = static_cast<unsigned>(8 * gpu_.multiprocessors);
    read_->launch({.grid = {grid, 1, 1}, .threads = kThreads}, arguments, stream());
  }

  // Least time of a few replays of what `record` enqueues.
  template <typename Record>
  double best(Record&& record) {
    const Graph graph(ordinal_, stream_, record);
    graph.launch(stream_);
    double seconds = 1e9;
    for (int round = 0; round < kRounds; ++round) {
      start_.record(stream_);
      graph.launch(stream_);
      end_.record(stream_);
      seconds = std::min(seconds, Event::seconds_between(start_, end_));
    }
    return seconds;
  }

  const CudaProfile& gpu_;
  int ordinal_;
  OwnStream stream_;
  Event start_;
  Event end_;
  std::shared_ptr<const LoadedKernel> empty_, read_;
  std::size_t bytes_ = 0;
  Buffer memory_;
};

void measure(const Device& device, CudaProfile& gpu) {
  Bench bench(device);
  gpu.launch_s = bench.launch_seconds();
  gpu.memory_bytes_per_s = bench.memory_rate();
  gpu.calibrated = true;
}

}  // namespace

bool attach_calibration(DeviceProfile& profile) {
  const auto text = files::read(path_of(profile));
  if (!text) return false;
  if (!parse_constants(*text, kVersion, key_of(profile), named_constants(profile.cuda))) {
    log::info("the calibration in {} is not of this GPU and version", path_of(profile).string());
    return false;
  }
  profile.cuda.calibrated = true;
  return true;
}

Device calibrated(const Device& device, bool again) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto profile = std::make_shared<DeviceProfile>(device.profile());
  if (again || !attach_calibration(*profile)) {
    try {
      measure(device, profile->cuda);
      files::write_atomically(path_of(*profile), constants_text(kVersion, key_of(*profile),
                                                                named_constants(profile->cuda)));
    } catch (const Error& error) {
      log::warn("{} is not calibrated, or that is not kept: {}", device.name(), error.what());
    }
  }
  return {std::move(profile), device.ordinal(), device.present()};
}

}  // namespace gemwright::cuda
