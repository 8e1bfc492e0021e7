#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "files/files.hpp"
#include "store/database.hpp"
#include "store/record_json.hpp"
#include "store/transfer.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  OutputOptions output;
  StoreOptions store;
  std::string file;
  std::string problem;
  bool all = false;
  bool failures = false;

  // Rows are keyed by Device::key(); a machine's stored devices need not be here, so that a key
  // itself is taken as well where the store has it.
  std::string device_key(store::Database& database) const {
    const std::string& named = output.device_name;
    if (named.empty() || has_device(database, named)) return named;
    return output.device().key();
  }

 private:
  static bool has_device(store::Database& database, const std::string& key) {
    const auto records = database.list();
    return std::any_of(records.begin(), records.end(),
                       [&](const auto& record) { return record.device == key; }) ||
           !database.failures(key).empty();
  }
};

// A store that cannot be read is not an empty one.
void check_done(store::Database& database, const char* undone) {
  if (const auto trouble = database.trouble(); !trouble.empty()) {
    throw Error(std::string(undone) + ": " + trouble);
  }
}

constexpr const char* kUnread = "results cannot be read";

int print_failures(Context& context, store::Database& database, const Options& options) {
  const auto failures = database.failures(options.device_key(database));
  check_done(database, kUnread);
  if (options.output.json) {
    Json json = Json::array();
    for (const auto& failure : failures) json.push_back(store::to_json(failure));
    context.out << document(json);
    return kDone;
  }
  for (const auto& failure : failures) {
    context.out << fmt::format("{}/{} (version {}) on {}, {}: {}\n", failure.family,
                               failure.configuration_name, failure.family_version, failure.device,
                               failure.problem, one_line(failure.reason));
  }
  context.out << count_text(failures.size(), "failed kernel") << '\n';
  return kDone;
}

// One table for each device, under its name.
void print_records(std::ostream& out, const std::vector<store::Record>& records) {
  for (std::size_t i = 0; i < records.size();) {
    const std::string& device = records[i].device;
    out << (i == 0 ? "" : "\n") << "on " << device << '\n';
    Table table({"problem", "kernel", "time", "of floor", "x vendor", "date", "note"});
    for (; i < records.size() && records[i].device == device; ++i) {
      const store::Record& record = records[i];
      const double us = record.chosen.median_us;
      table.add({record.problem, record.chosen.family + "/" + record.chosen.configuration_name,
                 time_text(us), percent_text(record.floor_us, us),
                 ratio_text(record.vendor_first_us, us), record.date, record.note});
    }
    table.print(out);
  }
}

int run_list(Context& context, const Options& options) {
  const Store handle = options.store.existing();
  auto& database = handle.database();
  if (options.failures) return print_failures(context, database, options);
  const std::string device = options.device_key(database);
  auto records = database.list();
  check_done(database, kUnread);
  std::erase_if(records, [&](const auto& r) { return !device.empty() && r.device != device; });
  if (options.output.json) {
    Json json = Json::array();
    for (const auto& record : records) json.push_back(store::to_json(record));
    context.out << document(json);
  } else {
    // A shipped store's rows come after the user's.
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.device < b.device; });
    print_records(context.out, records);
    const auto& shipped = options.store.shipped;
    context.out << fmt::format("{} in {}{}\n", count_text(records.size(), "tuned problem"),
                               database.location(),
                               shipped.empty() ? "" : " and " + shipped.string());
  }
  return kDone;
}

int run_export(Context& context, const Options& options) {
  const bool to_output = options.file.empty() || options.file == "-";
  if (!to_output) files::check_folder_of("file", options.file);
  const Store handle = options.store.existing();
  auto& database = handle.database();
  const std::string text = store::export_json(database, options.device_key(database));
  check_done(database, kUnread);
  if (to_output) {
    context.out << text;
  } else {
    files::write_atomically(options.file, text);
  }
  return kDone;
}

// The file is named in errors.
store::Imported import_named(store::Database& database, const std::string& text,
                             const std::string& file) {
  try {
    return store::import_json(database, text);
  } catch (const InvalidArgument& error) {
    throw error.within(file == "-" ? "standard input" : file);
  }
}

