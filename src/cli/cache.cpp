#include "compile/cache.hpp"

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "device/profile.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

Json json_of(const compile::CacheEntry& entry) {
  Json json;
  json["file"] = entry.file_name;
  json["source"] = entry.source;
  json["compiler"] = entry.compiler;
  json["target"] = entry.target;
  json["date"] = entry.date;
  json["bytes"] = entry.bytes;
  json["compile_ms"] = entry.report.compile_ms;
  json["registers"] = entry.report.registers;
  json["spill_bytes"] = entry.report.spill_bytes;
  json["shared_bytes"] = entry.report.shared_bytes;
  json["warnings"] = entry.report.log;
  if (!entry.problem.empty()) json["problem"] = entry.problem;
  return json;
}

struct Options {
  OutputOptions output;
  bool repair = false;
};

// "sm_90" of "sm_90a": what an entry was compiled for.
std::string generation(const std::string& target) {
  const std::size_t end = target.find_last_of("0123456789");
  return end == std::string::npos ? target : target.substr(0, end + 1);
}

// All of them, or those for the device asked for.
std::vector<compile::CacheEntry> entries_of(const compile::Cache& cache, const Options& options) {
  auto entries = cache.list();
  if (options.output.device_name.empty()) return entries;
  const Device device = options.output.device();
  if (device.kind() == DeviceKind::cpu) {
    throw Unsupported("--device: kernels of CPUs come with the library, and are not in the cache");
  }
  const std::string wanted = fmt::format("sm_{}", device.profile().cuda.sm);
  std::erase_if(entries, [&](const auto& entry) { return generation(entry.target) != wanted; });
  return entries;
}

int remove(const compile::Cache& cache, const std::vector<compile::CacheEntry>& entries) {
  return static_cast<int>(std::count_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return cache.remove(entry.file_name);
  }));
}

int run_list(Context& context, const Options& options) {
  const auto cache = compile::Cache::user();
  const auto entries = entries_of(cache, options);
  if (options.output.json) {
    Json json = Json::array();
    for (const auto& entry : entries) json.push_back(json_of(entry));
    context.out << document(json);
    return kDone;
  }
  Table table({"file", "source", "compiler", "target", "size", "registers", "spilled",
               "compiled in", "date", "warnings", "not used"});
  double bytes = 0;
  for (const auto& entry : entries) {
    bytes += static_cast<double>(entry.bytes);
    table.add({entry.file_name, entry.source, entry.compiler, entry.target,
               bytes_text(static_cast<double>(entry.bytes)), std::to_string(entry.report.registers),
               bytes_text(entry.report.spill_bytes), time_text(entry.report.compile_ms * 1e3),
               entry.date, one_line(entry.report.log), one_line(entry.problem)});
  }
  if (!entries.empty()) table.print(context.out);
  context.out << fmt::format("{} kernels, {} in {}\n", entries.size(), bytes_text(bytes),
                             cache.folder().string());
  return kDone;
}

int run_verify(Context& context, const Options& options) {
  const auto cache = compile::Cache::user();
  auto entries = entries_of(cache, options);
  const auto total = entries.size();
  std::erase_if(entries, [](const auto& entry) { return entry.problem.empty(); });
  const int removed = options.repair ? remove(cache, entries) : 0;
  if (options.output.json) {
    Json json{{"kernels", total}, {"bad", Json::array()}, {"removed", removed}};
    for (const auto& entry : entries) json["bad"].push_back(json_of(entry));
    context.out << document(json);
  } else {
    for (const auto& entry : entries) {
      context.out << fmt::format("{}: {}\n", entry.file_name, one_line(entry.problem));
    }
    context.out << fmt::format("{} of {} kernels are bad{}\n", entries.size(), total,
                               options.repair ? fmt::format(", {} removed", removed) : "");
  }
  return entries.empty() || options.repair ? kDone : kFailed;
}

int run_clear(Context& context, const Options& options) {
  const auto cache = compile::Cache::user();
  const bool all = options.output.device_name.empty();
  const int removed = all ? cache.clear() : remove(cache, entries_of(cache, options));
  if (options.output.json) {
    context.out << document(Json{{"removed", removed}});
  } else {
    context.out << fmt::format("{} removed\n", removed);
  }
  return kDone;
}

}  // namespace

void add_cache(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("cache", "Compiled GPU kernels: list, verify, clear.");
  command->require_subcommand(1);
  command->footer(R"(
Bad entries are never used; verify ends with 1 when it finds some and leaves them.

Examples:
  gemwright cache list --device h200
  gemwright cache verify --repair
  gemwright cache clear)");
  const auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* description,
                       int (*run)(Context&, const Options&), const char* examples) {
    CLI::App* part = command->add_subcommand(name, description);
    part->footer(examples);
    options->output.add_to(*part, "all GPUs");
    part->callback([&context, options, run] {
      context.action = [&context, options, run] { return run(context, *options); };
    });
    return part;
  };
  add("list", "Every kernel.", run_list, R"(
Examples:
  gemwright cache list
  gemwright cache list --device h200 --json)");
  add("verify", "Reads and checks every kernel.", run_verify, R"(
Bad entries are never used. Ends with 1 when it finds some and leaves them.

Examples:
  gemwright cache verify
  gemwright cache verify --repair)")
      ->add_flag("--repair", options->repair, "remove the bad ones");
  add("clear", "Removes all of them.", run_clear, R"(
Examples:
  gemwright cache clear
  gemwright cache clear --device h200)");
}

}  // namespace gemwright::cli
