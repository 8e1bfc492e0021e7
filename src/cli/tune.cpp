#include "cli/clock.hpp"
#include "cli/command.hpp"
#include "cli/commit.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "device/calibrate.hpp"
#include "device/profile.hpp"
#include "store/database.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/planner.hpp>

#include <algorithm>
#include <ctime>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  OutputOptions output;
  StoreOptions store;
  ProblemOptions problems;
  PlanOptions plan;
  bool model_only = false;
};

constexpr const char* kNotKept = "not kept";

// One line of the table: an answer, or why there is none.
struct Row {
  lists::Entry entry;
  std::string kernel;
  Explanation explanation;
  std::string failure;
  int code = kDone;
  bool kept = true;  // the answer, with its note
  bool cut = false;  // and a longer limit tunes it again

  bool measured() const { return explanation.chosen.median_us > 0; }
  // Nothing to compute, and no kernel.
  bool empty() const { return explanation.chosen.family == "none"; }
  double us() const {
    return measured() ? explanation.chosen.median_us : explanation.chosen.predicted_us;
  }
};

// An answer that is short of something may be kept all the same, to spare that time again.
void look_up(Row& row, const Device& device, const Store& store) {
  const std::string& note = row.explanation.note;
  if (note.empty()) return;
  const auto record =
      store.database().find(key(canonical(row.entry.problem).problem), device.key());
  row.kept = record && record->note == note;
  row.cut = row.kept && record->time_limit_s > 0;
}

Row tune_one(const Planner& planner, const lists::Entry& entry, const PlanOptions& options) {
  Row row;
  row.entry = entry;
  try {
    const Plan plan = planner.plan(entry.problem, options);
    row.kernel = plan.kernel();
    row.explanation = plan.explanation();
  } catch (const AllFailed& error) {
    row.failure = one_line(error.what());
    row.code = kFailed;
  } catch (const Unsupported& error) {
    row.failure = one_line(error.what());
    row.code = kNothingFound;
  } catch (const DeviceError& error) {
    row.failure = one_line(error.what());
    row.code = kFailed;
  }
  return row;
}

std::vector<Row> tune_all(const Context& context, const Planner& planner,
                          const std::vector<lists::Entry>& entries, const Options& options,
                          ClockSamples& clock) {
  std::vector<Row> rows;
  ProgressLine line(context);
  for (const auto& entry : entries) {
    if (context.interrupted) break;
    PlanOptions plan_options = options.plan;
    plan_options.mode = options.model_only ? Mode::model : Mode::tune;
    plan_options.cancelled = [&context] { return context.interrupted.load(); };
    const std::string what =
        fmt::format("[{}/{}] {}M={}", rows.size() + 1, entries.size(),
                    entry.role.empty() ? "" : entry.role + " ", entry.problem.m);
    line.show(what);
    plan_options.progress = [&](int done, int total, const std::string& text) {
      line.show(fmt::format("{}  {}/{} {}", what, done, total, text));
    };
    Row row = tune_one(planner, entry, plan_options);
    if (row.explanation.source == Source::tuned) clock.take(planner.device());
    // Broken off before anything was measured: that problem is not done.
    const bool broken_off = context.interrupted && !options.model_only && !row.measured();
    if (!broken_off) rows.push_back(std::move(row));
  }
  return rows;
}

Json json_of(const Row& row) {
  if (row.failure.empty()) return to_json(row.entry, row.kernel, row.explanation);
  Json json = to_json(row.entry);
  json["failure"] = row.failure;
  return json;
}

// "bf16", "bf16 x nf4:g64:bf16", "bf16->e4m3 x nf4:g64:bf16".
std::string type_text(const Problem& problem) {
  std::string type(name(problem.a.type));
  if (problem.activations != Activations::as_given) {
    type += "->" + std::string(name(problem.activations));
  }
  return problem.weight ? type + " x " + key(*problem.weight) : type;
}

std::vector<std::string> cells_of(const Row& row) {
  const Problem& problem = row.entry.problem;
  std::vector<std::string> cells = {row.entry.model,
                                    row.entry.role,
                                    std::to_string(problem.batch),
                                    std::to_string(problem.m),
                                    std::to_string(problem.n),
                                    std::to_string(problem.k),
                                    type_text(problem)};
  if (!row.failure.empty()) {
    cells.insert(cells.end(), {"none", "-", "-", "-", "-", row.failure});
    return cells;
  }
  if (row.empty()) {
    cells.insert(cells.end(), {"none", "-", "-", "-", "-", kEmptyResult});
    return cells;
  }
  const std::string mark = row.measured() ? "" : "~";
  const std::string& note = row.explanation.note;
  const bool said = row.kept || note.find(kNotKept) != std::string::npos;
  cells.insert(cells.end(), {row.kernel, mark + time_text(row.us()),
                             mark + percent_text(row.explanation.floor_us, row.us()),
                             ratio_text(row.explanation.vendor_first_us, row.us()),
                             std::string(name(row.explanation.source)),
                             said ? note : fmt::format("{}; {}", note, kNotKept)});
  return cells;
}

