// A GPU as the fixtures' Memory, and the skip where there is none.
#pragma once

#include "device/cuda/memory.hpp"
#include "support/gemm_case.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::test {

/// Blocks of a device, freed with this object; work goes to a stream of its own.
class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(int ordinal = 0) : ordinal_(ordinal) {}

  void* allocate(std::size_t bytes) override {
    // Small blocks share one: thousands of cases would else wait for thousands of allocations.
    constexpr std::size_t kBlock = std::size_t{64} << 20;
    const std::size_t rounded = (bytes + 511) / 512 * 512;
    if (blocks_.empty() || used_ + rounded > blocks_.back().bytes()) {
      blocks_.emplace_back(ordinal_, std::max(rounded, kBlock));
      used_ = 0;
    }
    void* at = static_cast<char*>(blocks_.back().data()) + used_;
    used_ += rounded;
    return at;
  }

  void upload(void* to, const void* from, std::size_t bytes) override {
    const cuda::CurrentContext current(ordinal_);
    cuda::check(cuda::driver().memcpy_to_device(reinterpret_cast<CUdeviceptr>(to), from, bytes,
                                                own_stream().handle()),
                "upload");
    own_stream().synchronize();
  }

  void download(void* to, const void* from, std::size_t bytes) override {
    const cuda::CurrentContext current(ordinal_);
    cuda::check(cuda::driver().memcpy_to_host(to, reinterpret_cast<CUdeviceptr>(from), bytes,
                                              own_stream().handle()),
                "download");
    own_stream().synchronize();
  }

  Stream stream() override { return {own_stream().handle()}; }
  /// Made at first use: a fixture's members exist before its SetUp can skip for want of a device.
  const cuda::OwnStream& own_stream() {
    if (!stream_) stream_.emplace(ordinal_);
    return *stream_;
  }

  /// Forgets what was allocated, and keeps the last block for what comes.
  void clear() {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
    used_ = 0;
  }

 private:
  int ordinal_;
  std::optional<cuda::OwnStream> stream_;
  std::vector<cuda::Buffer> blocks_;
  std::size_t used_ = 0;
};

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why = "there is no CUDA device";
    if (cuda::find_driver(&why) == nullptr) GTEST_SKIP() << why;
  }
};

}  // namespace gemwright::test
