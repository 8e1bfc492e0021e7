// One checked product: operands in memory as a problem describes them, a run, and the comparison
// with fp64 arithmetic. Serves every family on every device; a device is a Memory.
#pragma once

#include "families/family.hpp"
#include <gemwright/gemwright.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace gemwright::test {

/// What the operands are filled with.
enum class Fill : std::uint8_t {
  /// -2 … 2: every sum is exact in fp32, so the result is the reference's to the bit.
  integers,
  /// Standard normal, rounded to the operand's type.
  normal,
  /// Integers, with one non-zero element a row of A: shows every indexing mistake exactly.
  one_hot,
  /// Normal, with NaN and infinities sprinkled over A, B, C and bias.
  special,
};

/// The value of an element: its operand is 'a', 'b', 'c' or 'v' (the bias), its index that in
/// storage.
using Values = std::function<double(char operand, std::int64_t index)>;

struct Case {
  std::string name;
  Problem problem;
  Fill fill = Fill::integers;
  /// C is D's memory.
  bool c_is_d = false;
  /// Instead of `fill`; results are then compared within fp32's bound.
  Values values = {};
  /// Products are added up as tensor cores do in fp8, 128 of K at a time (docs/numerics.md).
  bool fp8_sums = false;
  /// Instead of tune::test_weight, of a problem with a weight format.
  std::optional<CodedWeight> weight = {};
};

/// Where a device keeps its bytes.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for the device's work first.
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual Stream stream() { return {}; }
};

/// The host's memory.
std::unique_ptr<Memory> host_memory();

/// A case made real. Every operand lies between poisoned bytes, its base pointer aligned to what
/// the problem promises and to no more.
class Fixture {
 public:
  Fixture(const Case& description, Memory& memory, std::uint32_t seed = 1);

  const std::string& name() const { return case_.name; }
  const Problem& problem() const { return case_.problem; }
  Memory& memory() const { return memory_; }
  const Operands& operands() const { return device_; }
  /// Poisons D (or puts C back, where C is D) for another run.
  void reset();
  /// Empty when D is right in every element and nothing beside D was written, else the first fault.
  std::string compare();
  /// D's bytes, gaps included.
  std::vector<std::byte> output();

 private:
  struct Buffer {
    std::vector<std::byte> host;
    void* device = nullptr;
    std::size_t offset = 0;
  };

  // Names as in Values; 'd' is left poisoned.
  Buffer make(char name, const Operand& operand, std::int64_t rows, std::int64_t cols,
              std::int64_t batch);
  void fill(char name, Buffer& buffer, const Operand& operand, std::int64_t rows, std::int64_t cols,
            std::int64_t batch);
  bool exact() const;
  double value();
  void pack_b();
  void make_low_bit_b();
  void round_a();
  double given_a(std::int64_t batch, std::int64_t row, std::int64_t k) const;
  double a_value(std::int64_t batch, std::int64_t row, std::int64_t k) const;
  double b_value(std::int64_t batch, std::int64_t k, std::int64_t col) const;
  void plan_output();

  Case case_;
  Memory& memory_;
  std::mt19937 random_;
  Buffer a_, b_, c_, d_, bias_;
  std::vector<double> weight_;     // [N][K], of a problem with a weight format
  std::vector<double> rounded_a_;  // [batch][M][K], of a problem whose activations are rounded
  Operands host_;
  Operands device_;
  std::vector<std::byte> expected_;  // D after the run, poison where nothing is written
  // Per element of D in (batch, row, col) order: the result before it is rounded to D's type, and
  // how far from it an element may be.
  std::vector<double> exact_;
  std::vector<double> tolerance_;
};

/// Workspace that a kernel wants, zeroed; lives as long as the Memory.
Workspace make_workspace(Memory& memory, std::size_t bytes);

/// Runs the configuration on the case and compares; "" when right. The kernel gets the canonical
/// problem, as plans give it. Many configurations may take turns on one fixture: its reference is
/// what costs.
std::string check(const Family& family, const Device& device, const Configuration& configuration,
                  Fixture& fixture);
/// The same, for one configuration alone.
std::string check(const Family& family, const Device& device, const Configuration& configuration,
                  const Case& description, Memory& memory);

}  // namespace gemwright::test
