// Plans: a kernel chosen and built for a problem, ready to run.
#pragma once

#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace gemwright {

/// Which operand of a run the work just before it in its stream does not write.
enum class Early : std::uint8_t { none, a, b };

/// Pointers for one run, in the problem's own terms. C and bias are null when the problem has none.
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  /// Other than none, a kernel on a GPU may begin, and read that operand, before the work just
  /// before the run has ended (programmatic dependent launch; usual for a layer's weight). All else
  /// is read and written after that work is complete, whatever it is: another library's kernel, a
  /// copy, a graph. Kernels that know no overlap run as with none; results do not depend on it.
  Early early = Early::none;

  /// Those of D^T = B^T A^T: A and B change places.
  Operands transposed() const;
};

/// Memory lent to a run: at least Plan::workspace_bytes(), 256-byte aligned, zeroed once by the
/// owner before its first use; every run leaves it fit for the next. Runs that may overlap in time
/// need one each. With a null pointer a per-stream pool of the library is used.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// What limits a kernel, in the model's view.
enum class Bound : unsigned char { memory, math, latency, waves, overhead };
std::string_view name(Bound bound);

/// Where the choice of a plan came from.
enum class Source : unsigned char { tuned, store, model, forced };
std::string_view name(Source source);

/// One configuration and what is known of it.
struct CandidateReport {
  std::string family = {};
  std::string configuration = {};
  double predicted_us = 0;
  Bound bound = Bound::memory;
  /// Best and median of the measured rounds; 0 when not measured.
  double best_us = 0;
  double median_us = 0;
  bool vendor = false;
  /// Why it was dropped (build, fault, time limit, wrong result), or has no time that can be
  /// relied upon; empty when neither.
  std::string failure = {};
};

/// A family that does not take the problem, and why.
struct Refusal {
  std::string family = {};
  std::string reason = {};
};

/// Why a plan is what it is.
struct Explanation {
  Source source = Source::model;
  CandidateReport chosen = {};
  /// Ranked by the model; measured ones carry their times.
  std::vector<CandidateReport> candidates = {};
  std::vector<Refusal> refusals = {};
  /// Roofline time of the problem on the device.
  double floor_us = 0;
  /// Vendor library's first choice and best of its choices; 0 when not measured.
  double vendor_first_us = 0;
  double vendor_best_us = 0;
  /// Why the chosen one is the one, in a sentence that continues "KERNEL: ".
  std::string reason = {};
  /// How times decided: "fastest" (none that was compared was faster), or the earlier answer, else
  /// the model's first choice, kept since another was faster by less than the noise ("equal"), than
  /// other programs took of the CPUs ("others"), than times wander on a restless machine
  /// ("restless"), or since no time is evidence ("no_evidence"). Empty where no times decided.
  /// `band` is the share of the fastest time within which one could be chosen.
  std::string rule = {};
  double band = 0;
  /// Time of the second over the chosen one's, as compared, minus 1; and the measurement's noise.
  double margin = 0;
  double noise = 0;
  /// Why this is not the whole answer (a time limit, an interrupt, times that did not repeat);
  /// empty when it is.
  std::string note = {};
};

/// An immutable, built kernel: cheap to copy, safe from many threads; not usable once moved from.
class Plan {
 public:
  /// Enqueues (CPU: performs) the product. No allocation, lock or compilation. Throws
  /// InvalidArgument for a null or misaligned pointer, a C or bias that the problem has not, a D
  /// that overlaps A, B, the bias or C (but for a C that is D, element for element), or too small a
  /// workspace, before anything is launched; DeviceError for a device that is only described.
  void run(const Operands& operands, Stream stream = {}, Workspace workspace = {}) const;

  std::size_t workspace_bytes() const;
  const Problem& problem() const;
  /// "family/configuration", for instance "cpu_packed/avx512_14x32_kc384".
  const std::string& kernel() const;
  const Explanation& explanation() const;

  class Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Plans for a problem with M in a range: a few kernels, and a table that picks one by M.
class PlanSet {
 public:
  /// As Plan::run, with the M of this call; the strides are the problem's.
  void run(std::int64_t m, const Operands& operands, Stream stream = {},
           Workspace workspace = {}) const;
  /// Enough for every M of the range.
  std::size_t workspace_bytes() const;
  /// The name of the kernel that M gets.
  const std::string& kernel(std::int64_t m) const;
  std::int64_t min_m() const;
  std::int64_t max_m() const;

  class Impl;
  explicit PlanSet(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Bytes that pack_weights writes for the problem's B. Throws InvalidArgument as Problem::check.
std::size_t packed_weights_bytes(const Problem& problem);

/// Packs B once, for every kernel, M and device: [N/16][K][16] panels (pairs of K interleaved for
/// 16-bit types), zero padded; then plan with `problem.b.packed = true`. `out` is 64-byte aligned.
/// Throws as Problem::check, and for a B that is low-bit, packed, or not shared by the whole batch.
void pack_weights(const Problem& problem, const void* b, void* out);

}  // namespace gemwright

#pragma GCC visibility pop
