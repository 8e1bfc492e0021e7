// A checkpoint's linear layers into a low-bit format.
#pragma once

#include "checkpoint/checkpoint.hpp"
#include <gemwright/weights.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gemwright::checkpoint {

/// The tensor that a packed weight of so many bytes becomes.
files::Tensor packed_tensor(const std::string& weight, std::size_t bytes);

struct QuantisePlan {
  WeightFormat format;
  /// Names with * and ?; weights that match one stay as they are.
  std::vector<std::string> keep;
  /// Second moments of the activations, a tensor [K] under each weight's name; or null.
  const Checkpoint* moments = nullptr;
};

/// Whether the plan packs the tensor: a 2-D weight of a linear layer (no embedding) of type F32,
/// F16 or BF16 that is not kept.
bool is_quantised(const files::Tensor& tensor, const QuantisePlan& plan);

/// One job a tensor of the shard: what is not packed is copied, also what is packed already. Throws
/// InvalidArgument for a damaged packed weight.
std::vector<Job> quantise_jobs(const Checkpoint::Shard& shard, const QuantisePlan& plan);

/// How a packed weight came into the output: by this run, by an earlier one of the same kind, or
/// with the input, packed as it was.
enum class Made : std::uint8_t { now, earlier, copied };

/// What the job of a weight that is packed in the output reports.
struct QuantiseReport {
  Made made = Made::now;
  std::string format;  // its key
  std::int64_t n = 0;
  std::int64_t k = 0;
  double relative = 0;  // the errors are known of what this run made
  double snr_db = 0;
};
std::string text_of(const QuantiseReport& report);
/// Nothing when the line is no such report: of a tensor that is not packed.
std::optional<QuantiseReport> parse_report(const std::string& line);

/// Whether a name matches a pattern of * (any characters) and ? (one).
bool matches(std::string_view name, std::string_view pattern);

}  // namespace gemwright::checkpoint
