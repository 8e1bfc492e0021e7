#include "families/family.hpp"

#include <gemwright/errors.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gemwright {

const BuildReport& Kernel::report() const {
  static const BuildReport nothing;
  return nothing;
}

std::string_view Family::summation_order(const Problem& /*problem*/,
                                         const Configuration& /*configuration*/) const {
  return {};
}

std::optional<std::string> refuse_activations(const Problem& problem) {
  if (problem.activations == Activations::as_given) return std::nullopt;
  return fmt::format("activations are to be rounded to {}: these kernels multiply them as given",
                     name(problem.activations));
}

namespace families {

std::string to_json(const Family& family, const Configuration& configuration) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const auto names = family.parameters();
  for (std::size_t i = 0; i < names.size(); ++i) {
    json[std::string(names[i])] = configuration.values[i];
  }
  return json.dump();
}

Configuration from_json(const Family& family, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto names = family.parameters();
  if (!json.is_object() || json.size() != names.size()) {
    throw InvalidArgument("configuration", std::string(text),
                          "an object with the parameters of " + std::string(family.name()));
  }
  Configuration configuration;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = json.find(std::string(names[i]));
    if (value == json.end() || !value->is_number_integer()) {
      throw InvalidArgument("configuration." + std::string(names[i]), std::string(text),
                            "an integer");
    }
    configuration.values[i] = value->get<std::int32_t>();
  }
  return configuration;
}

}  // namespace families
}  // namespace gemwright
