#include "cli/command.hpp"

#include "files/environment.hpp"
#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <exception>
#include <filesystem>
#include <ostream>

#include <CLI/CLI.hpp>

namespace gemwright::cli {
namespace {

constexpr const char* kFooter = R"(
Exit status: 0 done, 1 failed, 2 wrong usage or input, 3 unsupported or nothing found,
130 interrupted (what was done by then is kept and printed). What fails is said in one line that
begins with "gemwright: ", on standard error, with --json too; standard output is then empty.

Examples:
  gemwright devices
  gemwright tune --config models/llama-3.1-8b/config.json --m 1,16
  gemwright explain --m 16 --n 4096 --k 4096 --dtype bf16
  gemwright <command> --help

Environment: GEMWRIGHT_STORE, GEMWRIGHT_SHIPPED_STORE (stores of tuned results), GEMWRIGHT_CACHE
(folder of compiled kernels), GEMWRIGHT_MAX_CANDIDATES,
GEMWRIGHT_LOG=off|error|warn|info|debug (to standard error).)";

void declare(CLI::App& app, Context& context) {
  app.set_version_flag("--version", "gemwright " GEMWRIGHT_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  add_devices(app, context);
  add_candidates(app, context);
  add_explain(app, context);
  add_tune(app, context);
  add_bench(app, context);
  add_store(app, context);
  add_cache(app, context);
  add_quantize(app, context);
  add_inspect(app, context);
  add_import(app, context);
  add_export(app, context);
}

// CLI11 takes arguments last first.
std::vector<std::string> reversed(const std::vector<std::string>& arguments) {
  return {arguments.rbegin(), arguments.rend()};
}

// The first argument when it should name a command and does not; else empty.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return {};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == arguments[0]) return {};
  }
  return arguments[0];
}

// The names of an application's commands, with commas between.
std::string commands_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

// What was given that nobody takes; CLI11's errors say it last first.
std::string remaining(const CLI::App& app) {
  std::string text;
  for (const std::string& argument : app.remaining(true)) {
    text += (text.empty() ? "" : " ") + argument;
  }
  return text.empty() ? "nothing" : text;
}

// The option of a command that CLI11's "NAME: ... missing" or "NAME is required" is about; null for
// other errors.
const CLI::Option* missing_option(const CLI::App& command, const std::string& error) {
  if (!error.ends_with(" missing") && !error.ends_with(" is required")) return nullptr;
  return command.get_option_no_throw(error.substr(0, error.find_first_of(": ")));
}

// What is wrong with the command line, in the form of InvalidArgument's where it is one of these;
// else as CLI11 has it.
std::string text_of(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return InvalidArgument(at->get_name(), remaining(app), "what its help lists").what();
  }
  if (const CLI::Option* option = missing_option(*at, error.what())) {
    return InvalidArgument(option->get_name(), "nothing", option->get_description()).what();
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      at->get_require_subcommand_min() > 0) {
    return InvalidArgument(at == &app ? "command" : at->get_name(), remaining(app),
                           commands_of(*at))
        .what();
  }
  return error.what();
}

int fail(Context& context, int code, const std::string& text) {
  context.err << "gemwright: " << one_line(text) << '\n';
  return code;
}

// A slip here would otherwise read as "off".
void check_log_level() {
  if (log::environment_level()) return;
  throw InvalidArgument("GEMWRIGHT_LOG", files::environment("GEMWRIGHT_LOG"),
                        "off, error, warn, info or debug");
}

// What the library tells a person goes to the context's standard error for the length of a command.
class Listening {
 public:
  explicit Listening(Context& context) {
    log::set_listener([&context](const std::string& text) {
      context.err << "gemwright: warning: " << one_line(text) << '\n';
    });
  }
  ~Listening() { log::set_listener(nullptr); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

}  // namespace

std::string one_line(const std::string& text) {
  std::string line;
  bool space = false;
  for (const char c : text) {
    if (c == '\n') {
      line += ';';
      space = true;
    } else if (c != ' ' || !space) {
      if (space) line += ' ';
      space = false;
      line += c;
    }
  }
  while (!line.empty() && line.back() == ';') line.pop_back();
  return line;
}

int run(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("gemwright: the fastest matrix product for any problem, chosen on this machine.",
               "gemwright");
  const Listening listening(context);
  try {
    check_log_level();
    declare(app, context);
    if (const auto unknown = unknown_command(app, arguments); !unknown.empty()) {
      throw InvalidArgument("command", unknown, commands_of(app));
    }
    app.parse(reversed(arguments));
    const int code = context.action();
    context.out.flush();
    return context.out ? code : fail(context, kFailed, "the output could not be written");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, context.out, context.err);
    return fail(context, kUsage, text_of(error, app) + " (see --help)");
  } catch (const InvalidArgument& error) {
    return fail(context, kUsage, error.what());
  } catch (const AllFailed& error) {
    return fail(context, kFailed, error.what());
  } catch (const Unsupported& error) {
    return fail(context, kNothingFound, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(context, kFailed, error.path1().string() + ": " + error.code().message());
  } catch (const std::exception& error) {
    return fail(context, kFailed, error.what());
  }
}

}  // namespace gemwright::cli
