// The device sources of kernels/cuda, embedded in the library as text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::compile {

struct EmbeddedFile {
  std::string_view name;  // relative to kernels/cuda, as #include "..." names it
  std::string_view text;
};

/// Defined by the file that the build generates.
std::span<const EmbeddedFile> embedded_files();

/// Null when there is none of that name.
const EmbeddedFile* find_file(std::string_view name);

/// The embedded files that a text includes, directly or not, each once, in order of first mention.
/// Names that are not embedded (the toolkit's own headers) are left out.
std::vector<const EmbeddedFile*> included_files(std::string_view text);

}  // namespace gemwright::compile
