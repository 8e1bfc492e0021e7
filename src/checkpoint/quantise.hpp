// A checkpoint's linear layers into a low-bit format.
#pragma once

#include "checkpoint/checkpoint.hpp"
#include <gemwright/weights.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gemwright::checkpoint {

/// What follows a weight's name where it is packed: "model.layers.0.mlp.up_proj.weight.gemwright",
/// U8, one dimension.
inline constexpr std::string_view kPackedSuffix = ".gemwright";

/// The tensor that a packed weight of so many bytes becomes.
files::Tensor packed_tensor(const std::string& weight, std::size_t bytes);

struct QuantisePlan {
  WeightFormat format;
  /// Names with * and ?; weights that match one stay as they are.
  std::vector<std::string> keep;
  /// Second moments of the activations, a tensor [K] under each weight's name; or null.
  const Checkpoint* moments = nullptr;
};

/// One job a tensor of the shard: 2-D weights of linear layers (not embeddings) of type F32, F16 or
/// BF16 become packed, all else is copied.
std::vector<Job> quantise_jobs(const Checkpoint::Shard& shard, const QuantisePlan& plan);

/// What a quantising job's report says.
struct QuantiseReport {
  std::int64_t n = 0;
  std::int64_t k = 0;
  double relative = 0;
  double snr_db = 0;
};
std::string text_of(const QuantiseReport& report);
/// Nothing when the line is no such report: the tensor was copied, or made by an earlier run.
std::optional<QuantiseReport> parse_report(const std::string& line);

/// Whether a name matches a pattern of * (any characters) and ? (one).
bool matches(std::string_view name, std::string_view pattern);

}  // namespace gemwright::checkpoint
