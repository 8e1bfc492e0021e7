// What each kind of model is made of.
#pragma once

#include "lists/entry.hpp"
#include "lists/fields.hpp"

#include <vector>

namespace gemwright::lists {

/// A config as one of the architectures below; throws InvalidArgument with the field's name.
using Read = std::vector<Layer> (*)(const Fields& fields, const Options& options);

// Attention with query, key and value heads, and an MLP or experts. They differ in biases and in
// the names and defaults of fields.
std::vector<Layer> read_llama(const Fields& fields, const Options& options);
std::vector<Layer> read_qwen2(const Fields& fields, const Options& options);
std::vector<Layer> read_gemma(const Fields& fields, const Options& options);
std::vector<Layer> read_gemma3_multimodal(const Fields& fields, const Options& options);
std::vector<Layer> read_mixtral(const Fields& fields, const Options& options);
std::vector<Layer> read_qwen_moe(const Fields& fields, const Options& options);
std::vector<Layer> read_gpt_oss(const Fields& fields, const Options& options);

/// Multi-head latent attention.
std::vector<Layer> read_deepseek(const Fields& fields, const Options& options);

// Diffusion transformers.
std::vector<Layer> read_flux(const Fields& fields, const Options& options);
std::vector<Layer> read_sd3(const Fields& fields, const Options& options);
std::vector<Layer> read_pixart(const Fields& fields, const Options& options);

/// `value` / tensor_parallel; throws InvalidArgument unless it divides. `name` says what is shared.
std::int64_t shared(std::int64_t value, const char* name, const Options& options);

}  // namespace gemwright::lists
