#include "lists/model_config.hpp"

#include "files/files.hpp"
#include <gemwright/errors.hpp>

#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gemwright::lists {
namespace {

using Shape = std::pair<std::int64_t, std::int64_t>;  // N, K
using Shapes = std::set<Shape>;

constexpr const char* kModels = GEMWRIGHT_SOURCE_DIR "/models/";

std::string config(const std::string& model) {
  return files::read(kModels + model + "/config.json").value_or("");
}

Options fused() {
  return {};
}
Options unfused() {
  Options options;
  options.fused = false;
  options.unfused = true;
  return options;
}

std::vector<Entry> list(const std::string& model, const Options& options = {}) {
  return from_model_config(config(model), model, options);
}

Shapes shapes(const std::vector<Entry>& entries) {
  Shapes all;
  for (const auto& entry : entries) all.emplace(entry.problem.n, entry.problem.k);
  return all;
}

const Entry& find(const std::vector<Entry>& entries, std::int64_t n, std::int64_t k) {
  for (const auto& entry : entries) {
    if (entry.problem.n == n && entry.problem.k == k) return entry;
  }
  throw std::runtime_error("no such shape");
}

std::string refusal(const std::string& text, const Options& options = {}) {
  try {
    from_model_config(text, "test", options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "taken";
}

// The published configurations, and the shapes that follow from them.
TEST(ModelConfig, ShapesOfTheModelsAreTheKnownOnes) {
  EXPECT_EQ(shapes(list("llama-3.1-8b")),
            (Shapes{{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}}));
  EXPECT_EQ(shapes(list("llama-3.3-70b")),
            (Shapes{{10240, 8192}, {8192, 8192}, {57344, 8192}, {8192, 28672}, {128256, 8192}}));
  EXPECT_EQ(shapes(list("qwen3-32b")),
            (Shapes{{10240, 5120}, {5120, 8192}, {51200, 5120}, {5120, 25600}, {151936, 5120}}));
  EXPECT_EQ(shapes(list("qwen3-30b-a3b")),
            (Shapes{{5120, 2048}, {2048, 4096}, {151936, 2048}, {1536, 2048}, {2048, 768}}));
  EXPECT_EQ(shapes(list("gpt-oss-20b")),
            (Shapes{{5120, 2880}, {2880, 4096}, {201088, 2880}, {5760, 2880}, {2880, 2880}}));
  EXPECT_EQ(shapes(list("deepseek-v3")), (Shapes{{1536, 7168},
                                                 {24576, 1536},
                                                 {576, 7168},
                                                 {32768, 512},
                                                 {7168, 16384},
                                                 {36864, 7168},
                                                 {7168, 18432},
                                                 {129280, 7168},
                                                 {4096, 7168},
                                                 {7168, 2048}}));
  EXPECT_EQ(
      shapes(list("flux.1-dev")),
      (Shapes{
          {9216, 3072}, {3072, 3072}, {12288, 3072}, {3072, 12288}, {3072, 15360}, {18432, 3072}}));
}

TEST(ModelConfig, ProjectionsApart) {
  EXPECT_EQ(shapes(list("llama-3.1-8b", unfused())),
            (Shapes{{4096, 4096}, {1024, 4096}, {14336, 4096}, {4096, 14336}, {128256, 4096}}));
  EXPECT_TRUE(shapes(list("flux.1-dev", unfused())).contains({3072, 3072}));
  Options both;
  both.unfused = true;
  EXPECT_EQ(shapes(list("llama-3.1-8b", both)).size(), 7U);
}

TEST(ModelConfig, EqualShapesBecomeOneEntryWithAllRoles) {
  const auto llama = list("llama-3.1-8b", unfused());
  EXPECT_EQ(find(llama, 4096, 4096).role, "q, o");
  EXPECT_EQ(find(llama, 4096, 4096).count, 64);
  EXPECT_EQ(find(llama, 1024, 4096).role, "k, v");
  EXPECT_EQ(find(list("deepseek-v3"), 4096, 7168).role, "expert gate+up, shared expert gate+up");
  EXPECT_EQ(find(list("deepseek-v3"), 4096, 7168).count, 58 * 8 + 58);
}

TEST(ModelConfig, EveryMIsAProblemOfItsOwn) {
  Options options;
  options.m = {1, 16, 512};
  const auto entries = list("llama-3.1-8b", options);
  EXPECT_EQ(entries.size(), 15U);
  EXPECT_EQ(entries[1].problem, Problem::linear(16, 6144, 4096, DataType::bf16));
}

TEST(ModelConfig, ModulationOfADiffusionModelRunsOnceAnImage) {
  Options options;
  options.m = {4608};
  options.images = 2;
  const auto entries = list("flux.1-dev", options);
  EXPECT_EQ(find(entries, 18432, 3072).problem.m, 2);
  EXPECT_EQ(find(entries, 3072, 15360).problem.m, 4608);
}

TEST(ModelConfig, BiasesAreThoseOfTheModel) {
  const auto oss = list("gpt-oss-20b");
  EXPECT_EQ(find(oss, 5120, 2880).problem.bias, Bias::per_column);
  EXPECT_EQ(find(oss, 5120, 2880).problem.bias_type, DataType::bf16);
  EXPECT_EQ(find(oss, 2880, 4096).problem.bias, Bias::per_column);
  EXPECT_EQ(find(oss, 201088, 2880).problem.bias, Bias::none);
  EXPECT_EQ(find(list("llama-3.1-8b"), 6144, 4096).problem.bias, Bias::none);
}

TEST(ModelConfig, TensorParallelDividesNOrK) {
  Options options;
  options.tensor_parallel = 8;
  EXPECT_EQ(shapes(list("llama-3.3-70b", options)),
            (Shapes{{1280, 8192}, {8192, 1024}, {7168, 8192}, {8192, 3584}, {16032, 8192}}));
  // Four key heads on eight devices: each has a copy of one.
  EXPECT_TRUE(shapes(list("qwen3-30b-a3b", options)).contains({4 * 128 + 2 * 128, 2048}));
  options.tensor_parallel = 3;
  EXPECT_EQ(refusal(config("llama-3.1-8b"), options),
            "--tp: given 3; allowed: a divisor of num_attention_heads = 32");
}

TEST(ModelConfig, AnotherTypeThanTheModels) {
  Options options;
  options.type = DataType::f32;
  EXPECT_EQ(list("llama-3.1-8b", options)[0].problem.a.type, DataType::f32);
}

nlohmann::json small() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 64},
          {"intermediate_size", 128},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"vocab_size", 1000}};
}

