#include "tune/testbed.hpp"

#include "device/cuda/launch.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/nvml.hpp"
#include "device/profile.hpp"
#include "problem/extent.hpp"
#include "tune/cuda/look.hpp"
#include "tune/low_bit.hpp"
#include "tune/random.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

namespace gemwright::tune {
namespace {

using cuda::Buffer;
using cuda::check;
using cuda::CurrentContext;
using cuda::driver;
using cuda::Event;
using cuda::Graph;
using cuda::OwnStream;

constexpr std::size_t kAlignment = 4096;
// Before the timed runs the device is kept busy while the host enqueues them, so that no gap of the
// host's is timed, and activations are left warm: by runs, at most so many, a sixteenth of the
// timed ones where these are in a graph; or by copies out of A that move so many bytes, where a
// single run is timed, which takes longer than the host could need.
constexpr int kLeadRuns = 8;
constexpr std::size_t kLeadBytes = std::size_t{128} << 20;
constexpr int kLeadCopies = 16;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// An operand's storage, placed as base_offset says, and `copies` of it at equal distances.
struct Storage {
  Buffer buffer;
  CUdeviceptr base = 0;  // of the first copy's elements
  std::size_t bytes = 0;
  std::size_t pitch = 0;

  Storage() = default;
  Storage(int ordinal, std::size_t size, std::size_t offset, std::size_t guard, int copies)
      : bytes(size), pitch(round_up(size + offset)) {
    buffer = Buffer(ordinal, 2 * guard + copies * pitch + kAlignment);
    base = round_up(buffer.address()) + guard + offset;
  }
  void* copy(int index) const {
    return bytes == 0 ? nullptr : reinterpret_cast<void*>(base + index * pitch);
  }
};

class CudaTestbed;

class CudaRotation final : public Rotation {
 public:
  CudaRotation(const CudaTestbed& testbed, std::shared_ptr<const Kernel> kernel, int first,
               int runs);
  double seconds() override;

 private:
  void enqueue(int from, int count) const;

  const CudaTestbed& testbed_;
  const OwnStream& stream_;
  std::shared_ptr<const Kernel> kernel_;
  int first_;
  int runs_;
  int lead_runs_;
  Buffer workspace_;
  std::optional<Graph> lead_;   // none where one run is timed
  std::optional<Graph> timed_;  // neither where the scene is one of plain launches
  Event start_;
  Event end_;
};

class CudaTestbed final : public Testbed {
 public:
  CudaTestbed(const Problem& problem, const Device& device, const TestbedOptions& options);

  int copies() const override { return copies_; }
  void poison() override;
  void run(const Kernel& kernel, bool fresh) override;
  std::span<const std::byte> output() override;
  Written written() override;
  std::vector<double> values(std::span<const std::int64_t> places) override;
  std::unique_ptr<Rotation> rotation(std::shared_ptr<const Kernel> kernel, int runs) override;
  double clock_ghz() override { return cuda::sm_clock_ghz(ordinal_); }

  int ordinal() const { return ordinal_; }
  const Problem& problem() const { return problem_; }
  const OwnStream& stream() const { return stream_; }
  const Scene& scene() const { return scene_; }
  void zero(const Buffer& buffer) const;
  void rewrite_a() const;
  void copy_a() const;
  void enqueue(const Kernel& kernel, int copy, void* workspace) const;

 private:
  const Look* look();
  int copies_for(const TestbedOptions& options, const Device& device) const;
  Storage filled(const Operand& operand, std::int64_t rows, std::int64_t cols, Input input,
                 int copies) const;
  Storage filled_bias() const;
  void fill(const Storage& storage, DataType type, Input input) const;
  void fill_packed(const Storage& storage) const;
  void pack_dense(void* out) const;
  void replicate(const Storage& storage, int copies) const;

