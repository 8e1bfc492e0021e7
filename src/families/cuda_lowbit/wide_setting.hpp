// A configuration of cuda_lowbit_wide with names, and what follows from it.
#pragma once

#include "families/family.hpp"

#include <array>
#include <string>
#include <string_view>

namespace gemwright::cuda_lowbit {

inline constexpr std::array<std::string_view, 10> kWideParameters = {
    "cols",  "stages",  "consumers", "split", "stream_k",
    "group", "along_n", "lookup",    "part",  "across"};

/// One setting of kernels/cuda/gemm_lowbit_wide.cu. The kernel sees D^T: its rows are those of the
/// weight.
struct WideSetting {
  int cols = 128;  // rows of A, a tile
  int stages = 4;
  int consumers = 2;      // of 64 weight rows each
  int split = 1;          // CTAs of a cluster that share K
  bool stream_k = false;  // blocks of tiles that do not fill all SMs are dealt out evenly
  int group = 8;          // rows (or columns) of tiles that are walked together, for L2
  bool along_n = false;
  int lookup = 0;       // integers come by table: 1 all, 2 every other step; else by arithmetic
  int part = 0;         // columns whose sums are scaled while the next are multiplied; 0: no parts
  bool across = false;  // consumers share K, else each has rows of its own

  int threads() const { return 128 * (1 + consumers); }
  int rows() const { return 64 * (across ? 1 : consumers); }
  /// Blocks of 64 columns in a stage: of wide tiles one, or few stages would fit.
  int depth() const { return cols > 128 ? 1 : 2; }
  int stage_columns() const { return 64 * depth() * (across ? consumers : 1); }
};

WideSetting wide_setting_of(const Configuration& configuration);
Configuration configuration_of(const WideSetting& setting);
/// For instance "lowbit_wide_256x8_s16_g8m_k4".
std::string name_of(const WideSetting& setting);

/// Whether integers may come by table.
bool may_look_up(const Problem& problem);

/// How scales come in; the numbers are those of kernels/cuda/mainloop_lowbit_wgmma.cuh.
enum class Scaling : int { weights = 0, sums = 1, rows = 2, in_place = 3 };
/// Weights where code * scale is exact in A's type, rows where all of a row share a scale. Else
/// sums of groups, or of tiles with many columns the accumulators in place, where a weight can take
/// over what a scale has beyond the range of sums: bf16 has fp32's exponents, scales of 8 bits and
/// fp16 need none.
Scaling scaling_of(const Problem& problem, int cols);

/// Columns that a consumer's registers have room for.
int most_columns(const Problem& problem, int consumers);
/// Whether they also have room for it to decode while it multiplies.
bool overlaps(const WideSetting& setting, const Problem& problem);
/// WideSetting::part: where sums of groups are scaled in tiles so wide that registers do not hold
/// two sets of accumulators, and where a consumer has few.
int part_columns(const Problem& problem, int cols, int consumers);

/// Chunks of D that a consumer keeps in shared memory: one fills while the other is copied out. Of
/// many consumers one each, since the ring needs the room more.
inline int buffers(const WideSetting& setting) {
  return setting.consumers > 2 ? 1 : 2;
}
/// Whether D is stored by bulk copies of its rows (else element by element).
bool stores_by_copies(const WideSetting& setting, const Problem& problem);
/// Columns of the kernel's D (rows of D) that are stored at a time.
int chunk_columns(const WideSetting& setting, const Problem& problem);
int shared_bytes(const WideSetting& setting, const Problem& problem);

}  // namespace gemwright::cuda_lowbit