void print(std::ostream& out, const Device& device, const std::vector<Row>& rows) {
  const std::string& driver = device.profile().driver;
  out << fmt::format("{}{}{}\n\n", device.name(), driver.empty() ? "" : ", ", driver);
  const auto all = [&rows](const auto& holds) {
    return std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return holds(row.entry); });
  };
  const bool one_model = all([&](const auto& entry) { return entry.model == rows[0].entry.model; });
  const bool no_batches = all([](const auto& entry) { return entry.problem.batch == 1; });
  Table table({"model", "role", "batch", "M", "N", "K", "type", "kernel", "time", "of floor",
               "x vendor", "source", "note"});
  for (const Row& row : rows) {
    auto cells = cells_of(row);
    // Columns without text are left out.
    if (one_model) cells[0].clear();
    if (no_batches) cells[2].clear();
    table.add(std::move(cells));
  }
  table.print(out);
}

void print_notes(std::ostream& out, const std::vector<Row>& rows) {
  out << "\nof floor: the hardware's least time over this one\n"
         "x vendor: the time of the vendor library's first choice over this one\n";
  const bool predicted = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.failure.empty() && !row.measured() && !row.empty();
  });
  if (predicted) out << "~: predicted by the model, not measured\n";
  const auto any_noted = [&rows](const auto& holds) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return !row.explanation.note.empty() && holds(row); });
  };
  const bool cut = any_noted([](const Row& row) { return row.cut; });
  const bool uncut = any_noted([](const Row& row) { return row.kept && !row.cut; });
  if (cut && uncut) {
    out << "note: kept as it is; --retune tunes it again, and a longer --time-limit what was cut "
           "short or did not repeat\n";
  } else if (cut) {
    out << "note: kept as it is; --retune, or a longer --time-limit, tunes it again\n";
  } else if (uncut) {
    out << "note: kept as it is; --retune tunes it again\n";
  }
  if (any_noted([](const Row& row) { return !row.kept; })) {
    out << kNotKept << ": the next call tunes it again\n";
  }
}

int run_tune(Context& context, const Options& options) {
  const auto [entries, left_out] = options.problems.select();
  const Store store = options.store.store();
  context.keep_on_interrupt();
  Device device = options.model_only ? options.output.device() : options.output.present_device();
  if (!options.model_only) {
    ProgressLine line(context);
    line.show("measuring the device's rates, once");
    device = calibrated(device);
  }
  const Planner planner(device, store);
  ClockSamples clock;
  auto rows = tune_all(context, planner, entries, options, clock);
  for (Row& row : rows) look_up(row, device, store);

  if (options.output.json) {
    Json json;
    json["device"] = device.name();
    json["driver"] = device.profile().driver;
    json["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    json["version"] = GEMWRIGHT_VERSION;
    json["commit"] = commit();
    json["clock_mhz"] = clock.json();
    json["rows"] = Json::array();
    for (const Row& row : rows) json["rows"].push_back(json_of(row));
    if (!left_out.empty()) json["left_out"] = to_json(left_out);
    context.out << document(json);
  } else if (!rows.empty()) {
    print(context.out, device, rows);
    print_notes(context.out, rows);
    print_left_out(context.err, left_out);
  }
  if (const auto trouble = store.database().trouble(); !trouble.empty()) {
    context.err << "gemwright: warning: results are not kept: " << one_line(trouble) << '\n';
  }
  if (context.interrupted) {
    context.err << fmt::format("gemwright: interrupted with {} of {} problems done\n", rows.size(),
                               entries.size());
    return kInterrupted;
  }
  int code = kDone;
  for (const Row& row : rows) {
    // Of several, a failure says more than something unsupported.
    if (row.code != kDone && code != kFailed) code = row.code;
  }
  return code;
}

}  // namespace

void add_tune(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "tune", "The fastest kernel for each problem: from the store, else measured and kept.");
  command->footer(R"(
Ctrl-C ends with what is done; a second one ends at once. Ends with 3 when nothing takes a problem.

Examples:
  gemwright tune --config models/llama-3.1-8b/config.json --m 1,16
  gemwright tune --config models/qwen3-30b-a3b/config.json --unfused --tp 2 --m 1,64,2048
  gemwright tune --safetensors ~/checkpoints/mine --m 8 --device cuda:1
  gemwright tune --m 16 --n 4096 --k 4096 --dtype f16 --retune --max-candidates 0)");
  const auto options = std::make_shared<Options>();
  options->output.add_to(*command);
  options->store.add_to(*command);
  options->problems.add_to(*command);
  command
      ->add_option("--max-candidates", options->plan.max_candidates,
                   "own candidates that are measured, besides the vendor's; 0: all")
      ->check(whole(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--time-limit", options->plan.time_limit_s, "seconds for one problem")
      ->check(positive())
      ->capture_default_str();
  command->add_flag("--retune", options->plan.retune,
                    "measure again, and replace the stored answer");
  command->add_flag("--model", options->model_only, "measure nothing: the store, else the model");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_tune(context, *options); };
  });
}

}  // namespace gemwright::cli
