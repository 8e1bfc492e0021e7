#include "tune/testbed.hpp"

#include "problem/extent.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>

namespace gemwright::tune {

std::int64_t storage_bytes(const Problem& problem, const Operand& operand, std::int64_t rows,
                           std::int64_t cols) {
  if (operand.packed) return static_cast<std::int64_t>(packed_weights_bytes(problem));
  return span_elements(operand, rows, cols, problem.batch) * size_bytes(operand.type);
}

std::int64_t base_offset(const Operand& operand) {
  return operand.alignment >= 16 ? 0 : operand.alignment;
}

int rotating_copies(const Problem& problem, std::size_t cache_bytes, std::size_t budget_bytes) {
  const std::int64_t bytes = storage_bytes(problem, problem.b, problem.k, problem.n);
  if (bytes == 0) return 1;
  const auto size = static_cast<std::size_t>(bytes);
  // Of small weights that many would be gigabytes of pages and minutes of mapping them.
  constexpr std::size_t kMost = 1 << 14;
  const std::size_t wanted = std::min(3 * cache_bytes / size + 1, kMost);
  return static_cast<int>(
      std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(1, budget_bytes / size)));
}

std::unique_ptr<Testbed> make_testbed(const Problem& problem, const Device& device,
                                      const TestbedOptions& options) {
  if (!device.present()) {
    throw DeviceError("nothing can run on " + device.name() + ": it is only described here");
  }
  if (device.kind() == DeviceKind::cpu) return make_cpu_testbed(problem, device, options);
#ifdef GEMWRIGHT_CUDA
  return make_cuda_testbed(problem, device, options);
#else
  throw DeviceError("this build has no CUDA half");
#endif
}

}  // namespace gemwright::tune
