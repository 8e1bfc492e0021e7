#include "support/shapes.hpp"

#include "files/files.hpp"
#include "lists/model_config.hpp"
#include <gemwright/errors.hpp>

#include <set>
#include <utility>

namespace gemwright::bench {
namespace {

std::string one_word(const std::string& roles) {
  std::string word = roles.substr(0, roles.find(", "));
  for (char& c : word) c = c == ' ' || c == '+' ? '_' : c;
  return word;
}

}  // namespace

std::vector<Shape> shapes_of(const std::string& model, int tp) {
  const auto path = std::filesystem::path("models") / model / "config.json";
  const auto text = files::read(path);
  if (!text) throw InvalidArgument("model", model, "one that has " + path.string());
  lists::Options options;
  options.unfused = true;
  options.tensor_parallel = tp;
  std::vector<Shape> shapes;
  for (const auto& entry : lists::from_model_config(*text, model, options)) {
    if (entry.role == "lm head") continue;
    shapes.push_back({model, one_word(entry.role), entry.problem.n, entry.problem.k});
  }
  return shapes;
}

std::vector<Shape> distinct(std::vector<Shape> shapes) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::erase_if(shapes, [&](const Shape& shape) { return !seen.emplace(shape.n, shape.k).second; });
  return shapes;
}

}  // namespace gemwright::bench
