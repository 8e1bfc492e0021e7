// The gemwright command: what each part is given, and how it ends.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

// CLI11 takes seconds to read: only who declares options does.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace gemwright::cli {

/// What the command ends with; --help names them too.
enum Exit : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kNothingFound = 3,  // no kernel takes a problem, or there is nothing of what was asked for
  kInterrupted = 130,
};

/// Where a command writes, and whether it should stop.
struct Context {
  std::ostream& out;
  std::ostream& err;
  /// Set by an interrupt (Ctrl-C).
  const std::atomic<bool>& interrupted;
  /// Progress is shown on `err` only when it is a terminal.
  bool terminal = false;
  /// What the parsed command line asks for.
  std::function<int()> action;
  /// Called once a command has read its input and has something to keep: from then on an interrupt
  /// is to set `interrupted`; before, one ends the process, whatever it waits for.
  std::function<void()> keep_on_interrupt = [] {};
};

/// Parses and runs; arguments without the program's name. Nothing is thrown: what fails is said in
/// one line on `err`.
int run(const std::vector<std::string>& arguments, Context& context);

// One function for each command, that declares its options and sets the context's action.
void add_devices(CLI::App& app, Context& context);
void add_candidates(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_tune(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_store(CLI::App& app, Context& context);
void add_cache(CLI::App& app, Context& context);
void add_quantize(CLI::App& app, Context& context);
void add_inspect(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);

/// One line: line breaks become "; ".
std::string one_line(const std::string& text);

}  // namespace gemwright::cli
