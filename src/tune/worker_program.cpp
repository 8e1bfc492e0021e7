#include "files/environment.hpp"
#include "tune/worker.hpp"

#include <filesystem>

#include <dlfcn.h>
#include <unistd.h>

namespace gemwright::tune {
namespace {

namespace fs = std::filesystem;

bool executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path folder_of_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&worker_program), &info) == 0) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

}  // namespace

std::string worker_program() {
  if (const auto given = files::environment("GEMWRIGHT_WORKER"); !given.empty()) {
    return executable(given) ? given : "";
  }
  std::error_code error;
  const fs::path beside_program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path beside_library = folder_of_library();
  for (const fs::path& folder : {
           beside_program,
           beside_library,
           beside_library / "../bin",
           fs::path(GEMWRIGHT_INSTALL_BINDIR),
       }) {
    if (!folder.empty() && executable(folder / "gemwright")) return folder / "gemwright";
  }
  return {};
}

}  // namespace gemwright::tune
