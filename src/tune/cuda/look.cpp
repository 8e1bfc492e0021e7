#include "tune/cuda/look.hpp"

#include "device/profile.hpp"
#include "log/log.hpp"
#include "numeric/ceil_div.hpp"
#include "numeric/convert.hpp"
#include "tune/written.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

using cuda::Buffer;
using cuda::check;
using cuda::CurrentContext;
using cuda::driver;

constexpr unsigned kThreads = 256;
constexpr std::int64_t kMostBlocks = 1024;

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::max<std::int64_t>(numeric::ceil_div(threads, kThreads), 1));
}

}  // namespace

std::unique_ptr<Look> Look::make(const Device& device, DataType type) {
  const compile::Source source{
      .file = "look.cu",
      .preamble =
          fmt::format("constexpr int kWordBytes = {};\nconstexpr unsigned kInfinity = {};\n",
                      size_bytes(type), infinity_bits(type)),
      .kernel_name = "count_kernel",
      .sm = device.profile().cuda.sm};
  compile::Compiled compiled;
  try {
    compiled = compile::compile(source);
  } catch (const Error& error) {
    log::info("D is looked through on the host: {}", error.what());
    return nullptr;
  }
  return std::unique_ptr<Look>(new Look(device, type, compiled));
}

Look::Look(const Device& device, DataType type, const compile::Compiled& compiled)
    : ordinal_(device.ordinal()),
      type_(type),
      count_(cuda::LoadedKernel::load(device, compiled, "count_kernel", 0)),
      gather_(cuda::LoadedKernel::load(device, compiled, "gather_kernel", 0)) {}

Look::Counts Look::count(CUdeviceptr first, std::int64_t elements,
                         const cuda::OwnStream& stream) const {
  const CurrentContext current(ordinal_);
  std::array<unsigned long long, 2> totals{};
  const Buffer buffer(ordinal_, sizeof totals);
  check(driver().memset_bytes(buffer.address(), 0, sizeof totals, stream.handle()),
        "cuMemsetD8Async");
  CUdeviceptr to = buffer.address();
  auto count = static_cast<long long>(elements);
  void* arguments[] = {&first, &count, &to};
  const std::int64_t blocks = std::min<std::int64_t>(blocks_for(elements / 8), kMostBlocks);
  count_->launch({.grid = {static_cast<unsigned>(blocks), 1, 1}, .threads = kThreads}, arguments,
                 Stream{stream.handle()});
  check(driver().memcpy_to_host(totals.data(), to, sizeof totals, stream.handle()),
        "cuMemcpyDtoHAsync");
  stream.synchronize();
  return {static_cast<std::int64_t>(totals[0]), static_cast<std::int64_t>(totals[1])};
}

std::vector<double> Look::gather(CUdeviceptr first, std::span<const std::int64_t> places,
                                 const cuda::OwnStream& stream) const {
  std::vector<double> values;
  if (places.empty()) return values;
  const CurrentContext current(ordinal_);
  const Buffer at(ordinal_, places.size_bytes());
  const Buffer found(ordinal_, places.size() * static_cast<std::size_t>(size_bytes(type_)));
  check(driver().memcpy_to_device(at.address(), places.data(), at.bytes(), stream.handle()),
        "cuMemcpyHtoDAsync");
  CUdeviceptr from = at.address();
  CUdeviceptr to = found.address();
  auto count = static_cast<long long>(places.size());
  void* arguments[] = {&first, &from, &count, &to};
  gather_->launch({.grid = {blocks_for(count), 1, 1}, .threads = kThreads}, arguments,
                  Stream{stream.handle()});
  std::vector<std::byte> words(found.bytes());
  check(driver().memcpy_to_host(words.data(), to, words.size(), stream.handle()),
        "cuMemcpyDtoHAsync");
  stream.synchronize();
  values.reserve(places.size());
  for (std::int64_t i = 0; i < std::ssize(places); ++i) {
    values.push_back(numeric::load(type_, words.data(), i));
  }
  return values;
}

}  // namespace gemwright::tune
