// Libraries of NVIDIA's that are opened at run time, so that one build runs with and without them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace gemwright::files {

/// A library held open for the process's life; empty when it was not found.
struct SharedLibrary {
  void* handle = nullptr;
  std::string path;   // as opened
  std::string error;  // why it is not there

  explicit operator bool() const { return handle != nullptr; }
  /// Null when there is no such symbol.
  void* symbol(const char* name) const;
};

/// Opens the first of `names` that there is: exactly what the environment variable `override_name`
/// says when it is set; else by the loader's own search (which also finds what the process has
/// loaded already, PyTorch's for instance), then in toolkit_folders() for `pip_package`.
SharedLibrary open_library(const char* override_name, std::span<const char* const> names,
                           const char* pip_package);

/// Where toolkits and pip packages keep `subfolder` ("lib64", "include"): below $CUDA_HOME,
/// $CUDA_PATH and /usr/local/cuda, then nvidia/cu13 and nvidia/<pip_package> below the
/// site-packages of $VIRTUAL_ENV, of this library's own folder, of the user and of the system.
/// Existing folders only.
std::vector<std::string> toolkit_folders(const char* subfolder, const char* pip_package);

}  // namespace gemwright::files
