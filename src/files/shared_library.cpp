#include "files/shared_library.hpp"

#include "files/environment.hpp"

#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

namespace gemwright::files {
namespace {

namespace fs = std::filesystem;

SharedLibrary open_path(const std::string& path) {
  SharedLibrary library;
  library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle != nullptr) {
    library.path = path;
  } else {
    const char* error = dlerror();
    library.error = error == nullptr ? path + " cannot be opened" : error;
  }
  return library;
}

// python3.*/site-packages and dist-packages below a prefix's lib.
void add_site_packages(const fs::path& lib, std::vector<fs::path>& out) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(lib, error)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const char* name : {"site-packages", "dist-packages"}) {
      if (fs::is_directory(entry.path() / name, error)) out.push_back(entry.path() / name);
    }
  }
}

std::vector<fs::path> site_packages() {
  std::vector<fs::path> out;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&site_packages), &info) != 0 &&
      info.dli_fname != nullptr) {
    for (fs::path folder = fs::path(info.dli_fname).parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (folder.filename().string().ends_with("-packages")) out.push_back(folder);
    }
  }
  if (const auto prefix = environment("VIRTUAL_ENV"); !prefix.empty()) {
    add_site_packages(fs::path(prefix) / "lib", out);
  }
  if (const auto home = environment("HOME"); !home.empty()) {
    add_site_packages(fs::path(home) / ".local/lib", out);
  }
  add_site_packages("/usr/local/lib", out);
  add_site_packages("/usr/lib", out);
  return out;
}

}  // namespace

void* SharedLibrary::symbol(const char* name) const {
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

std::vector<std::string> toolkit_folders(const char* subfolder, const char* pip_package) {
  std::vector<fs::path> candidates;
  for (const auto& prefix : {environment("CUDA_HOME"), environment("CUDA_PATH")}) {
    if (!prefix.empty()) candidates.push_back(fs::path(prefix) / subfolder);
  }
  candidates.push_back(fs::path("/usr/local/cuda") / subfolder);
  const std::string_view pip_subfolder = std::string_view(subfolder) == "lib64" ? "lib" : subfolder;
  for (const auto& site : site_packages()) {
    candidates.push_back(site / "nvidia" / "cu13" / pip_subfolder);
    candidates.push_back(site / "nvidia" / pip_package / pip_subfolder);
  }
  std::vector<std::string> out;
  for (const auto& folder : candidates) {
    std::error_code error;
    if (fs::is_directory(folder, error)) out.push_back(folder.string());
  }
  return out;
}

SharedLibrary open_library(const char* override_name, std::span<const char* const> names,
                           const char* pip_package) {
  if (const auto path = environment(override_name); !path.empty()) {
    auto library = open_path(path);
    if (!library) library.error += fmt::format(" (set by ${})", override_name);
    return library;
  }
  std::string first_error;
  for (const char* name : names) {
    auto library = open_path(name);
    if (library) return library;
    if (first_error.empty()) first_error = library.error;
  }
  if (pip_package != nullptr) {
    for (const auto& folder : toolkit_folders("lib64", pip_package)) {
      for (const char* name : names) {
        if (auto library = open_path(folder + "/" + name)) return library;
      }
    }
  }
  SharedLibrary missing;
  missing.error = first_error;
  return missing;
}

}  // namespace gemwright::files
