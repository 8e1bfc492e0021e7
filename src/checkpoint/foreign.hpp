// Which weights of a checkpoint another program has quantised, and how.
#pragma once

#include "checkpoint/checkpoint.hpp"
#include "formats/import/import.hpp"

#include <string>
#include <vector>

namespace gemwright::checkpoint {

enum class Origin : std::uint8_t {
  bitsandbytes,
  gptq,
  gptq_v2,
  awq,
  pack_quantized,
  scaled_bytes,
  square_blocks,
  hqq,
  mxfp4,
  nvfp4,
  flute,
};
std::string_view name(Origin origin);

/// One layer's weight, or one expert's: the tensors that make it, under their full names.
struct ForeignWeight {
  std::string layer;  // without the dot behind it
  Origin origin = Origin::gptq;
  std::vector<std::string> tensors;  // the one with the codes first
  /// Index into the tensors' first dimension, where that is of experts; else -1.
  std::int64_t expert = -1;

  /// "LAYER.weight", "LAYER.EXPERT.weight".
  std::string weight_name() const;
};

/// What config.json beside the files says of quantisation; defaults where there is none.
struct ForeignConfig {
  formats::ImportOptions options;
  bool gptq_v2 = false;
};
ForeignConfig foreign_config(const Checkpoint& checkpoint);

/// All of them, by layer. Told by the names, types and shapes of their tensors.
std::vector<ForeignWeight> find_foreign(const Checkpoint& checkpoint, const ForeignConfig& config);

CodedWeight import_weight(const Checkpoint& checkpoint, const ForeignWeight& weight,
                          const ForeignConfig& config);

}  // namespace gemwright::checkpoint