int run_import(Context& context, const Options& options) {
  std::string text;
  if (options.file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    text = text_of_file("file", options.file, "a file written by export");
  }
  const Store handle = options.store.store();
  const auto imported = import_named(handle.database(), text, options.file);
  check_done(handle.database(), "results are not kept");
  if (options.output.json) {
    Json json;
    json["records"] = imported.records;
    json["kept"] = imported.kept;
    json["failures"] = imported.failures;
    context.out << document(json);
  } else {
    const auto count = static_cast<std::size_t>(imported.failures);
    context.out << fmt::format("{} of {} results were new or better and are kept in {}{}\n",
                               imported.kept, imported.records, handle.database().location(),
                               count > 0 ? ", with " + count_text(count, "failure") : "");
  }
  return kDone;
}

int run_remove(Context& context, const Options& options) {
  if (options.problem.empty() && options.output.device_name.empty() && !options.all) {
    throw InvalidArgument("remove", "nothing", "--problem, --device or --all");
  }
  std::string problem = options.problem;
  if (!problem.empty()) problem = key(canonical(problem_of_key(problem)).problem);
  const Store handle = options.store.existing();
  const std::string device = options.device_key(handle.database());
  const int failures = handle.database().forget_failures(problem, device);
  const int removed = handle.database().remove(problem, device);
  check_done(handle.database(), "results are not removed");
  if (options.output.json) {
    context.out << document(Json{{"removed", removed}, {"failures", failures}});
  } else {
    const auto count = static_cast<std::size_t>(failures);
    context.out << fmt::format(
        "{} removed{}\n", removed,
        failures > 0 ? ", " + count_text(count, "failure") + " forgotten" : "");
  }
  return removed + failures > 0 ? kDone : kNothingFound;
}

int run_path(Context& context, const Options& options) {
  const Store handle = options.store.store();
  const std::string path = handle.database().location();
  context.out << (options.output.json ? document(Json{{"path", path}}) : path + '\n');
  return kDone;
}

}  // namespace

void add_store(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("store", "Tuned results: list, export, import, remove.");
  command->require_subcommand(1);
  command->footer(R"(
Examples:
  gemwright store list
  gemwright store export results.json
  gemwright store import results.json --store shipped.db
  gemwright store remove --problem "m=16 n=4096 k=4096 a=bf16:4096:1 b=bf16:1:4096 d=bf16:4096:1"
  gemwright store list --failures --json)");
  const auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* description,
                       int (*run)(Context&, const Options&), const char* examples) {
    CLI::App* part = command->add_subcommand(name, description);
    part->footer(examples);
    part->callback([&context, options, run] {
      context.action = [&context, options, run] { return run(context, *options); };
    });
    return part;
  };
  CLI::App* list = add("list", "Every tuned problem.", run_list, R"(
Examples:
  gemwright store list --device cpu
  gemwright store list --failures --json)");
  options->output.add_to(*list, "all devices");
  options->store.add_to(*list);
  list->add_flag("--failures", options->failures, "kernels that failed instead");

  CLI::App* write = add("export", "Writes results as JSON.", run_export, R"(
Examples:
  gemwright store export results.json
  gemwright store export --device cuda:0 | ssh other gemwright store import -)");
  options->output.add_to(*write, "all devices");
  options->store.add_to(*write);
  write->add_option("file", options->file, "default, and -: standard output");

  CLI::App* merge =
      add("import", "Merges an export: the later result of a problem stays.", run_import, R"(
Examples:
  gemwright store import results.json
  gemwright store import results.json --store shipped.db)");
  options->output.add_json_to(*merge);
  options->store.add_path_to(*merge);
  merge->add_option("file", options->file, "a file that export wrote; -: standard input")
      ->required();

  CLI::App* remove = add("remove", "Forgets results.", run_remove, R"(
Examples:
  gemwright store remove --problem "m=16 n=4096 k=4096 a=bf16:4096:1 b=bf16:1:4096 d=bf16:4096:1"
  gemwright store remove --device cpu
  gemwright store remove --all)");
  options->output.add_to(*remove, "all devices");
  options->store.add_path_to(*remove);
  remove->add_option("--problem", options->problem, "a problem's key")->type_name("KEY");
  remove->add_flag("--all", options->all, "every result");

  CLI::App* path = add("path", "Where the store is.", run_path, R"(
Examples:
  gemwright store path
  gemwright store path --json)");
  options->output.add_json_to(*path);
  options->store.add_path_to(*path);
}

}  // namespace gemwright::cli
