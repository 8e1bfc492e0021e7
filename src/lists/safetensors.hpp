// Problem lists from the weights of a checkpoint; reads headers only, never the data.
#pragma once

#include "lists/entry.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::lists {

/// `path` is a .safetensors file, a .safetensors.index.json beside its shards, or a folder of
/// .safetensors files. Every 2-D tensor of a type that problems have is taken as a linear layer's
/// W[N, K], except embedding tables; layers of a stack ("model.layers.7.mlp.down_proj") share a
/// role. Throws InvalidArgument for what is no safetensors file, and when there is no such weight.
Selection from_safetensors(const std::filesystem::path& path, const Options& options);

/// One tensor of a header.
struct Tensor {
  std::string name;
  std::string type;  // "BF16", "F8_E4M3", ...
  std::vector<std::int64_t> shape;
};

/// The JSON of a header. `file` is named in errors. Throws InvalidArgument.
std::vector<Tensor> parse_safetensors_header(std::string_view json, const std::string& file);

/// The linear layers among tensors; of types that problems do not have there are none.
Selection from_tensors(const std::vector<Tensor>& tensors, const std::string& model,
                       const Options& options);

}  // namespace gemwright::lists
