// Device memory, pinned host memory, streams and events that free themselves.
#pragma once

#include "device/cuda/driver.hpp"

#include <cstddef>
#include <utility>

namespace gemwright::cuda {

/// Memory on a device, aligned to 256 bytes or more. Freeing waits for the device's work.
class Buffer {
 public:
  Buffer() = default;
  /// Throws OutOfMemory, or DeviceError when the device fails.
  Buffer(int ordinal, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  CUdeviceptr address() const { return address_; }
  void* data() const { return reinterpret_cast<void*>(address_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(ordinal_, other.ordinal_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }

  int ordinal_ = 0;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

/// Page-locked host memory: copies from a device at the full rate of the link.
class PinnedBuffer {
 public:
  PinnedBuffer(int ordinal, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  int ordinal_;
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// A stream of its own that does not wait for the default stream.
class OwnStream {
 public:
  explicit OwnStream(int ordinal);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  CUstream handle() const { return handle_; }
  /// Waits; throws DeviceError when something on the stream failed.
  void synchronize() const;

 private:
  int ordinal_;
  CUstream handle_ = nullptr;
};

/// A point in a stream, for timing.
class Event {
 public:
  explicit Event(int ordinal);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const OwnStream& stream) const;
  /// Waits for both. Resolution is about half a microsecond.
  static double seconds_between(const Event& start, const Event& end);

 private:
  int ordinal_;
  CUevent handle_ = nullptr;
};

/// What was captured from a stream, ready to be launched many times.
class Graph {
 public:
  Graph() = default;
  /// Captures what `record` enqueues on the stream.
  template <typename Record>
  Graph(int ordinal, const OwnStream& stream, Record&& record) : ordinal_(ordinal) {
    begin(stream);
    try {
      record();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const OwnStream& stream) const;

 private:
  void begin(const OwnStream& stream) const;
  void abandon(const OwnStream& stream) const noexcept;
  void end(const OwnStream& stream);

  int ordinal_ = 0;
  CUgraphExec handle_ = nullptr;
};

}  // namespace gemwright::cuda
