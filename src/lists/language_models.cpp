#include "lists/architectures.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>

namespace gemwright::lists {
namespace {

// Grouped-query attention: sizes of one device's share.
struct Attention {
  std::int64_t hidden = 0;
  std::int64_t q = 0;   // query heads x head size
  std::int64_t kv = 0;  // key heads x head size, and as much for values
  bool qkv_bias = false;
  bool o_bias = false;
};

std::int64_t head_size(const Fields& fields, std::int64_t hidden, std::int64_t heads) {
  if (fields.has("head_dim")) return fields.size("head_dim");
  if (hidden % heads != 0) {
    fields.refuse("head_dim", "a size, as hidden_size is no multiple of num_attention_heads");
  }
  return hidden / heads;
}

Attention read_attention(const Fields& fields, const Options& options,
                         std::int64_t default_head = 0) {
  Attention attention;
  attention.hidden = fields.size("hidden_size");
  const std::int64_t heads = fields.size("num_attention_heads");
  const std::int64_t kv_heads = fields.size_or("num_key_value_heads", heads);
  if (heads % kv_heads != 0) fields.refuse("num_key_value_heads", "a divisor of the heads");
  const std::int64_t head = default_head > 0 ? fields.size_or("head_dim", default_head)
                                             : head_size(fields, attention.hidden, heads);
  attention.q = shared(heads, "num_attention_heads", options) * head;
  // With fewer key heads than devices, each device has a copy of one.
  const bool copied = kv_heads < options.tensor_parallel;
  attention.kv = (copied ? 1 : shared(kv_heads, "num_key_value_heads", options)) * head;
  const bool bias = fields.flag_or("attention_bias", false);
  attention.qkv_bias = bias;
  attention.o_bias = bias;
  return attention;
}

void add(std::vector<Layer>& layers, const Attention& attention, std::int64_t count,
         const Options& options) {
  if (options.fused) {
    layers.push_back(
        {"qkv", attention.q + 2 * attention.kv, attention.hidden, attention.qkv_bias, count});
  }
  if (options.unfused) {
    for (const char* role : {"q", "k", "v"}) {
      const std::int64_t n = role[0] == 'q' ? attention.q : attention.kv;
      layers.push_back({role, n, attention.hidden, attention.qkv_bias, count});
    }
  }
  layers.push_back({"o", attention.hidden, attention.q, attention.o_bias, count});
}

// A gated MLP, or one expert: down(act(gate(x)) * up(x)).
struct Mlp {
  std::string prefix;  // of the roles: "", "expert ", "shared expert "
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  bool bias = false;
};

void add(std::vector<Layer>& layers, const Mlp& mlp, std::int64_t count, const Options& options) {
  if (count == 0) return;
  if (options.fused) {
    layers.push_back({mlp.prefix + "gate+up", 2 * mlp.inner, mlp.hidden, mlp.bias, count});
  }
  if (options.unfused) {
    layers.push_back({mlp.prefix + "gate", mlp.inner, mlp.hidden, mlp.bias, count});
    layers.push_back({mlp.prefix + "up", mlp.inner, mlp.hidden, mlp.bias, count});
  }
  layers.push_back({mlp.prefix + "down", mlp.hidden, mlp.inner, mlp.bias, count});
}

void add_head(std::vector<Layer>& layers, const Fields& fields, const Options& options) {
  // Vocabularies are padded to a multiple of the devices.
  const std::int64_t vocabulary = fields.size("vocab_size");
  const std::int64_t parts = std::max(1, options.tensor_parallel);
  layers.push_back({"lm head", (vocabulary + parts - 1) / parts, fields.size("hidden_size")});
}

std::int64_t inner_size(const Fields& fields, const char* name, const Options& options) {
  return shared(fields.size(name), name, options);
}

std::int64_t layer_count(const Fields& fields) {
  return fields.size("num_hidden_layers");
}

std::vector<Layer> dense(const Fields& fields, const Attention& attention, bool mlp_bias,
                         const Options& options) {
  const std::int64_t count = layer_count(fields);
  std::vector<Layer> layers;
  add(layers, attention, count, options);
  const std::int64_t inner = inner_size(fields, "intermediate_size", options);
  add(layers, Mlp{"", attention.hidden, inner, mlp_bias}, count, options);
  add_head(layers, fields, options);
  return layers;
}

// Each decoder_sparse_step-th but those listed, some of which have no experts anyway.
std::int64_t layers_with_experts(const Fields& fields, std::int64_t count) {
  const std::int64_t every = fields.size_or("decoder_sparse_step", 1);
  const auto listed = fields.numbers("mlp_only_layers");
  const auto without = std::count_if(listed.begin(), listed.end(), [&](std::int64_t layer) {
    return layer < count && (layer + 1) % every == 0;
  });
  return count / every - without;
}

// Experts that a token visits, over all layers.
std::int64_t visits(const Fields& fields, std::int64_t sparse_layers, const char* experts) {
  const std::int64_t top = fields.size("num_experts_per_tok");
  if (top > fields.size(experts)) {
    fields.refuse("num_experts_per_tok", "at most " + std::string(experts));
  }
  return sparse_layers * top;
}

}  // namespace

std::vector<Layer> read_llama(const Fields& fields, const Options& options) {
  return dense(fields, read_attention(fields, options), fields.flag_or("mlp_bias", false), options);
}

std::vector<Layer> read_qwen2(const Fields& fields, const Options& options) {
  Attention attention = read_attention(fields, options);
  attention.qkv_bias = true;
  return dense(fields, attention, false, options);
}

std::vector<Layer> read_gemma(const Fields& fields, const Options& options) {
  constexpr std::int64_t kDefaultHead = 256;
  return dense(fields, read_attention(fields, options, kDefaultHead), false, options);
}

std::vector<Layer> read_gemma3_multimodal(const Fields& fields, const Options& options) {
  return read_gemma(fields.inside("text_config"), options);
}

std::vector<Layer> read_mixtral(const Fields& fields, const Options& options) {
  const Attention attention = read_attention(fields, options);
  const std::int64_t count = layer_count(fields);
  std::vector<Layer> layers;
  add(layers, attention, count, options);
  add(layers, Mlp{"expert ", attention.hidden, inner_size(fields, "intermediate_size", options)},
      visits(fields, count, "num_local_experts"), options);
  add_head(layers, fields, options);
  return layers;
}

std::vector<Layer> read_qwen_moe(const Fields& fields, const Options& options) {
  Attention attention = read_attention(fields, options);
  const bool version2 = fields.has("shared_expert_intermediate_size");
  attention.qkv_bias = attention.qkv_bias || version2;
  const std::int64_t count = layer_count(fields);
  const std::int64_t sparse = layers_with_experts(fields, count);

  std::vector<Layer> layers;
  add(layers, attention, count, options);
  if (sparse < count) {
    add(layers, Mlp{"", attention.hidden, inner_size(fields, "intermediate_size", options)},
        count - sparse, options);
  }
  add(layers,
      Mlp{"expert ", attention.hidden, inner_size(fields, "moe_intermediate_size", options)},
      visits(fields, sparse, "num_experts"), options);
  if (version2) {
    const auto inner = inner_size(fields, "shared_expert_intermediate_size", options);
    add(layers, Mlp{"shared expert ", attention.hidden, inner}, sparse, options);
  }
  add_head(layers, fields, options);
  return layers;
}

std::vector<Layer> read_gpt_oss(const Fields& fields, const Options& options) {
  const Attention attention = read_attention(fields, options);
  const std::int64_t count = layer_count(fields);
  std::vector<Layer> layers;
  add(layers, attention, count, options);
  add(layers,
      Mlp{"expert ", attention.hidden, inner_size(fields, "intermediate_size", options), true},
      visits(fields, count, "num_local_experts"), options);
  add_head(layers, fields, options);
  return layers;
}

std::vector<Layer> read_deepseek(const Fields& fields, const Options& options) {
  const std::int64_t hidden = fields.size("hidden_size");
  const std::int64_t heads =
      shared(fields.size("num_attention_heads"), "num_attention_heads", options);
  const std::int64_t nope = fields.size("qk_nope_head_dim");
  const std::int64_t rope = fields.size("qk_rope_head_dim");
  const std::int64_t value = fields.size("v_head_dim");
  const std::int64_t kv_rank = fields.size("kv_lora_rank");
  const std::int64_t count = layer_count(fields);

  std::vector<Layer> layers;
  if (fields.has("q_lora_rank")) {
    const std::int64_t q_rank = fields.size("q_lora_rank");
    layers.push_back({"q_a", q_rank, hidden, false, count});
    layers.push_back({"q_b", heads * (nope + rope), q_rank, false, count});
  } else {
    layers.push_back({"q", heads * (nope + rope), hidden, false, count});
  }
  layers.push_back({"kv_a", kv_rank + rope, hidden, false, count});
  layers.push_back({"kv_b", heads * (nope + value), kv_rank, false, count});
  layers.push_back({"o", hidden, heads * value, false, count});

  const auto dense_layers = std::min(count, fields.count_or("first_k_dense_replace", 0));
  add(layers, Mlp{"", hidden, inner_size(fields, "intermediate_size", options)}, dense_layers,
      options);
  const std::int64_t expert = inner_size(fields, "moe_intermediate_size", options);
  const std::int64_t sparse = count - dense_layers;
  add(layers, Mlp{"expert ", hidden, expert}, visits(fields, sparse, "n_routed_experts"), options);
  if (const std::int64_t extra = fields.count_or("n_shared_experts", 0); extra > 0) {
    add(layers, Mlp{"shared expert ", hidden, extra * expert}, sparse, options);
  }
  add_head(layers, fields, options);
  return layers;
}

}  // namespace gemwright::lists
