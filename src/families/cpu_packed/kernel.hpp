// The kernel: one configuration, run on any problem that it serves.
#pragma once

#include "families/cpu_packed/setup.hpp"
#include "families/family.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gemwright::cpu_packed {

/// Memory that will be read soon: rows of so many bytes, `stride` bytes apart.
struct Region {
  const char* address = nullptr;
  std::ptrdiff_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
};

/// A B that does not lie in memory as numbers: makes its panels when they are needed. The same for
/// every entry of a batch.
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  /// Columns [16 panel, 16 panel + 16) of B at [k, k + depth), as out[depth][16] of fp32; anything
  /// in columns past N. From several threads at once.
  virtual void fill(std::int64_t panel, std::int64_t k, std::int64_t depth, float* out) const = 0;
  /// What fill reads for panels [begin, end).
  virtual Region reads(std::int64_t begin, std::int64_t end, std::int64_t k,
                       std::int64_t depth) const = 0;
};

/// `loader` is loader_of() of the configuration and the problem.
std::shared_ptr<const Kernel> make_kernel(const Setup& setup, Loader loader);

/// fp32 sums of a rectangle of up to 64 columns of D; those past N are not stored.
struct Sums {
  std::int64_t batch = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  const float* sums = nullptr;
  std::int64_t stride = 0;            // from one row to the next
  const float* row_scales = nullptr;  // on all rows of D, [batch][m]; null: 1
};

/// The epilogue: D = alpha * (row scale * sums) + beta * C + bias.
void store_sums(const KernelTable& table, const Problem& problem, const Operands& operands,
                const Sums& sums);

/// The product with a B from `source` (operands.b is not read), for a configuration whose path is
/// `pack` and whose loader is f32; problem.b gives the loader no more than that type. `row_scales`
/// are as in Sums.
std::size_t workspace_bytes(const Setup& setup, const Problem& problem);
void multiply(const Setup& setup, const Problem& problem, const Operands& operands,
              const PanelSource& source, const float* row_scales, void* workspace);

}  // namespace gemwright::cpu_packed
