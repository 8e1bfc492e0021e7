// Diffusion transformers, whose every linear layer has a bias. Names are those of diffusers.
#include "lists/architectures.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::lists {
namespace {

constexpr std::int64_t kMlpRatio = 4;

// Attention of `width` and an MLP of four times that, with tensor parallelism over heads.
struct Block {
  std::int64_t width = 0;
  std::int64_t share = 0;  // of the width, on one device
  std::int64_t inner = 0;  // of the MLP, on one device
};

Block read_block(const Fields& fields, const Options& options) {
  const std::int64_t heads = fields.size("num_attention_heads");
  const std::int64_t head = fields.size("attention_head_dim");
  Block block;
  block.width = heads * head;
  block.share = shared(heads, "num_attention_heads", options) * head;
  block.inner = shared(kMlpRatio * block.width, "MLP size", options);
  return block;
}

// `prefix` is "" for the image's tokens and "context " for the text's.
void add_qkv(std::vector<Layer>& layers, const std::string& prefix, const Block& block,
             std::int64_t count, const Options& options) {
  if (options.fused) {
    layers.push_back({prefix + "qkv", 3 * block.share, block.width, true, count});
  }
  if (options.unfused) {
    for (const char* role : {"q", "k", "v"}) {
      layers.push_back({prefix + role, block.share, block.width, true, count});
    }
  }
}

void add_attention(std::vector<Layer>& layers, const std::string& prefix, const Block& block,
                   std::int64_t count, const Options& options) {
  add_qkv(layers, prefix, block, count, options);
  layers.push_back({prefix + "o", block.width, block.share, true, count});
}

void add_mlp(std::vector<Layer>& layers, const std::string& prefix, const Block& block,
             std::int64_t count) {
  layers.push_back({prefix + "up", block.inner, block.width, true, count});
  layers.push_back({prefix + "down", block.width, block.inner, true, count});
}

// Shifts, scales and gates from one vector an image: no token dimension, and nothing to share out.
Layer modulation(const std::string& role, std::int64_t parts, const Block& block,
                 std::int64_t count) {
  return {role, parts * block.width, block.width, true, count, true};
}

std::int64_t layer_count(const Fields& fields, const char* name) {
  return fields.size(name);
}

}  // namespace

std::vector<Layer> read_flux(const Fields& fields, const Options& options) {
  const Block block = read_block(fields, options);
  const std::int64_t both = layer_count(fields, "num_layers");
  const std::int64_t single = layer_count(fields, "num_single_layers");
  std::vector<Layer> layers;
  for (const char* prefix : {"", "context "}) {
    add_attention(layers, prefix, block, both, options);
    add_mlp(layers, prefix, block, both);
  }
  layers.push_back(modulation("modulation", 6, block, 2 * both));
  add_qkv(layers, "single ", block, single, options);
  layers.push_back({"single up", block.inner, block.width, true, single});
  // Attention and MLP outputs side by side go through one projection.
  layers.push_back({"single out", block.width, block.share + block.inner, true, single});
  layers.push_back(modulation("single modulation", 3, block, single));
  return layers;
}

std::vector<Layer> read_sd3(const Fields& fields, const Options& options) {
  const Block block = read_block(fields, options);
  const std::int64_t count = layer_count(fields, "num_layers");
  const auto dual = fields.length("dual_attention_layers");
  if (dual > count) fields.refuse("dual_attention_layers", "at most num_layers entries");
  std::vector<Layer> layers;
  add_attention(layers, "", block, count + dual, options);
  add_mlp(layers, "", block, count);
  // The last block reads the text but does not carry it on.
  add_qkv(layers, "context ", block, count, options);
  if (count > 1) {
    layers.push_back({"context o", block.width, block.share, true, count - 1});
    add_mlp(layers, "context ", block, count - 1);
    layers.push_back(modulation("context modulation", 6, block, count - 1));
  }
  layers.push_back(modulation("last context modulation", 2, block, 1));
  if (count > dual) layers.push_back(modulation("modulation", 6, block, count - dual));
  if (dual > 0) layers.push_back(modulation("dual modulation", 9, block, dual));
  return layers;
}

std::vector<Layer> read_pixart(const Fields& fields, const Options& options) {
  const Block block = read_block(fields, options);
  const std::int64_t count = layer_count(fields, "num_layers");
  const std::int64_t text = fields.size_or("cross_attention_dim", block.width);
  std::vector<Layer> layers;
  add_attention(layers, "", block, count, options);
  layers.push_back({"cross q", block.share, block.width, true, count});
  if (options.fused) layers.push_back({"cross kv", 2 * block.share, text, true, count});
  if (options.unfused) {
    for (const char* role : {"cross k", "cross v"}) {
      layers.push_back({role, block.share, text, true, count});
    }
  }
  layers.push_back({"cross o", block.width, block.share, true, count});
  add_mlp(layers, "", block, count);
  layers.push_back(modulation("modulation", 6, block, 1));
  return layers;
}

}  // namespace gemwright::lists
