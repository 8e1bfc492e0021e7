// Options that several commands share.
#pragma once

#include "cli/command.hpp"
#include "lists/entry.hpp"
#include <gemwright/device.hpp>
#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>
#include <gemwright/store.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gemwright::cli {

// Checks of an option's text, whose errors have the form of InvalidArgument's.
/// A whole number in a range.
CLI::Validator whole(std::int64_t least, std::int64_t most);
/// A number above 0.
CLI::Validator positive();
/// One of these words.
CLI::Validator one_of(const std::vector<std::string>& words);

/// The problem of --problem's key; errors begin with the option's name.
Problem problem_of_key(const std::string& key);

/// What `parse` makes of an option's text; its errors name the option.
template <typename Parse>
auto option(const char* name, const std::string& given, const Parse& parse) {
  try {
    return parse(given);
  } catch (const InvalidArgument& error) {
    throw error.named(name);
  }
}

/// What is in a file. Throws InvalidArgument of the option when there is none, or none to read.
std::string text_of_file(const char* argument, const std::filesystem::path& path,
                         const std::string& allowed);

/// --device and --json.
struct OutputOptions {
  std::string device_name;
  bool json = false;

  void add_json_to(CLI::App& app);
  /// `otherwise`: what a command without --device is about.
  void add_to(CLI::App& app, const std::string& otherwise = "the first GPU, else the CPU");
  /// The device named, else the first of this machine: a GPU where there is one. Throws
  /// InvalidArgument for an unknown name, and Unsupported for a GPU that is not there.
  Device device() const;
  /// As device(); throws Unsupported for one that is only described, with what works for it.
  Device present_device() const;
};

/// --store and --shipped-store.
struct StoreOptions {
  std::filesystem::path path;
  std::filesystem::path shipped;

  void add_path_to(CLI::App& app);
  void add_to(CLI::App& app);
  /// The store named, else the user's. Throws InvalidArgument when the folder of the one named is
  /// neither there nor one that could be made in a folder that is, the file is of another kind, no
  /// shipped one is there, or the home folder that the environment names is not.
  Store store() const;
  /// As store(), for a command that only reads or removes: the one named has to be there.
  Store existing() const;
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
  std::string format;
  std::string activations;
  std::string key;
  std::filesystem::path config;
  std::filesystem::path safetensors;
  std::filesystem::path list;
  int tensor_parallel = 1;
  bool fused = false;
  bool unfused = false;
  std::vector<std::string> only;

  void add_to(CLI::App& app);
  /// At least one entry. Throws InvalidArgument, with the file's name, when there is no source,
  /// more than one, or none of its problems has a role asked for.
  lists::Selection select() const;
  /// The entries; what the source holds besides is said on the context's `err`.
  std::vector<lists::Entry> entries(const Context& context) const;
};

}  // namespace gemwright::cli
