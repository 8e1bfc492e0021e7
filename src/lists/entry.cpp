#include "lists/entry.hpp"

#include <gemwright/errors.hpp>

#include <algorithm>
#include <map>

namespace gemwright::lists {
namespace {

// Adds to a list such as "q, o" unless it is in there.
void join(std::string& list, const std::string& name) {
  const std::string padded = ", " + list + ",";
  if (name.empty() || padded.find(", " + name + ",") != std::string::npos) return;
  list += (list.empty() ? "" : ", ") + name;
}

Problem problem_of(const Layer& layer, std::int64_t m, DataType type) {
  Problem problem = layer.format ? Problem::linear(m, layer.n, layer.k, type, *layer.format)
                                 : Problem::linear(m, layer.n, layer.k, type);
  if (layer.bias) {
    problem.bias = Bias::per_column;
    problem.bias_type = type;
  }
  return problem;
}

}  // namespace

std::vector<Entry> entries(const std::string& model, const std::vector<Layer>& layers,
                           DataType type, const Options& options) {
  std::vector<Entry> all;
  for (const Layer& layer : layers) {
    if (layer.n > kLargestSize || layer.k > kLargestSize) {
      throw InvalidArgument(layer.role, std::to_string(layer.n) + " x " + std::to_string(layer.k),
                            "sizes up to " + std::to_string(kLargestSize));
    }
    const std::vector<std::int64_t> rows =
        layer.once_an_image ? std::vector{options.images} : options.m;
    for (const std::int64_t m : rows) {
      all.push_back(
          {model, layer.role, problem_of(layer, m, options.type.value_or(type)), layer.count});
    }
  }
  return merged(all);
}

std::vector<Entry> merged(const std::vector<Entry>& entries) {
  std::vector<Entry> all;
  std::map<std::string, std::size_t> place;
  for (const Entry& entry : entries) {
    const auto [found, fresh] = place.try_emplace(key(entry.problem), all.size());
    if (fresh) {
      all.push_back(entry);
      continue;
    }
    Entry& there = all[found->second];
    join(there.role, entry.role);
    join(there.model, entry.model);
    there.count += entry.count;
  }
  return all;
}

}  // namespace gemwright::lists
