// Builds and validates candidates in this process.
#pragma once

#include "families/family.hpp"
#include "tune/reference.hpp"
#include "tune/testbed.hpp"
#include <gemwright/device.hpp>

#include <memory>
#include <optional>
#include <string>

namespace gemwright::tune {

/// What became of a candidate that was tried.
struct Verdict {
  enum class Kind : unsigned char {
    right,
    build,     // it did not build
    wrong,     // it ran, and the result is not right
    overflow,  // the same where Reference::overflows(): says nothing of other problems
    fault,     // it killed its process, or left the device in an error
    hang,      // it passed its time limit
    memory,    // there was no memory to try it; says nothing of the candidate
    undone,    // was not tried: no time was left, or nothing could be tried
  };
  Kind kind = Kind::right;
  std::string reason;  // empty when right
};

std::string_view name(Verdict::Kind kind);
/// Throws InvalidArgument.
Verdict::Kind parse_kind(std::string_view text);

/// One problem at a time. Not safe from several threads.
class Checker {
 public:
  /// With guard pages after inputs, where a read faults, only a process that may die should check.
  explicit Checker(bool guard_pages) : guard_pages_(guard_pages) {}

  /// Makes operands and reference for the candidates to come. Throws DeviceError, OutOfMemory.
  void prepare(const Problem& problem, const Device& device);
  /// Never throws.
  Verdict check(const Family& family, const Configuration& configuration);
  /// Frees what prepare made.
  void release();

 private:
  struct Prepared {
    Problem problem;
    Device device;
    std::unique_ptr<Testbed> testbed;
    Reference reference;
  };
  bool guard_pages_;
  std::optional<Prepared> prepared_;
};

}  // namespace gemwright::tune
