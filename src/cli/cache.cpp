#include "compile/cache.hpp"

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <memory>

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

int run_list(Context& context, bool as_json) {
  const auto cache = compile::Cache::user();
  const auto entries = cache.list();
  if (as_json) {
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

int run_verify(Context& context, bool as_json, bool repair) {
  const auto cache = compile::Cache::user();
  auto entries = cache.list();
  const auto total = entries.size();
  std::erase_if(entries, [](const auto& entry) { return entry.problem.empty(); });
  const int removed = repair ? cache.remove_bad() : 0;
  if (as_json) {
    Json json{{"kernels", total}, {"bad", Json::array()}, {"removed", removed}};
    for (const auto& entry : entries) json["bad"].push_back(json_of(entry));
    context.out << document(json);
  } else {
    for (const auto& entry : entries) {
      context.out << fmt::format("{}: {}\n", entry.file_name, one_line(entry.problem));
    }
    context.out << fmt::format("{} of {} kernels are bad{}\n", entries.size(), total,
                               repair ? fmt::format(", {} removed", removed) : "");
  }
  return entries.empty() || repair ? kDone : kFailed;
}

int run_clear(Context& context, bool as_json) {
  const int removed = compile::Cache::user().clear();
  if (as_json) {
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
  gemwright cache list
  gemwright cache verify --repair
  gemwright cache clear)");
  const auto json = std::make_shared<bool>(false);
  const auto repair = std::make_shared<bool>(false);
  const auto add = [&](const char* name, const char* description, std::function<int()> action) {
    CLI::App* part = command->add_subcommand(name, description);
    part->add_flag("--json", *json, "JSON instead of text");
    part->callback([&context, action = std::move(action)] { context.action = action; });
    return part;
  };
  add("list", "Every kernel.", [&context, json] { return run_list(context, *json); });
  add("verify", "Reads and checks every kernel.", [&context, json, repair] {
    return run_verify(context, *json, *repair);
  })->add_flag("--repair", *repair, "remove the bad ones");
  add("clear", "Removes all of them.", [&context, json] { return run_clear(context, *json); });
}

}  // namespace gemwright::cli
