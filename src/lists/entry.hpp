// Problem lists: the products that a model's forward pass makes.
#pragma once

#include <gemwright/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::lists {

/// Of a dimension: a larger one is a broken file.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

/// One problem of a list, and what it is for.
struct Entry {
  std::string model;
  std::string role;  // "qkv", "down", ...; several that share a shape are joined with ", "
  Problem problem;
  /// How many of these products one forward pass makes; 0 when the source does not say.
  std::int64_t count = 0;

  bool operator==(const Entry&) const = default;
};

/// What a source holds that no problem was made of.
struct LeftOut {
  std::string role;
  std::string reason;
  std::int64_t count = 0;

  bool operator==(const LeftOut&) const = default;
};

/// The problems of a source, and what of it was left out.
struct Selection {
  std::vector<Entry> entries;
  std::vector<LeftOut> left_out;
};

struct Options {
  /// Rows of A: tokens. One problem is made for each.
  std::vector<std::int64_t> m = {1};
  /// Whether they were asked for: a table whose rows all have their own is then refused, as it is
  /// for a type.
  bool m_given = false;
  /// Instead of the source's own type.
  std::optional<DataType> type;
  /// Projections that read one input as one product (qkv, gate+up), or each apart, or both.
  bool fused = true;
  bool unfused = false;
  /// Tensor-parallel degree: problems of one of so many devices.
  int tensor_parallel = 1;
  /// Rows of the products that a diffusion model makes once an image, not once a token.
  std::int64_t images = 1;
};

/// One linear layer's weight W[n, k].
struct Layer {
  std::string role;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool bias = false;
  std::int64_t count = 1;
  bool once_an_image = false;
  std::optional<WeightFormat> format = {};  // of a packed weight
};

/// Problems of the layers, each at every M of the options. Throws InvalidArgument for a layer whose
/// sizes no machine could hold.
std::vector<Entry> entries(const std::string& model, const std::vector<Layer>& layers,
                           DataType type, const Options& options);

/// Entries with equal problems become one: roles and models joined, counts added. Order is kept.
std::vector<Entry> merged(const std::vector<Entry>& entries);

}  // namespace gemwright::lists
