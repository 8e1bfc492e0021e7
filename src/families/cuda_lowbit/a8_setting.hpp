// A configuration of cuda_lowbit_a8 with names, and what follows from it.
#pragma once

#include "families/family.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gemwright::cuda_lowbit {

inline constexpr std::array<std::string_view, 9> kA8Parameters = {
    "cols", "part", "sums", "stages", "consumers", "cluster", "pace", "group", "along_n"};

/// Columns of a stage, whose products are at most added up in fp8's accumulator.
inline constexpr int kWindow = 128;

/// When a consumer decodes a window: while it multiplies the one before, or before it multiplies,
/// in turn with the others or whenever it likes.
enum class Pace : int { overlap, turns, free };

/// One setting of kernels/cuda/gemm_lowbit_a8.cu. The kernel sees D^T: its rows are those of the
/// weight.
struct A8Setting {
  int cols = 128;  // rows of A, a tile
  int part = 64;   // of them, those of one instruction
  int sums = 2;    // parts under way at a time
  int stages = 4;
  int consumers = 2;  // of 64 weight rows each
  int cluster = 1;    // CTAs along N that share activations
  Pace pace = Pace::turns;
  int group = 8;  // rows (or columns) of tiles that are walked together, for L2
  bool along_n = false;

  int threads() const { return 128 * (1 + consumers); }
  /// Weight rows of a cluster.
  int rows() const { return 64 * consumers * cluster; }
};

A8Setting a8_setting_of(const Configuration& configuration);
Configuration configuration_of(const A8Setting& setting);
/// For instance "lowbit_a8_128x256p64_s4_g8n".
std::string name_of(const A8Setting& setting);

/// Why the product of codes would not be exact, and what to do; nothing when it is.
std::optional<std::string> refuse_codes(const WeightFormat& format);

/// Whether scales become a part of the weights.
bool folds_scales(const A8Setting& setting, const WeightFormat& format);
/// Sums of a window that are scaled, each by its group's scale. One where a window has one group,
/// or scales are folded.
int sums_of_window(const A8Setting& setting, const WeightFormat& format);

/// Whether D is stored by bulk copies of its rows (else element by element).
bool stores_by_copies(const A8Setting& setting, const Problem& problem);
/// Columns of the kernel's D (rows of D) that are stored at a time.
int chunk_columns(const A8Setting& setting, const Problem& problem);
int shared_bytes(const A8Setting& setting, const Problem& problem);

/// Where a run keeps the rounded activations: codes, of rows `pitch` bytes apart, then scales.
struct A8Workspace {
  std::size_t pitch = 0;
  std::size_t codes = 0;
  std::size_t scales = 0;
  std::size_t bytes = 0;
};
A8Workspace workspace_of(const Problem& problem);

}  // namespace gemwright::cuda_lowbit
