#include "device/constants_file.hpp"

#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

namespace gemwright {

std::string constants_text(int version, const std::string& device,
                           std::span<const NamedConstant> constants) {
  nlohmann::ordered_json json = {{"version", version}, {"device", device}};
  for (const NamedConstant& constant : constants) json[constant.name] = *constant.value;
  return json.dump(1) + "\n";
}

bool parse_constants(const std::string& text, int version, const std::string& device,
                     std::span<const NamedConstant> constants) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("version", nlohmann::json()) != version ||
      json.value("device", nlohmann::json()) != device) {
    return false;
  }
  std::vector<double> values;
  for (const NamedConstant& constant : constants) {
    const auto value = json.find(constant.name);
    if (value == json.end() || !value->is_number()) return false;
    values.push_back(value->get<double>());
    if (!std::isfinite(values.back()) || values.back() <= 0) return false;
  }
  for (std::size_t i = 0; i < values.size(); ++i) *constants[i].value = values[i];
  return true;
}

}  // namespace gemwright
