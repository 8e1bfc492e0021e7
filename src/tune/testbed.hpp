// The operands of one problem on one device: where kernels are checked and timed.
#pragma once

#include "families/family.hpp"
#include "tune/written.hpp"
#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gemwright::tune {

/// Bytes kept before and after D's elements; a kernel that writes there is wrong.
inline constexpr std::int64_t kGuardBytes = 4096;

/// Every byte of D's storage before a checked run. 0xFF.. is a NaN in every type, and one that no
/// arithmetic unit produces.
inline constexpr std::byte kPoison{0xFF};

/// Copies of B needed so that each is out of the last-level cache when its turn comes again: three
/// times `cache_bytes` in all, but no more than `budget_bytes` and 16384 copies; at least 1, and 1
/// when the problem reads no B.
int rotating_copies(const Problem& problem, std::size_t cache_bytes, std::size_t budget_bytes);

/// Bytes of an operand's storage, gaps included. Packed weights as pack_weights writes them.
std::int64_t storage_bytes(const Problem& problem, const Operand& operand, std::int64_t rows,
                           std::int64_t cols);

/// Where the base pointer of an operand goes after an address aligned to 4096: 0 when 16 bytes or
/// more are promised (allocators give more than they promise), else exactly the promise, so that a
/// misaligned problem is measured as such.
std::int64_t base_offset(const Operand& operand);

/// What stands around every timed run.
struct Scene {
  Early early = Early::none;  // as Operands::early
  /// On a GPU: an elementwise kernel that rewrites A before each run and lets nothing begin early.
  bool elementwise = false;
  /// On a GPU: plain launches into a stream instead of a graph.
  bool launches = false;
};

struct TestbedOptions {
  /// Copies of B; 0: as many as rotating_copies says.
  int copies = 0;
  /// For checking, not for timing: inputs end at a page that faults when it is read (CPU only).
  bool guard_pages = false;
  Scene scene = {};
};

/// A sequence of runs of one kernel over the rotating copies, ready to be timed many times.
class Rotation {
 public:
  virtual ~Rotation() = default;
  /// Does all runs, back to back, and waits. Seconds from the start of the first to the end of the
  /// last; on a GPU by events around one graph replay, unless the scene is one of plain launches.
  /// Throws DeviceError.
  virtual double seconds() = 0;
};

/// Holds A, C, bias and D once (activations stay warm) and B in rotating copies (weights are cold),
/// with the strides, gaps and alignment of the problem, filled by random.hpp. Packed B is filled as
/// a row-major [K,N] and packed. Not safe from several threads.
///
/// Each operation throws DeviceError when the device fails, and OutOfMemory when memory does not
/// suffice; the constructor too. No operation changes what a caller's thread has set (current
/// context, affinity) for longer than its own duration.
class Testbed {
 public:
  virtual ~Testbed() = default;

  virtual int copies() const = 0;

  /// Sets D's storage, guards included, to kPoison.
  virtual void poison() = 0;

  /// Runs once on the first copy, and waits. The workspace is the testbed's: zeroed when `fresh`,
  /// else as the last run of this kernel left it.
  virtual void run(const Kernel& kernel, bool fresh) = 0;

  /// D's storage on the host with its guards: kGuardBytes, storage_bytes of D, kGuardBytes. Valid
  /// until the next call of any operation.
  virtual std::span<const std::byte> output() = 0;

  /// What the last run left in D's storage, and the elements at these places of it: looked at where
  /// D lies, since a large one takes longer to copy than to compute.
  virtual Written written() = 0;
  virtual std::vector<double> values(std::span<const std::int64_t> places) = 0;

  /// `runs` runs, at least 1, each on the copy that was used longest ago (on a GPU, where the runs
  /// are recorded once: beginning after the copy at which the last one made ended). It has a zeroed
  /// workspace of its own, keeps the kernel alive, and must not outlive the testbed.
  virtual std::unique_ptr<Rotation> rotation(std::shared_ptr<const Kernel> kernel, int runs) = 0;

  /// The clock that the device runs at just now, in GHz; 0 when it cannot be known.
  virtual double clock_ghz() = 0;
};

/// On either kind of device.
std::unique_ptr<Testbed> make_testbed(const Problem& problem, const Device& device,
                                      const TestbedOptions& options = {});

/// The two kinds. That of CUDA lives in cuda/ and is missing from a build without it.
std::unique_ptr<Testbed> make_cpu_testbed(const Problem& problem, const Device& device,
                                          const TestbedOptions& options);
std::unique_ptr<Testbed> make_cuda_testbed(const Problem& problem, const Device& device,
                                           const TestbedOptions& options);

}  // namespace gemwright::tune
