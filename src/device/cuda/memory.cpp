#include "device/cuda/memory.hpp"

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

// Destructors: what fails there (a context that a fault has spoilt) has failed before.
template <typename Release>
void release(int ordinal, Release&& call) noexcept {
  try {
    const CurrentContext current(ordinal);
    call(driver());
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace

Buffer::Buffer(int ordinal, std::size_t bytes) : ordinal_(ordinal), bytes_(bytes) {
  if (bytes == 0) return;
  const CurrentContext current(ordinal);
  check(driver().mem_alloc(&address_, bytes), fmt::format("{} bytes on the device", bytes).c_str());
}

Buffer::~Buffer() {
  if (address_ != 0) {
    release(ordinal_, [this](const Driver& api) { api.mem_free(address_); });
  }
}

PinnedBuffer::PinnedBuffer(int ordinal, std::size_t bytes) : ordinal_(ordinal), bytes_(bytes) {
  if (bytes == 0) return;
  const CurrentContext current(ordinal);
  check(driver().mem_host_alloc(&data_, bytes, 0),
        fmt::format("{} bytes of pinned host memory", bytes).c_str());
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) {
    release(ordinal_, [this](const Driver& api) { api.mem_free_host(data_); });
  }
}

OwnStream::OwnStream(int ordinal) : ordinal_(ordinal) {
  const CurrentContext current(ordinal);
  check(driver().stream_create(&handle_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

OwnStream::~OwnStream() {
  release(ordinal_, [this](const Driver& api) { api.stream_destroy(handle_); });
}

void OwnStream::synchronize() const {
  const CurrentContext current(ordinal_);
  check(driver().stream_synchronize(handle_), "waiting for the device");
}

Event::Event(int ordinal) : ordinal_(ordinal) {
  const CurrentContext current(ordinal);
  check(driver().event_create(&handle_, CU_EVENT_DEFAULT), "cuEventCreate");
}

Event::~Event() {
  release(ordinal_, [this](const Driver& api) { api.event_destroy(handle_); });
}

void Event::record(const OwnStream& stream) const {
  const CurrentContext current(ordinal_);
  check(driver().event_record(handle_, stream.handle()), "cuEventRecord");
}

double Event::seconds_between(const Event& start, const Event& end) {
  const CurrentContext current(end.ordinal_);
  check(driver().event_synchronize(end.handle_), "waiting for the device");
  float milliseconds = 0;
  check(driver().event_elapsed_time(&milliseconds, start.handle_, end.handle_),
        "cuEventElapsedTime");
  return milliseconds * 1e-3;
}

void Graph::begin(const OwnStream& stream) const {
  const CurrentContext current(ordinal_);
  check(driver().stream_begin_capture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
}

void Graph::abandon(const OwnStream& stream) const noexcept {
  release(ordinal_, [&stream](const Driver& api) {
    CUgraph graph = nullptr;
    api.stream_end_capture(stream.handle(), &graph);
    if (graph != nullptr) api.graph_destroy(graph);
  });
}

void Graph::end(const OwnStream& stream) {
  const CurrentContext current(ordinal_);
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(stream.handle(), &graph), "cuStreamEndCapture");
  const CUresult result = driver().graph_instantiate(&handle_, graph, 0);
  driver().graph_destroy(graph);
  check(result, "cuGraphInstantiateWithFlags");
  check(driver().graph_upload(handle_, stream.handle()), "cuGraphUpload");
}

Graph::~Graph() {
  if (handle_ != nullptr) {
    release(ordinal_, [this](const Driver& api) { api.graph_exec_destroy(handle_); });
  }
}

void Graph::launch(const OwnStream& stream) const {
  const CurrentContext current(ordinal_);
  check(driver().graph_launch(handle_, stream.handle()), "cuGraphLaunch");
}

}  // namespace gemwright::cuda
