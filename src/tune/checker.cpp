#include "tune/checker.hpp"

#include "device/profile.hpp"
#include "tune/validate.hpp"
#include <gemwright/errors.hpp>

#include <array>
#include <new>
#include <thread>
#include <utility>

namespace gemwright::tune {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"right", "build", "wrong",  "overflow",
                                                    "fault", "hang",  "memory", "undone"};

Verdict check_built(const Kernel& kernel, const Problem& problem, Testbed& testbed,
                    const Reference& reference) {
  try {
    std::string failure = validate(kernel, problem, testbed, reference);
    if (failure.empty()) return {};
    return {reference.overflows() ? Verdict::Kind::overflow : Verdict::Kind::wrong,
            std::move(failure)};
  } catch (const OutOfMemory& error) {
    return {Verdict::Kind::memory, error.what()};
  } catch (const std::bad_alloc&) {
    return {Verdict::Kind::memory, "out of memory"};
  } catch (const std::exception& error) {
    return {Verdict::Kind::fault, error.what()};
  }
}

}  // namespace

std::string_view name(Verdict::Kind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

Verdict::Kind parse_kind(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Verdict::Kind>(i);
  }
  throw InvalidArgument("kind", std::string(text), "right to undone");
}

void Checker::prepare(const Problem& problem, const Device& device) {
  release();
  const int threads = device.kind() == DeviceKind::cpu
                          ? device.profile().cpu.cores
                          : static_cast<int>(std::thread::hardware_concurrency());
  auto testbed = make_testbed(problem, device, {.copies = 1, .guard_pages = guard_pages_});
  prepared_.emplace(Prepared{problem, device, std::move(testbed), Reference(problem, threads)});
}

Verdict Checker::check(const Family& family, const Configuration& configuration) {
  if (!prepared_) return {Verdict::Kind::undone, "no problem was prepared"};
  std::shared_ptr<const Kernel> kernel;
  try {
    kernel = family.build(prepared_->problem, prepared_->device, configuration);
  } catch (const OutOfMemory& error) {
    return {Verdict::Kind::memory, error.what()};
  } catch (const std::bad_alloc&) {
    return {Verdict::Kind::memory, "out of memory"};
  } catch (const std::exception& error) {
    return {Verdict::Kind::build, error.what()};
  }
  return check_built(*kernel, prepared_->problem, *prepared_->testbed, prepared_->reference);
}

void Checker::release() {
  prepared_.reset();
}

}  // namespace gemwright::tune
