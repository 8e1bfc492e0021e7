#include "files/files.hpp"
#include "files/parse_json.hpp"
#include "files/safetensors.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace gemwright::files {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// As the format's own reader has it.
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

std::vector<std::int64_t> shape_of(const json& tensor, const std::string& place) {
  const auto found = tensor.find("shape");
  if (found == tensor.end() || !found->is_array()) {
    throw InvalidArgument(place + ".shape", "no array", "an array of sizes");
  }
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const json& size : *found) {
    const std::int64_t value = size.is_number_integer() ? size.get<std::int64_t>() : -1;
    if (value < 0 || value > kLargestSize) {
      throw InvalidArgument(place + ".shape", shortened(size.dump()),
                            "sizes from 0 to " + std::to_string(kLargestSize));
    }
    if (value > 0 && elements > kMostElements / value) {
      throw InvalidArgument(place + ".shape", found->dump(), "at most 2^48 elements");
    }
    elements *= value;
    shape.push_back(value);
  }
  return shape;
}

std::pair<std::uint64_t, std::uint64_t> offsets_of(const json& tensor, const std::string& place) {
  const auto found = tensor.find("data_offsets");
  if (found == tensor.end()) return {0, 0};
  const bool two = found->is_array() && found->size() == 2 && (*found)[0].is_number_unsigned() &&
                   (*found)[1].is_number_unsigned();
  if (!two || (*found)[0].get<std::uint64_t>() > (*found)[1].get<std::uint64_t>()) {
    throw InvalidArgument(place + ".data_offsets", found->dump(), "two offsets, the lower first");
  }
  return {(*found)[0].get<std::uint64_t>(), (*found)[1].get<std::uint64_t>()};
}

std::map<std::string, std::string> metadata_of(const json& value) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) return metadata;
  for (const auto& [name, text] : value.items()) {
    if (text.is_string()) metadata[name] = text.get<std::string>();
  }
  return metadata;
}

// Shards named by an index; they lie beside it.
std::set<fs::path> shards_of(const fs::path& index) {
  const auto parsed =
      parse_json<json>(read(index).value_or(""), index.string(), "a safetensors index");
  const auto map = parsed.is_object() ? parsed.find("weight_map") : parsed.end();
  if (map == parsed.end() || !map->is_object()) {
    throw InvalidArgument(index.string(), "no object \"weight_map\"", "a safetensors index");
  }
  std::set<fs::path> shards;
  for (const auto& [weight, file] : map->items()) {
    const fs::path name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name != name.filename() || name == "." || name == "..") {
      throw InvalidArgument(index.string() + ": " + weight, name.string(),
                            "a file name without folders");
    }
    shards.insert(index.parent_path() / name);
  }
  return shards;
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

const Tensor* Header::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [name](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::optional<int> bits_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int>, 19> kTypes{{
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"U16", 16}, {"I16", 16}, {"F16", 16},    {"BF16", 16},
      {"U32", 32},    {"I32", 32}, {"F32", 32}, {"U64", 64},    {"I64", 64},
      {"F64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6},
  }};
  for (const auto& [name, bits] : kTypes) {
    if (name == type) return bits;
  }
  return std::nullopt;
}

Header parse_header(std::string_view text, const std::string& file) {
  const auto parsed = parse_json<json>(text, file, "a safetensors file with a JSON header");
  if (!parsed.is_object()) {
    throw InvalidArgument(file, parsed.type_name(), "a safetensors file with an object as header");
  }
  Header header;
  for (const auto& [name, tensor] : parsed.items()) {
    if (name == "__metadata__") {
      header.metadata = metadata_of(tensor);
      continue;
    }
    const std::string place = file + ": " + name;
    if (!tensor.is_object()) throw InvalidArgument(place, tensor.type_name(), "an object");
    const auto type = tensor.find("dtype");
    if (type == tensor.end() || !type->is_string()) {
      throw InvalidArgument(place + ".dtype", "no string", "a type such as BF16");
    }
    const auto [begin, end] = offsets_of(tensor, place);
    header.tensors.push_back({name, type->get<std::string>(), shape_of(tensor, place), begin, end});
  }
  return header;
}

void check_data(const Header& header, std::uint64_t data_bytes, const std::string& file) {
  std::vector<const Tensor*> by_place;
  for (const Tensor& tensor : header.tensors) {
    const std::string place = file + ": " + tensor.name;
    const std::uint64_t bytes = tensor.end - tensor.begin;
    if (tensor.end > data_bytes) {
      throw InvalidArgument(place, "data up to byte " + std::to_string(tensor.end),
                            "the " + std::to_string(data_bytes) + " bytes that the file has");
    }
    const auto bits = bits_of(tensor.type);
    const std::uint64_t wanted =
        bits
            ? (static_cast<std::uint64_t>(tensor.elements()) * static_cast<unsigned>(*bits) + 7) / 8
            : bytes;
    if (bytes != wanted) {
      throw InvalidArgument(place, std::to_string(bytes) + " bytes",
                            std::to_string(wanted) + ", as its type and shape say");
    }
    if (bytes > 0) by_place.push_back(&tensor);
  }
  std::sort(by_place.begin(), by_place.end(),
            [](const Tensor* a, const Tensor* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    if (by_place[i]->begin >= by_place[i - 1]->end) continue;
    throw InvalidArgument(file + ": " + by_place[i]->name,
                          "bytes that overlap those of " + by_place[i - 1]->name,
                          "bytes of its own");
  }
}

std::string read_header_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<unsigned char, 8> prefix{};
  if (!in.read(reinterpret_cast<char*>(prefix.data()), prefix.size())) {
    throw InvalidArgument(path.string(), in.is_open() ? "fewer than 8 bytes" : "nothing to read",
                          "a safetensors file");
  }
  std::uint64_t length = 0;  // little endian
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

std::set<fs::path> safetensors_files(const fs::path& path) {
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

}  // namespace gemwright::files