std::string with(const char* name, const nlohmann::json& value) {
  auto json = small();
  json[name] = value;
  return json.dump();
}

TEST(ModelConfig, OtherArchitectures) {
  auto json = small();
  const auto read = [&](const char* name) {
    json["architectures"] = {name};
    return shapes(from_model_config(json.dump(), "test", unfused()));
  };
  EXPECT_EQ(read("Gemma2ForCausalLM"),
            (Shapes{{1024, 64}, {512, 64}, {64, 1024}, {128, 64}, {64, 128}, {1000, 64}}));
  json["head_dim"] = 32;
  EXPECT_EQ(read("MistralForCausalLM"), (Shapes{{128, 64}, {64, 64}, {64, 128}, {1000, 64}}));
  json["num_local_experts"] = 8;
  json["num_experts_per_tok"] = 2;
  json["intermediate_size"] = 96;
  EXPECT_TRUE(read("MixtralForCausalLM").contains({96, 64}));
  json["architectures"] = {"Qwen2ForCausalLM"};
  const auto qwen2 = from_model_config(json.dump(), "test", fused());
  EXPECT_EQ(find(qwen2, 256, 64).problem.bias, Bias::per_column);
  EXPECT_EQ(find(qwen2, 64, 128).problem.bias, Bias::none);
}

// Layers 1, 3, 5, ... have experts, but those listed; what is listed besides has none anyway.
TEST(ModelConfig, LayersWithoutExpertsThatAreListedCountOnce) {
  auto json = small();
  json["architectures"] = {"Qwen2MoeForCausalLM"};
  json["num_hidden_layers"] = 8;
  json["num_experts"] = 16;
  json["num_experts_per_tok"] = 4;
  json["moe_intermediate_size"] = 32;
  json["decoder_sparse_step"] = 2;
  const auto layers = [&json](const nlohmann::json& listed) {
    json["mlp_only_layers"] = listed;
    const auto entries = from_model_config(json.dump(), "test", fused());
    return std::pair{find(entries, 256, 64).count, find(entries, 64, 32).count};
  };
  EXPECT_EQ(layers(nullptr), (std::pair<std::int64_t, std::int64_t>{4, 4 * 4}));
  EXPECT_EQ(layers({0, 2, 9}), (std::pair<std::int64_t, std::int64_t>{4, 4 * 4}));
  EXPECT_EQ(layers({0, 3, 3, 7}), (std::pair<std::int64_t, std::int64_t>{6, 2 * 4}));
  json["mlp_only_layers"] = {0, "1"};
  EXPECT_EQ(refusal(json.dump()),
            "mlp_only_layers: given [0,\"1\"]; allowed: an array of whole numbers from 0 on");
}

