#include "lists/safetensors.hpp"

#include "files/parse_json.hpp"
#include "formats/packed_header.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace gemwright::lists {
namespace {

namespace fs = std::filesystem;

std::optional<DataType> type_of(const std::string& name) {
  if (name == "F32") return DataType::f32;
  if (name == "F16") return DataType::f16;
  if (name == "BF16") return DataType::bf16;
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// "model.layers.7.mlp.down_proj.weight" -> "model.layers.*.mlp.down_proj".
std::string role_of(const std::string& name) {
  std::string role;
  std::size_t from = 0;
  while (from <= name.size()) {
    const std::size_t to = std::min(name.find('.', from), name.size());
    const std::string part = name.substr(from, to - from);
    const bool last_weight = to == name.size() && part == "weight";
    if (!last_weight) role += (role.empty() ? "" : ".") + (is_number(part) ? "*" : part);
    from = to + 1;
  }
  return role;
}

// Tables that are looked up in, not multiplied with.
bool is_embedding(const std::string& role) {
  const std::string last = role.substr(role.rfind('.') + 1);
  return last.find("embed") != std::string::npos || last == "wte" || last == "wpe" ||
         last == "relative_attention_bias";
}

// Why no problem is made of a tensor; empty when one is.
std::string unfit(const files::Tensor& tensor, const std::string& role) {
  if (tensor.shape.size() != 2) return std::to_string(tensor.shape.size()) + "-D";
  if (tensor.shape[0] == 0 || tensor.shape[1] == 0) return "empty";
  if (is_embedding(role)) return "a table that is looked up in";
  if (!type_of(tensor.type)) return "of type " + files::shortened(tensor.type);
  return {};
}

// The layer of a weight that gemwright has packed; the file has its data.
Layer packed_layer(const files::SafetensorsFile& file, const files::Tensor& tensor) {
  const auto data = file.data(tensor);
  const formats::PackedHeader header = formats::read_header(data.data(), data.size());
  const std::string name =
      tensor.name.substr(0, tensor.name.size() - formats::kPackedSuffix.size());
  return {
      .role = role_of(name), .n = header.n, .k = header.k, .format = formats::format_of(header)};
}

// Takes the packed weights of a file out of its tensors.
std::vector<Layer> take_packed(std::vector<files::Tensor>& tensors, const fs::path& path) {
  const auto first = std::stable_partition(
      tensors.begin(), tensors.end(),
      [](const files::Tensor& tensor) { return !tensor.name.ends_with(formats::kPackedSuffix); });
  if (first == tensors.end()) return {};
  const files::SafetensorsFile file(path);
  std::vector<Layer> layers;
  for (auto tensor = first; tensor != tensors.end(); ++tensor) {
    try {
      layers.push_back(packed_layer(file, *tensor));
    } catch (const InvalidArgument& error) {
      throw error.within(path.string() + ": " + tensor->name);
    }
  }
  tensors.erase(first, tensors.end());
  return layers;
}

// The header of a file whose data is all there.
files::Header checked_header(const fs::path& file) {
  const std::string text = files::read_header_text(file);
  files::Header header = files::parse_header(text, file.string());
  files::check_data(header, fs::file_size(file) - 8 - text.size(), file.string());
  return header;
}

std::string model_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = fs::is_directory(whole) ? whole : whole.parent_path();
  return folder.filename().empty() ? folder.parent_path().filename().string()
                                   : folder.filename().string();
}

}  // namespace

bool is_linear_weight(const files::Tensor& tensor) {
  return unfit(tensor, role_of(tensor.name)).empty();
}

Selection from_tensors(const std::vector<files::Tensor>& tensors, const std::string& model,
                       const Options& options) {
  std::vector<Entry> all;
  std::map<std::pair<std::string, std::string>, std::int64_t> left_out;
  for (const files::Tensor& tensor : tensors) {
    const std::string role = role_of(tensor.name);
    if (const auto reason = unfit(tensor, role); !reason.empty()) {
      ++left_out[{role, reason}];
      continue;
    }
    const Layer layer{role, tensor.shape[0], tensor.shape[1]};
    const DataType type = *type_of(tensor.type);
    for (auto& entry : entries(model, {layer}, type, options)) all.push_back(std::move(entry));
  }
  Selection selection{merged(all), {}};
  for (const auto& [what, count] : left_out) {
    selection.left_out.push_back({what.first, what.second, count});
  }
  return selection;
}

Selection from_safetensors(const fs::path& path, const Options& options) {
  if (options.tensor_parallel != 1) {
    throw InvalidArgument("--tp", std::to_string(options.tensor_parallel),
                          "1 for safetensors, which do not say how a weight is shared out");
  }
  if (!fs::exists(path)) {
    throw InvalidArgument(path.string(), "no such file", "a .safetensors file, index or folder");
  }
  std::vector<files::Tensor> tensors;
  std::vector<Layer> packed;
  std::set<std::string> names;
  for (const fs::path& file : files::safetensors_files(path)) {
    auto here = checked_header(file).tensors;
    for (const auto& tensor : here) {
      if (names.insert(tensor.name).second) continue;
      throw InvalidArgument(file.string() + ": " + tensor.name, "a name that another file has too",
                            "a tensor in one file alone");
    }
    for (auto& layer : take_packed(here, file)) packed.push_back(std::move(layer));
    std::move(here.begin(), here.end(), std::back_inserter(tensors));
  }
  auto all = from_tensors(tensors, model_name(path), options);
  for (auto& entry : entries(model_name(path), packed, DataType::bf16, options)) {
    all.entries.push_back(std::move(entry));
  }
  if (all.entries.empty()) {
    throw InvalidArgument(path.string(),
                          "no 2-D weight of type F32, F16 or BF16, and none packed by gemwright",
                          "a checkpoint with linear layers of those; one that another program has "
                          "quantised after \"gemwright import\", or --config with --format");
  }
  return all;
}

}  // namespace gemwright::lists
