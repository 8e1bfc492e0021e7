#include "support/shapes.hpp"

#include <gemwright/errors.hpp>

namespace gemwright::bench {
namespace {

constexpr std::string_view kHead = "lm_head";

}  // namespace

const std::vector<Shape>& all_shapes() {
  using enum Fusion;
  static const std::vector<Shape> shapes = {
      {"llama-3.1-8b", "qkv", 6144, 4096, fused, Split::n},
      {"llama-3.1-8b", "q", 4096, 4096, unfused, Split::n},
      {"llama-3.1-8b", "k,v", 1024, 4096, unfused, Split::n},
      {"llama-3.1-8b", "o", 4096, 4096, both, Split::k},
      {"llama-3.1-8b", "gate_up", 28672, 4096, fused, Split::n},
      {"llama-3.1-8b", "gate,up", 14336, 4096, unfused, Split::n},
      {"llama-3.1-8b", "down", 4096, 14336, both, Split::k},
      {"llama-3.1-8b", kHead, 128256, 4096, both, Split::n},

      {"llama-3.3-70b", "qkv", 10240, 8192, fused, Split::n},
      {"llama-3.3-70b", "q", 8192, 8192, unfused, Split::n},
      {"llama-3.3-70b", "k,v", 1024, 8192, unfused, Split::n},
      {"llama-3.3-70b", "o", 8192, 8192, both, Split::k},
      {"llama-3.3-70b", "gate_up", 57344, 8192, fused, Split::n},
      {"llama-3.3-70b", "gate,up", 28672, 8192, unfused, Split::n},
      {"llama-3.3-70b", "down", 8192, 28672, both, Split::k},
      {"llama-3.3-70b", kHead, 128256, 8192, both, Split::n},

      {"qwen3-32b", "qkv", 10240, 5120, fused, Split::n},
      {"qwen3-32b", "q", 8192, 5120, unfused, Split::n},
      {"qwen3-32b", "k,v", 1024, 5120, unfused, Split::n},
      {"qwen3-32b", "o", 5120, 8192, both, Split::k},
      {"qwen3-32b", "gate_up", 51200, 5120, fused, Split::n},
      {"qwen3-32b", "gate,up", 25600, 5120, unfused, Split::n},
      {"qwen3-32b", "down", 5120, 25600, both, Split::k},
      {"qwen3-32b", kHead, 151936, 5120, both, Split::n},

      {"qwen3-30b-a3b", "qkv", 5120, 2048, fused, Split::n},
      {"qwen3-30b-a3b", "q", 4096, 2048, unfused, Split::n},
      {"qwen3-30b-a3b", "k,v", 512, 2048, unfused, Split::n},
      {"qwen3-30b-a3b", "o", 2048, 4096, both, Split::k},
      {"qwen3-30b-a3b", "expert_gate_up", 1536, 2048, fused, Split::n},
      {"qwen3-30b-a3b", "expert_gate,up", 768, 2048, unfused, Split::n},
      {"qwen3-30b-a3b", "expert_down", 2048, 768, both, Split::k},
      {"qwen3-30b-a3b", kHead, 151936, 2048, both, Split::n},

      {"gpt-oss-20b", "qkv", 5120, 2880, fused, Split::n},
      {"gpt-oss-20b", "q", 4096, 2880, unfused, Split::n},
      {"gpt-oss-20b", "k,v", 512, 2880, unfused, Split::n},
      {"gpt-oss-20b", "o", 2880, 4096, both, Split::k},
      {"gpt-oss-20b", "expert_gate_up", 5760, 2880, both, Split::n},
      {"gpt-oss-20b", "expert_down", 2880, 2880, both, Split::k},
      {"gpt-oss-20b", kHead, 201088, 2880, both, Split::n},

      {"deepseek-v3", "q_a", 1536, 7168, both, Split::none},
      {"deepseek-v3", "q_b", 24576, 1536, both, Split::n},
      {"deepseek-v3", "kv_a", 576, 7168, both, Split::none},
      {"deepseek-v3", "kv_b", 32768, 512, both, Split::n},
      {"deepseek-v3", "o", 7168, 16384, both, Split::k},
      {"deepseek-v3", "gate_up", 36864, 7168, fused, Split::n},
      {"deepseek-v3", "gate,up", 18432, 7168, unfused, Split::n},
      {"deepseek-v3", "down", 7168, 18432, both, Split::k},
      {"deepseek-v3", "expert_gate_up", 4096, 7168, fused, Split::n},
      {"deepseek-v3", "expert_gate,up", 2048, 7168, unfused, Split::n},
      {"deepseek-v3", "expert_down", 7168, 2048, both, Split::k},
      {"deepseek-v3", kHead, 129280, 7168, both, Split::n},

      {"flux.1-dev", "qkv", 9216, 3072, fused, Split::n},
      {"flux.1-dev", "q,k,v", 3072, 3072, unfused, Split::n},
      {"flux.1-dev", "o", 3072, 3072, both, Split::k},
      {"flux.1-dev", "mlp_up", 12288, 3072, both, Split::n},
      {"flux.1-dev", "mlp_down", 3072, 12288, both, Split::k},
      {"flux.1-dev", "single_out", 3072, 15360, both, Split::k},
      {"flux.1-dev", "modulation", 18432, 3072, both, Split::n},
      {"flux.1-dev", "single_modulation", 9216, 3072, both, Split::n},
  };
  return shapes;
}

std::vector<Shape> shapes_of(std::string_view model, Fusion fusion, int tp, bool head) {
  std::vector<Shape> found;
  std::string models;
  for (const Shape& shape : all_shapes()) {
    if (models.find(shape.model) == std::string::npos) models.append(" ").append(shape.model);
    const bool form =
        fusion == Fusion::both || shape.fusion == Fusion::both || shape.fusion == fusion;
    if (shape.model != model || !form || (shape.role == kHead && !head)) continue;
    found.push_back(shape);
    if (shape.split == Split::n) found.back().n /= tp;
    if (shape.split == Split::k) found.back().k /= tp;
  }
  if (found.empty()) throw InvalidArgument("model", std::string(model), "one of:" + models);
  return found;
}

}  // namespace gemwright::bench