TEST(ModelConfig, OtherDiffusionModels) {
  const char* sd3 = R"({"_class_name": "SD3Transformer2DModel", "num_layers": 24,
                        "num_attention_heads": 24, "attention_head_dim": 64})";
  EXPECT_EQ(
      shapes(from_model_config(sd3, "sd3", fused())),
      (Shapes{{4608, 1536}, {1536, 1536}, {6144, 1536}, {1536, 6144}, {9216, 1536}, {3072, 1536}}));
  const char* pixart = R"({"_class_name": "PixArtTransformer2DModel", "num_layers": 28,
                           "num_attention_heads": 16, "attention_head_dim": 72})";
  EXPECT_EQ(
      shapes(from_model_config(pixart, "pixart", fused())),
      (Shapes{{3456, 1152}, {1152, 1152}, {2304, 1152}, {4608, 1152}, {1152, 4608}, {6912, 1152}}));
}

TEST(ModelConfig, RefusesArchitecturesItDoesNotKnowWithThoseItDoes) {
  const auto text = refusal(with("architectures", {"BertModel"}));
  EXPECT_NE(text.find("given BertModel"), std::string::npos);
  for (const auto& name : known_architectures()) EXPECT_NE(text.find(name), std::string::npos);
  EXPECT_EQ(refusal("{}").rfind("architectures: given nothing; allowed: an array", 0), 0U);
  EXPECT_EQ(refusal(with("architectures", "LlamaForCausalLM"))
                .rfind("architectures: given \"LlamaForCausalLM\"; allowed: an array", 0),
            0U);
  EXPECT_EQ(refusal(with("architectures", {5})).rfind("architectures: given [5]", 0), 0U);
  EXPECT_EQ(refusal(with("_class_name", 5)).rfind("_class_name: given 5; allowed: one of", 0), 0U);
}

TEST(ModelConfig, RefusesMissingAndAbsurdNumbersByName) {
  auto missing = small();
  missing.erase("hidden_size");
  EXPECT_EQ(refusal(missing.dump()),
            "hidden_size: given nothing; allowed: a whole number from 1 to 16777216");
  EXPECT_EQ(refusal(with("num_hidden_layers", 0)),
            "num_hidden_layers: given 0; allowed: a whole number from 1 to 16777216");
  EXPECT_EQ(refusal(with("intermediate_size", -5)),
            "intermediate_size: given -5; allowed: a whole number from 1 to 16777216");
  EXPECT_EQ(refusal(with("vocab_size", "many")),
            "vocab_size: given \"many\"; allowed: a whole number from 1 to 16777216");
  EXPECT_EQ(refusal(with("vocab_size", 18446744073709551615ULL)).rfind("vocab_size: given", 0), 0U);
  EXPECT_EQ(refusal(with("vocab_size", 1e9)).rfind("vocab_size: given", 0), 0U);
  EXPECT_EQ(refusal(with("num_key_value_heads", 3)).rfind("num_key_value_heads: given 3", 0), 0U);
  EXPECT_EQ(refusal(with("hidden_size", 66)).rfind("head_dim: given nothing", 0), 0U);
  EXPECT_EQ(refusal(with("torch_dtype", "float8_e4m3fn")).rfind("torch_dtype: given", 0), 0U);
  EXPECT_EQ(refusal(with("attention_bias", 1)), "attention_bias: given 1; allowed: true or false");
  EXPECT_EQ(refusal("{\n\"a\": }").rfind("config: given", 0), 0U);
  EXPECT_NE(refusal("{\"a\": 1e999}").find("1e999"), std::string::npos);
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_NE(refusal("{\"a\":" + deep + "}").find("nested deeper than 32"), std::string::npos);
  EXPECT_EQ(refusal("[]"), "config: given array; allowed: a JSON object");
}

}  // namespace
}  // namespace gemwright::lists
