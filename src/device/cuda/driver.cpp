#include "device/cuda/driver.hpp"

#include "files/shared_library.hpp"

#include <array>
#include <atomic>
#include <memory>

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

constexpr int kMaxDevices = 64;

const files::SharedLibrary& library() {
  static const files::SharedLibrary opened = [] {
    constexpr std::array names{"libcuda.so.1"};
    return files::open_library("GEMWRIGHT_LIBCUDA", names, nullptr);
  }();
  return opened;
}

struct State {
  std::unique_ptr<const Driver> driver;
  std::string error;
};

State open_driver() {
  State state;
  if (!library()) {
    state.error = fmt::format(
        "there is no CUDA driver: {}. Install NVIDIA's driver (525 or newer), or use the CPU",
        library().error);
    return state;
  }
  try {
    auto driver = std::make_unique<const Driver>();
    const CUresult result = driver->init(0);
    if (result != CUDA_SUCCESS) {
      const char* text = nullptr;
      driver->get_error_string(result, &text);
      state.error =
          fmt::format("the CUDA driver does not start: cuInit says {} ({})",
                      text == nullptr ? "an unknown error" : text, static_cast<int>(result));
      return state;
    }
    state.driver = std::move(driver);
  } catch (const DeviceError& error) {
    state.error = error.what();
  }
  return state;
}

const State& state() {
  static const State opened = open_driver();
  return opened;
}

}  // namespace

void* driver_symbol(const char* name, int version) {
  static const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v11030>(library().symbol("cuGetProcAddress"));
  void* function = nullptr;
  if (get == nullptr ||
      get(name, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM) != CUDA_SUCCESS ||
      function == nullptr) {
    throw DeviceError(fmt::format(
        "the CUDA driver ({}) lacks {}: it is too old, install 525 (CUDA 12.0) or newer",
        library().path, name));
  }
  return function;
}

const Driver* find_driver(std::string* why) {
  if (state().driver == nullptr && why != nullptr) *why = state().error;
  return state().driver.get();
}

const Driver& driver() {
  if (state().driver == nullptr) throw DeviceError(state().error);
  return *state().driver;
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* error = nullptr;
  const char* text = nullptr;
  driver().get_error_name(result, &error);
  driver().get_error_string(result, &text);
  const auto message =
      fmt::format("{}: {} ({})", what, error == nullptr ? "unknown CUDA error" : error,
                  text == nullptr ? "no text" : text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(message);
  throw DeviceError(message);
}

CUcontext primary_context(int ordinal) {
  // Retaining twice in a race is harmless: it counts, and is never released.
  static std::array<std::atomic<CUcontext>, kMaxDevices> contexts{};
  if (ordinal < 0 || ordinal >= kMaxDevices) {
    throw DeviceError(fmt::format("there is no CUDA device {}", ordinal));
  }
  CUcontext context = contexts[ordinal].load(std::memory_order_acquire);
  if (context == nullptr) {
    CUdevice device = 0;
    check(driver().device_get(&device, ordinal), "cuDeviceGet");
    check(driver().primary_ctx_retain(&context, device), "cuDevicePrimaryCtxRetain");
    contexts[ordinal].store(context, std::memory_order_release);
  }
  return context;
}

CurrentContext::CurrentContext(int ordinal) {
  check(driver().ctx_push_current(primary_context(ordinal)), "cuCtxPushCurrent");
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  driver().ctx_pop_current(&popped);
}

}  // namespace gemwright::cuda
