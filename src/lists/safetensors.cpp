#include "lists/safetensors.hpp"

#include "files/parse_json.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
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
    throw InvalidArgument("tensor parallel degree", std::to_string(options.tensor_parallel),
                          "1 for safetensors, which do not say how a weight is shared out");
  }
  if (!fs::exists(path)) {
    throw InvalidArgument(path.string(), "no such file", "a .safetensors file, index or folder");
  }
  std::vector<files::Tensor> tensors;
  std::set<std::string> names;
  for (const fs::path& file : files::safetensors_files(path)) {
    for (auto& tensor : files::parse_header(files::read_header_text(file), file.string()).tensors) {
      if (!names.insert(tensor.name).second) {
        throw InvalidArgument(file.string() + ": " + tensor.name,
                              "a name that another file has too", "a tensor in one file alone");
      }
      tensors.push_back(std::move(tensor));
    }
  }
  auto all = from_tensors(tensors, model_name(path), options);
  if (all.entries.empty()) {
    throw InvalidArgument(path.string(), "no 2-D weight of type F32, F16 or BF16",
                          "a checkpoint with linear layers of those types");
  }
  return all;
}

}  // namespace gemwright::lists
