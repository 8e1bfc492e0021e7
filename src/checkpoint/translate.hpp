// Quantised checkpoints from other programs into packed weights, and packed weights into plain
// ones.
#pragma once

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/foreign.hpp"
#include "formats/packed_layout.hpp"
#include <gemwright/types.hpp>

#include <vector>

namespace gemwright::checkpoint {

/// The shard's foreign weights packed ("LAYER.weight.gemwright"; experts "LAYER.EXPERT.weight..."),
/// the tensors that make them left out, all else copied. A job reports the format.
std::vector<Job> import_jobs(const Checkpoint& checkpoint, const Checkpoint::Shard& shard,
                             const std::vector<ForeignWeight>& foreign,
                             const ForeignConfig& config);

/// The shard's packed weights as plain W[N,K] of the type under their old names, all else copied.
std::vector<Job> export_jobs(const Checkpoint::Shard& shard, DataType type);

/// What a packed tensor says of itself. Throws InvalidArgument naming the tensor.
formats::PackedHeader packed_header(const Place& place);

/// A packed tensor's weight. Throws InvalidArgument naming the tensor.
CodedWeight unpack(const Place& place);

}  // namespace gemwright::checkpoint
