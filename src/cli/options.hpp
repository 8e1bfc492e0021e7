// Options that several commands share.
#pragma once

#include "lists/entry.hpp"
#include <gemwright/device.hpp>
#include <gemwright/store.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace gemwright::cli {

/// --device and --json.
struct OutputOptions {
  std::string device_name;
  bool json = false;

  void add_to(CLI::App& app);
  /// The device named, else the first of this machine: a GPU where there is one.
  Device device() const;
};

/// --store and --shipped-store.
struct StoreOptions {
  std::filesystem::path path;
  std::filesystem::path shipped;

  void add_to(CLI::App& app);
  /// The store named, else the user's.
  Store store() const;
};

/// Where problems come from, and which of them.
struct ProblemOptions {
  std::vector<std::int64_t> m;
  std::int64_t n = -1;
  std::int64_t k = -1;
  std::int64_t batch = 1;
  std::string type;
  std::string layout = "linear";
  std::string bias = "none";
  bool tf32 = false;
  std::string key;
  std::filesystem::path config;
  std::filesystem::path safetensors;
  std::filesystem::path list;
  int tensor_parallel = 1;
  bool fused = false;
  bool unfused = false;
  std::vector<std::string> only;

  void add_to(CLI::App& app);
  /// At least one entry. Throws InvalidArgument when there is no source, more than one, or none of
  /// its problems has a role asked for.
  std::vector<lists::Entry> entries() const;
};

}  // namespace gemwright::cli
