// What cuda_stream takes, and with which settings.
#pragma once

#include "families/cuda_stream/setting.hpp"
#include "model/cuda_stream_cost.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gemwright::cuda_stream {

/// Why a problem, seen as by view_of, cannot be streamed; nothing when it can.
std::optional<std::string> refuse_view(const Problem& view, int sm);

/// Each weight (column of B) has its elements of K side by side; else those of a row of B are.
bool weights_along_k(const Problem& view);

std::vector<Configuration> enumerate(const Problem& problem, const Device& device);

/// What the model needs to know of a setting.
model::StreamWork work_of(const Setting& setting, const Problem& view, const Device& device);

}  // namespace gemwright::cuda_stream
