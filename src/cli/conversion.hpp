// What quantize, import and export share: a checkpoint made of another.
#pragma once

#include "checkpoint/checkpoint.hpp"
#include "cli/command.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gemwright::cli {

/// IN, --out and --force.
struct ConversionOptions {
  std::filesystem::path in;
  std::filesystem::path out;
  bool force = false;

  void add_to(CLI::App& app);
};

struct Conversion {
  checkpoint::Reports reports;
  std::vector<std::string> copied;  // small files beside the shards
};

using ShardPlan = std::function<std::vector<checkpoint::Job>(const checkpoint::Checkpoint::Shard&)>;

/// Converts with progress on the context's `err`, and gives the result to `print`; `how` has
/// the stamp and metadata. Returns the exit status; errors name the options.
int convert(Context& context, const checkpoint::Checkpoint& in, const ConversionOptions& options,
            checkpoint::ConvertOptions how, const ShardPlan& plan,
            const std::function<void(const Conversion&)>& print);

/// A line of the small files, where there are any.
void print_copied(std::ostream& out, const Conversion& conversion);

}  // namespace gemwright::cli
