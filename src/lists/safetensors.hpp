// Problem lists from the weights of a checkpoint; reads headers only, of files and packed weights.
#pragma once

#include "files/safetensors.hpp"
#include "lists/entry.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace gemwright::lists {

/// `path` is a .safetensors file, a .safetensors.index.json beside its shards, or a folder of
/// .safetensors files. Every 2-D tensor of a type that problems have is taken as a linear layer's
/// W[N, K], except embedding tables, and every weight packed by gemwright as one in its format,
/// with activations of bf16 unless the options say another type; layers of a stack
/// ("model.layers.7.mlp.down_proj") share a role. Throws InvalidArgument for what is no safetensors
/// file, for a damaged packed weight, and when there is no such weight.
Selection from_safetensors(const std::filesystem::path& path, const Options& options);

/// Whether a tensor is taken as a linear layer's weight.
bool is_linear_weight(const files::Tensor& tensor);

/// The linear layers among tensors; of types that problems do not have there are none.
Selection from_tensors(const std::vector<files::Tensor>& tensors, const std::string& model,
                       const Options& options);

}  // namespace gemwright::lists
