#include "lists/model_config.hpp"

#include "files/parse_json.hpp"
#include "lists/architectures.hpp"
#include <gemwright/errors.hpp>

#include <iterator>
#include <map>

#include <nlohmann/json.hpp>

namespace gemwright::lists {
namespace {

const std::map<std::string, Read, std::less<>>& architectures() {
  static const std::map<std::string, Read, std::less<>> known = {
      {"DeepseekV2ForCausalLM", read_deepseek},
      {"DeepseekV3ForCausalLM", read_deepseek},
      {"FluxTransformer2DModel", read_flux},
      {"Gemma2ForCausalLM", read_gemma},
      {"Gemma3ForCausalLM", read_gemma},
      {"Gemma3ForConditionalGeneration", read_gemma3_multimodal},
      {"GemmaForCausalLM", read_gemma},
      {"GptOssForCausalLM", read_gpt_oss},
      {"LlamaForCausalLM", read_llama},
      {"MistralForCausalLM", read_llama},
      {"MixtralForCausalLM", read_mixtral},
      {"PixArtTransformer2DModel", read_pixart},
      {"Qwen2ForCausalLM", read_qwen2},
      {"Qwen2MoeForCausalLM", read_qwen_moe},
      {"Qwen3ForCausalLM", read_llama},
      {"Qwen3MoeForCausalLM", read_qwen_moe},
      {"SD3Transformer2DModel", read_sd3},
  };
  return known;
}

std::string known_text() {
  std::string text;
  for (const auto& [name, read] : architectures()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string architecture(const nlohmann::json& config) {
  const Fields fields(config);
  if (fields.has("_class_name")) {
    if (!config["_class_name"].is_string()) fields.refuse("_class_name", "one of " + known_text());
    return config["_class_name"].get<std::string>();
  }
  const bool listed = fields.length("architectures") > 0;
  if (!listed || !config["architectures"][0].is_string()) {
    fields.refuse("architectures", "an array that begins with one of " + known_text());
  }
  return config["architectures"][0].get<std::string>();
}

}  // namespace

std::vector<Entry> from_model_config(std::string_view text, const std::string& model,
                                     const Options& options) {
  const auto config = files::parse_json<nlohmann::json>(text, "config", "JSON");
  const std::string name = architecture(config);
  const auto found = architectures().find(name);
  if (found == architectures().end()) throw InvalidArgument("architectures", name, known_text());
  const Fields fields(config);
  return entries(model, found->second(fields, options), fields.type(), options);
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const auto& [name, read] : architectures()) names.push_back(name);
  return names;
}

std::int64_t shared(std::int64_t value, const char* name, const Options& options) {
  const std::int64_t parts = options.tensor_parallel;
  if (parts < 1 || value % parts != 0) {
    throw InvalidArgument("--tp", std::to_string(parts),
                          "a divisor of " + std::string(name) + " = " + std::to_string(value));
  }
  return value / parts;
}

}  // namespace gemwright::lists
