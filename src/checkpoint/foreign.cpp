#include "checkpoint/foreign.hpp"

#include "files/files.hpp"
#include "files/parse_json.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace gemwright::checkpoint {
namespace {

using nlohmann::json;

// The tensor with the codes, by the end of its name, and what makes it one of that origin: the
// others must be there.
struct Signature {
  Origin origin;
  std::string_view codes;
  std::string_view type;
  std::vector<std::string_view> needed;
  std::vector<std::string_view> optional;
};

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all{
      {Origin::bitsandbytes,
       "weight",
       "U8",
       {"weight.absmax", "weight.quant_map"},
       {"weight.quant_state.bitsandbytes__nf4", "weight.quant_state.bitsandbytes__fp4",
        "weight.nested_absmax", "weight.nested_quant_map"}},
      {Origin::gptq, "qweight", "I32", {"qzeros", "scales"}, {"g_idx"}},
      {Origin::pack_quantized,
       "weight_packed",
       "I32",
       {"weight_scale", "weight_shape"},
       {"weight_zero_point", "weight_g_idx"}},
      {Origin::nvfp4, "weight_packed", "U8", {"weight_scale", "weight_global_scale"}, {}},
      {Origin::nvfp4, "weight", "U8", {"weight_scale", "weight_scale_2"}, {}},
      {Origin::square_blocks, "weight", "F8_E4M3", {"weight_scale_inv"}, {}},
      {Origin::scaled_bytes, "weight", "F8_E4M3", {"weight_scale"}, {}},
      {Origin::scaled_bytes, "weight", "F8_E5M2", {"weight_scale"}, {}},
      {Origin::scaled_bytes, "weight", "I8", {"weight_scale"}, {}},
      {Origin::hqq, "W_q", "U8", {"scale", "zero", "shape"}, {}},
      {Origin::hqq, "W_q", "I32", {"scale", "zero", "shape"}, {}},
      {Origin::flute, "weight", "I16", {"scales", "tables"}, {"tables2"}},
  };
  return all;
}

// gpt-oss joins with an underscore, and has the weights of all experts in one tensor:
// "experts.gate_up_proj_blocks".
std::vector<ForeignWeight> mxfp4_of(const Checkpoint& checkpoint, const files::Tensor& tensor) {
  std::vector<ForeignWeight> found;
  for (const char* end : {"_blocks", ".blocks"}) {
    if (tensor.type != "U8" || !tensor.name.ends_with(end)) continue;
    const std::string layer = tensor.name.substr(0, tensor.name.size() - 7);
    const std::string scales = layer + end[0] + "scales";
    if (checkpoint.find(scales) == nullptr) continue;
    const bool experts = tensor.shape.size() == 4;
    for (std::int64_t i = 0; i < (experts ? tensor.shape[0] : 1); ++i) {
      found.push_back({layer, Origin::mxfp4, {tensor.name, scales}, experts ? i : -1});
    }
  }
  return found;
}

// AWQ has the columns of eight rows in a word, GPTQ the rows of one.
Origin gptq_or_awq(const Checkpoint& checkpoint, const ForeignWeight& weight, bool version_2) {
  const auto& codes = checkpoint.find(weight.tensors[0])->tensor->shape;
  const auto& scales = checkpoint.find(weight.layer + ".scales")->tensor->shape;
  const bool awq = codes.size() == 2 && scales.size() == 2 && codes[1] * 8 == scales[1] &&
                   checkpoint.find(weight.layer + ".g_idx") == nullptr;
  if (awq) return Origin::awq;
  return version_2 ? Origin::gptq_v2 : Origin::gptq;
}

std::vector<ForeignWeight> foreign_of(const Checkpoint& checkpoint, const files::Tensor& tensor,
                                      const ForeignConfig& config) {
  for (const Signature& signature : signatures()) {
    const std::string end = "." + std::string(signature.codes);
    if (tensor.type != signature.type || !tensor.name.ends_with(end)) continue;
    ForeignWeight weight;
    weight.layer = tensor.name.substr(0, tensor.name.size() - end.size());
    weight.origin = signature.origin;
    weight.tensors = {tensor.name};
    const auto has = [&](std::string_view part) {
      return checkpoint.find(weight.layer + "." + std::string(part)) != nullptr;
    };
    if (!std::all_of(signature.needed.begin(), signature.needed.end(), has)) continue;
    for (const auto& parts : {signature.needed, signature.optional}) {
      for (const std::string_view part : parts) {
        if (has(part)) weight.tensors.push_back(weight.layer + "." + std::string(part));
      }
    }
    if (weight.origin == Origin::gptq) {
      weight.origin = gptq_or_awq(checkpoint, weight, config.gptq_v2);
    }
    return {weight};
  }
  return mxfp4_of(checkpoint, tensor);
}

