#include "compile/sources.hpp"

#include <algorithm>

namespace gemwright::compile {
namespace {

void collect(std::string_view text, std::vector<const EmbeddedFile*>& found) {
  constexpr std::string_view kInclude = "#include \"";
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at)) {
    at += kInclude.size();
    const auto* file = find_file(text.substr(at, text.find('"', at) - at));
    if (file == nullptr || std::find(found.begin(), found.end(), file) != found.end()) continue;
    found.push_back(file);
    collect(file->text, found);
  }
}

}  // namespace

const EmbeddedFile* find_file(std::string_view name) {
  for (const auto& file : embedded_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

std::vector<const EmbeddedFile*> included_files(std::string_view text) {
  std::vector<const EmbeddedFile*> found;
  collect(text, found);
  return found;
}

}  // namespace gemwright::compile