  Problem problem_;
  Device device_;
  int ordinal_;
  OwnStream stream_;
  Scene scene_;
  std::shared_ptr<const cuda::LoadedKernel> elementwise_;  // of the scene; may be null
  int copies_;
  Storage a_, b_, c_, d_, bias_;
  Buffer workspace_;
  std::optional<std::unique_ptr<Look>> look_;
  std::unique_ptr<cuda::PinnedBuffer> output_;
  int next_copy_ = 0;
};

CudaTestbed::CudaTestbed(const Problem& problem, const Device& device,
                         const TestbedOptions& options)
    : problem_(problem),
      device_(device),
      ordinal_(device.ordinal()),
      stream_(device.ordinal()),
      scene_(options.scene),
      copies_(copies_for(options, device)) {
  a_ = filled(problem_.a, problem_.m, problem_.k, Input::a, 1);
  b_ = filled(problem_.b, problem_.k, problem_.n, Input::b, copies_);
  if (problem_.c) c_ = filled(*problem_.c, problem_.m, problem_.n, Input::c, 1);
  if (problem_.bias != Bias::none) bias_ = filled_bias();
  d_ = Storage(ordinal_, storage_bytes(problem_, problem_.d, problem_.m, problem_.n),
               base_offset(problem_.d), kGuardBytes, 1);
  if (scene_.elementwise) {
    const compile::Source source{"elementwise.cu", "", "elementwise_kernel",
                                 device.profile().cuda.sm, false};
    elementwise_ =
        cuda::LoadedKernel::load(device, compile::compile(source), source.kernel_name, 0);
  }
  poison();
}

int CudaTestbed::copies_for(const TestbedOptions& options, const Device& device) const {
  if (options.copies > 0) return options.copies;
  const CurrentContext current(ordinal_);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(driver().mem_get_info(&free_bytes, &total_bytes), "cuMemGetInfo");
  return rotating_copies(problem_, device.profile().cuda.l2_bytes, free_bytes / 2);
}

Storage CudaTestbed::filled(const Operand& operand, std::int64_t rows, std::int64_t cols,
                            Input input, int copies) const {
  const auto bytes = static_cast<std::size_t>(storage_bytes(problem_, operand, rows, cols));
  Storage storage(ordinal_, bytes, base_offset(operand), 0, copies);
  if (bytes == 0) return storage;
  if (operand.packed) {
    fill_packed(storage);
  } else {
    fill(storage, operand.type, input);
  }
  replicate(storage, copies);
  return storage;
}

Storage CudaTestbed::filled_bias() const {
  const std::int64_t entries = problem_.bias == Bias::per_row ? problem_.m : problem_.n;
  Storage storage(ordinal_, entries * size_bytes(problem_.bias_type), 0, 0, 1);
  fill(storage, problem_.bias_type, Input::bias);
  return storage;
}

// One period from the host; then what is there doubles itself.
void CudaTestbed::fill(const Storage& storage, DataType type, Input input) const {
  const CurrentContext current(ordinal_);
  const auto period = random_period(type, input, input_scale(problem_, input));
  std::size_t done = std::min(period.size(), storage.bytes);
  check(driver().memcpy_to_device(storage.base, period.data(), done, stream_.handle()),
        "cuMemcpyHtoDAsync");
  while (done < storage.bytes) {
    const std::size_t count = std::min(done, storage.bytes - done);
    check(driver().memcpy_on_device(storage.base + done, storage.base, count, stream_.handle()),
          "cuMemcpyDtoDAsync");
    done += count;
  }
  stream_.synchronize();  // the period is this function's
}

void CudaTestbed::fill_packed(const Storage& storage) const {
  std::vector<std::byte> packed(storage.bytes + 64);
  auto* aligned = packed.data() + 64 - reinterpret_cast<std::uintptr_t>(packed.data()) % 64;
  if (problem_.weight) {
    pack_weights(test_weight(problem_), aligned);
  } else {
    pack_dense(aligned);
  }
  const CurrentContext current(ordinal_);
  check(driver().memcpy_to_device(storage.base, aligned, storage.bytes, stream_.handle()),
        "cuMemcpyHtoDAsync");
  stream_.synchronize();
}

void CudaTestbed::pack_dense(void* out) const {
  const auto elements = problem_.k * problem_.n;
  const auto type = problem_.b.type;
  Problem plain = problem_;
  plain.b = {.type = type, .row_stride = problem_.n, .col_stride = 1};
  std::vector<std::byte> values(static_cast<std::size_t>(elements * size_bytes(type)));
  fill_random(values.data(), 0, elements, type,
              random_period(type, Input::b, input_scale(problem_, Input::b)));
  pack_weights(plain, values.data(), out);
}

void CudaTestbed::replicate(const Storage& storage, int copies) const {
  const CurrentContext current(ordinal_);
  for (int i = 1; i < copies; ++i) {
    check(driver().memcpy_on_device(storage.base + i * storage.pitch, storage.base, storage.bytes,
                                    stream_.handle()),
          "cuMemcpyDtoDAsync");
  }
  stream_.synchronize();
}

void CudaTestbed::poison() {
  const CurrentContext current(ordinal_);
  check(driver().memset_bytes(d_.base - kGuardBytes, std::to_integer<unsigned char>(kPoison),
                              d_.bytes + 2 * kGuardBytes, stream_.handle()),
        "cuMemsetD8Async");
  stream_.synchronize();
}

void CudaTestbed::zero(const Buffer& buffer) const {
  if (buffer.bytes() == 0) return;
  const CurrentContext current(ordinal_);
  check(driver().memset_bytes(buffer.address(), 0, buffer.bytes(), stream_.handle()),
        "cuMemsetD8Async");
}

void CudaTestbed::rewrite_a() const {
  constexpr unsigned kThreads = 256;
  constexpr CUdeviceptr kWord = 16;
  const CUdeviceptr first = (a_.base + kWord - 1) / kWord * kWord;
  CUdeviceptr data = first;
  auto words = static_cast<long long>((a_.base + a_.bytes - first) / kWord);
  unsigned zero = 0;
  void* arguments[] = {&data, &words, &zero};
  const auto grid = static_cast<unsigned>(std::clamp<long long>(words / kThreads, 1, 1024));
  elementwise_->launch({.grid = {grid, 1, 1}, .threads = kThreads}, arguments,
                       Stream{stream_.handle()});
}

void CudaTestbed::copy_a() const {
  const std::size_t bytes = std::min(a_.bytes, d_.bytes);
  if (bytes == 0) return;
  const CurrentContext current(ordinal_);
  const std::size_t copies = std::clamp<std::size_t>(kLeadBytes / bytes, 1, kLeadCopies);
  for (std::size_t i = 0; i < copies; ++i) {
    check(driver().memcpy_on_device(d_.base, a_.base, bytes, stream_.handle()),
          "cuMemcpyDtoDAsync");
  }
}

void CudaTestbed::enqueue(const Kernel& kernel, int copy, void* workspace) const {
  if (elementwise_) rewrite_a();
  const Operands operands{.a = a_.copy(0),
                          .b = b_.copy(copy),
                          .c = c_.copy(0),
                          .d = d_.copy(0),
                          .bias = bias_.copy(0),
                          .early = scene_.early};
  kernel.run(problem_, operands, workspace, Stream{stream_.handle()});
}

void CudaTestbed::run(const Kernel& kernel, bool fresh) {
  const std::size_t needed = kernel.workspace_bytes(problem_);
  if (workspace_.bytes() < needed) {
    workspace_ = Buffer(ordinal_, needed);
    fresh = true;
  }
  if (fresh) zero(workspace_);
  enqueue(kernel, 0, workspace_.data());
  stream_.synchronize();
}

std::span<const std::byte> CudaTestbed::output() {
  const std::size_t bytes = d_.bytes + 2 * kGuardBytes;
  if (output_ == nullptr) output_ = std::make_unique<cuda::PinnedBuffer>(ordinal_, bytes);
  const CurrentContext current(ordinal_);
  check(driver().memcpy_to_host(output_->data(), d_.base - kGuardBytes, bytes, stream_.handle()),
        "cuMemcpyDtoHAsync");
  stream_.synchronize();
  return {output_->data(), bytes};
}

// Null where D has to be looked through on the host. Made when it is needed: timing needs none.
const Look* CudaTestbed::look() {
  if (!look_) look_ = Look::make(device_, problem_.d.type);
  return look_->get();
}

Written CudaTestbed::written() {
  const DataType type = problem_.d.type;
  const Look* look = this->look();
  if (look == nullptr) {
    return look_through(type, output(), static_cast<int>(std::thread::hardware_concurrency()));
  }
  const std::int64_t guard = kGuardBytes / size_bytes(type);
  const auto elements = static_cast<std::int64_t>(d_.bytes) / size_bytes(type);
  const auto body = look->count(d_.base, elements, stream_);
  const bool outside = look->count(d_.base - kGuardBytes, guard, stream_).ones < guard ||
                       look->count(d_.base + d_.bytes, guard, stream_).ones < guard;
  return {.outside = outside, .poison = body.ones, .nan = body.nan};
}

std::vector<double> CudaTestbed::values(std::span<const std::int64_t> places) {
  const Look* look = this->look();
  if (look == nullptr) return values_at(problem_.d.type, output(), places);
  return look->gather(d_.base, places, stream_);
}

std::unique_ptr<Rotation> CudaTestbed::rotation(std::shared_ptr<const Kernel> kernel, int runs) {
  auto made = std::make_unique<CudaRotation>(*this, std::move(kernel), next_copy_, runs);
  next_copy_ = (next_copy_ + runs) % copies_;
  return made;
}

CudaRotation::CudaRotation(const CudaTestbed& testbed, std::shared_ptr<const Kernel> kernel,
                           int first, int runs)
    : testbed_(testbed),
      stream_(testbed.stream()),
      kernel_(std::move(kernel)),
      first_(first),
      runs_(runs),
      lead_runs_(testbed.scene().launches ? std::min(runs, kLeadRuns)
                                          : std::min((runs + 15) / 16, kLeadRuns)),
      start_(testbed.ordinal()),
      end_(testbed.ordinal()) {
  workspace_ = Buffer(testbed.ordinal(), kernel_->workspace_bytes(testbed.problem()));
  testbed.zero(workspace_);
  if (!testbed.scene().launches) {
    if (runs > 1) {
      lead_.emplace(testbed.ordinal(), stream_, [&] { enqueue(first_ - lead_runs_, lead_runs_); });
    }
    timed_.emplace(testbed.ordinal(), stream_, [&] { enqueue(first_, runs_); });
  }
  stream_.synchronize();
}

void CudaRotation::enqueue(int from, int count) const {
  const int copies = testbed_.copies();
  for (int i = 0; i < count; ++i) {
    testbed_.enqueue(*kernel_, ((from + i) % copies + copies) % copies, workspace_.data());
  }
}

double CudaRotation::seconds() {
  if (lead_) {
    lead_->launch(stream_);
  } else if (runs_ == 1) {
    testbed_.copy_a();
  } else {
    enqueue(first_ - lead_runs_, lead_runs_);
  }
  start_.record(stream_);
  if (timed_) {
    timed_->launch(stream_);
  } else {
    enqueue(first_, runs_);
  }
  end_.record(stream_);
  const double seconds = Event::seconds_between(start_, end_);
  stream_.synchronize();
  return seconds;
}

}  // namespace

std::unique_ptr<Testbed> make_cuda_testbed(const Problem& problem, const Device& device,
                                           const TestbedOptions& options) {
  return std::make_unique<CudaTestbed>(problem, device, options);
}

}  // namespace gemwright::tune
