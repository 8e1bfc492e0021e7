// GEMM shapes of well-known models, as the benches measure them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gemwright::bench {

/// A linear layer's weight W[n,k] in a model. Layers of one size are one shape, with the role of
/// the first: "q" for q and o where they are as large.
struct Shape {
  std::string model;
  std::string role;  // as src/lists/ names it, in one word: "gate_up", "expert_down"
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// Linear layers of models/<model>/config.json under the current folder, projections of one input
/// both together and apart, divided over `tp` GPUs; MoE experts are single ones, and the vocabulary
/// head is left out. Throws InvalidArgument.
std::vector<Shape> shapes_of(const std::string& model, int tp = 1);

/// The first of every size, in their order.
std::vector<Shape> distinct(std::vector<Shape> shapes);

}  // namespace gemwright::bench