// The slice of one expert.
formats::RawTensor expert_of(formats::RawTensor tensor, std::int64_t expert) {
  const std::int64_t experts = tensor.shape.empty() ? 0 : tensor.shape[0];
  if (expert >= experts) {
    throw InvalidArgument(tensor.name + ".shape", std::to_string(experts) + " experts",
                          "as many as the codes have");
  }
  const std::size_t bytes = tensor.data.size() / static_cast<std::size_t>(experts);
  tensor.data = tensor.data.subspan(static_cast<std::size_t>(expert) * bytes, bytes);
  tensor.shape.erase(tensor.shape.begin());
  return tensor;
}

formats::Parts parts_of(const Checkpoint& checkpoint, const ForeignWeight& weight) {
  std::map<std::string, formats::RawTensor, std::less<>> tensors;
  for (const std::string& full : weight.tensors) {
    const Place* place = checkpoint.find(full);
    formats::RawTensor tensor{full, place->tensor->type, place->tensor->shape, place->data()};
    if (weight.expert >= 0) tensor = expert_of(std::move(tensor), weight.expert);
    tensors[full.substr(weight.layer.size() + 1)] = std::move(tensor);
  }
  return {weight.layer, std::move(tensors)};
}

int integer_of(const json& object, const char* field) {
  const auto found = object.find(field);
  constexpr std::int64_t kMost = 1 << 20;
  if (found == object.end() || !found->is_number_integer()) return 0;
  const auto value = found->get<std::int64_t>();
  return value > 0 && value < kMost ? static_cast<int>(value) : 0;
}

}  // namespace

std::string ForeignWeight::weight_name() const {
  return layer + (expert >= 0 ? "." + std::to_string(expert) : "") + ".weight";
}

std::string_view name(Origin origin) {
  constexpr std::array<std::string_view, 11> kNames{"bitsandbytes",
                                                    "GPTQ",
                                                    "GPTQ v2",
                                                    "AWQ",
                                                    "compressed-tensors",
                                                    "scaled 8 bits",
                                                    "FP8 in square blocks",
                                                    "HQQ",
                                                    "MXFP4",
                                                    "NVFP4",
                                                    "FLUTE"};
  return kNames.at(static_cast<std::size_t>(origin));
}

ForeignConfig foreign_config(const Checkpoint& checkpoint) {
  namespace fs = std::filesystem;
  const fs::path& path = checkpoint.path();
  const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
  const auto text = files::read(folder / "config.json");
  if (!text) return {};
  const json parsed =
      files::parse_json<json>(*text, (folder / "config.json").string(), "a JSON object");
  const auto found = parsed.is_object() ? parsed.find("quantization_config") : parsed.end();
  if (found == parsed.end() || !found->is_object()) return {};
  ForeignConfig config;
  config.options.bits = integer_of(*found, "bits");
  config.options.group = integer_of(*found, "group_size");
  const auto version = found->find("checkpoint_format");
  config.gptq_v2 = version != found->end() && *version == "gptq_v2";
  return config;
}

std::vector<ForeignWeight> find_foreign(const Checkpoint& checkpoint, const ForeignConfig& config) {
  std::vector<ForeignWeight> found;
  for (const Checkpoint::Shard& shard : checkpoint.shards()) {
    for (const files::Tensor& tensor : shard.file.header().tensors) {
      auto more = foreign_of(checkpoint, tensor, config);
      std::move(more.begin(), more.end(), std::back_inserter(found));
    }
  }
  return found;
}

CodedWeight import_weight(const Checkpoint& checkpoint, const ForeignWeight& weight,
                          const ForeignConfig& config) {
  const formats::Parts parts = parts_of(checkpoint, weight);
  switch (weight.origin) {
    case Origin::bitsandbytes:
      return formats::import_bitsandbytes(parts);
    case Origin::gptq:
      return formats::import_gptq(parts, config.options, false);
    case Origin::gptq_v2:
      return formats::import_gptq(parts, config.options, true);
    case Origin::awq:
      return formats::import_awq(parts);
    case Origin::pack_quantized:
      return formats::import_pack_quantized(parts, config.options);
    case Origin::scaled_bytes:
      return formats::import_scaled_bytes(parts);
    case Origin::square_blocks:
      return formats::import_square_blocks(parts);
    case Origin::hqq:
      return formats::import_hqq(parts, config.options);
    case Origin::mxfp4:
      return formats::import_mxfp4(parts);
    case Origin::nvfp4:
      return formats::import_nvfp4(parts);
    case Origin::flute:
      return formats::import_flute(parts, config.options);
  }
  return {};
}

}  // namespace gemwright::checkpoint
