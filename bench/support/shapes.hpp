// GEMM shapes of well-known models, as the benches measure them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::bench {

/// Projections that share an activation may run as one GEMM (q, k, v; gate and up) or apart.
enum class Fusion : std::uint8_t { both, fused, unfused };

/// Which side of a weight tensor parallelism divides.
enum class Split : std::uint8_t { n, k, none };

/// A linear layer's weight W[n,k] in a model. Layers of one size are listed once ("k,v").
struct Shape {
  std::string_view model;
  std::string_view role;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Fusion fusion = Fusion::both;  // `both`: the layer is the same in either form
  Split split = Split::n;
};

/// All of them. MoE experts are single experts.
const std::vector<Shape>& all_shapes();

/// Shapes of a model ("llama-3.1-8b", ...) in one form or both, divided over `tp` GPUs. The
/// vocabulary head is only there when asked for. Throws InvalidArgument for an unknown model.
std::vector<Shape> shapes_of(std::string_view model, Fusion fusion = Fusion::both, int tp = 1,
                             bool head = false);

}  // namespace gemwright::bench
