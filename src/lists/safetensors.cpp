#include "lists/safetensors.hpp"

#include "files/files.hpp"
#include "files/parse_json.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace gemwright::lists {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// As the format's own reader has it.
constexpr std::uint64_t kLargestHeader = 100'000'000;

std::optional<DataType> type_of(const std::string& name) {
  if (name == "F32") return DataType::f32;
  if (name == "F16") return DataType::f16;
  if (name == "BF16") return DataType::bf16;
  return std::nullopt;
}

// Little-endian length, then so many bytes of JSON.
std::string read_header(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<unsigned char, 8> prefix{};
  if (!in.read(reinterpret_cast<char*>(prefix.data()), prefix.size())) {
    throw InvalidArgument(path.string(), in.is_open() ? "fewer than 8 bytes" : "nothing to read",
                          "a safetensors file");
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[static_cast<std::size_t>(i)];
  std::error_code ignored;
  const std::uint64_t size = fs::file_size(path, ignored);
  if (length > kLargestHeader || length > size - prefix.size()) {
    throw InvalidArgument(path.string(), "a header of " + std::to_string(length) + " bytes",
                          "a safetensors file: a header inside the file of at most " +
                              std::to_string(kLargestHeader) + " bytes");
  }
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  return text;
}

std::vector<std::int64_t> shape_of(const json& tensor, const std::string& place) {
  const auto found = tensor.find("shape");
  if (found == tensor.end() || !found->is_array()) {
    throw InvalidArgument(place + ".shape", "no array", "an array of sizes");
  }
  std::vector<std::int64_t> shape;
  for (const json& size : *found) {
    const std::int64_t value = size.is_number_integer() ? size.get<std::int64_t>() : -1;
    if (value < 0 || value > kLargestSize) {
      throw InvalidArgument(place + ".shape", size.type_name(),
                            "sizes from 0 to " + std::to_string(kLargestSize));
    }
    shape.push_back(value);
  }
  return shape;
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
std::string unfit(const Tensor& tensor, const std::string& role) {
  if (tensor.shape.size() != 2) return std::to_string(tensor.shape.size()) + "-D";
  if (tensor.shape[0] == 0 || tensor.shape[1] == 0) return "empty";
  if (is_embedding(role)) return "a table that is looked up in";
  if (!type_of(tensor.type)) return "of type " + files::shortened(tensor.type);
  return {};
}

void read_into(std::vector<Tensor>& tensors, const fs::path& file) {
  auto more = parse_safetensors_header(read_header(file), file.string());
  std::move(more.begin(), more.end(), std::back_inserter(tensors));
}

// Shards named by an index; they lie beside it.
std::set<fs::path> shards_of(const fs::path& index) {
  const auto parsed = files::parse_json<json>(files::read(index).value_or(""), index.string(),
                                              "a safetensors index");
  const auto map = parsed.is_object() ? parsed.find("weight_map") : parsed.end();
  if (map == parsed.end() || !map->is_object()) {
    throw InvalidArgument(index.string(), "no object \"weight_map\"", "a safetensors index");
  }
  std::set<fs::path> shards;
  for (const auto& [weight, file] : map->items()) {
    const fs::path name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name != name.filename()) {
      throw InvalidArgument(index.string() + ": " + weight, name.string(),
                            "a file name without folders");
    }
    shards.insert(index.parent_path() / name);
  }
  return shards;
}

std::set<fs::path> files_of(const fs::path& path) {
  if (path.extension() == ".json") return shards_of(path);
  if (!fs::is_directory(path)) return {path};
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".safetensors") found.insert(entry.path());
  }
  if (found.empty()) {
    throw InvalidArgument(path.string(), "no .safetensors file in it", "a folder of a checkpoint");
  }
  return found;
}

std::string model_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = fs::is_directory(whole) ? whole : whole.parent_path();
  return folder.filename().empty() ? folder.parent_path().filename().string()
                                   : folder.filename().string();
}

}  // namespace

std::vector<Tensor> parse_safetensors_header(std::string_view text, const std::string& file) {
  const auto header = files::parse_json<json>(text, file, "a safetensors file with a JSON header");
  if (!header.is_object()) {
    throw InvalidArgument(file, header.type_name(), "a safetensors file with an object as header");
  }
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const std::string place = file + ": " + name;
    if (!tensor.is_object()) throw InvalidArgument(place, tensor.type_name(), "an object");
    const auto type = tensor.find("dtype");
    if (type == tensor.end() || !type->is_string()) {
      throw InvalidArgument(place + ".dtype", "no string", "a type such as BF16");
    }
    tensors.push_back({name, type->get<std::string>(), shape_of(tensor, place)});
  }
  return tensors;
}

Selection from_tensors(const std::vector<Tensor>& tensors, const std::string& model,
                       const Options& options) {
  std::vector<Entry> all;
  std::map<std::pair<std::string, std::string>, std::int64_t> left_out;
  for (const Tensor& tensor : tensors) {
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
  std::vector<Tensor> tensors;
  for (const fs::path& file : files_of(path)) read_into(tensors, file);
  auto all = from_tensors(tensors, model_name(path), options);
  if (all.entries.empty()) {
    throw InvalidArgument(path.string(), "no 2-D weight of type F32, F16 or BF16",
                          "a checkpoint with linear layers of those types");
  }
  return all;
}

}  // namespace gemwright::lists
