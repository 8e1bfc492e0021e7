#include "cli/options.hpp"

#include "checkpoint/quantise.hpp"
#include "cli/text.hpp"
#include "files/environment.hpp"
#include "files/files.hpp"
#include "lists/model_config.hpp"
#include "lists/safetensors.hpp"
#include "lists/table.hpp"
#include "store/database.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

namespace gemwright::cli {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

// What `parse` makes of a file; the file is named in its errors.
template <typename Parse>
auto parsed(const char* argument, const std::filesystem::path& path, const Parse& parse) {
  const std::string text = text_of_file(argument, path, "a file");
  try {
    return parse(text);
  } catch (const InvalidArgument& error) {
    throw error.within(path.string());
  }
}

// Where the user's store is in the home folder, one that is named and is not there is a slip too.
void check_home() {
  const std::filesystem::path home = files::environment("HOME");
  const std::filesystem::path cache = files::environment("XDG_CACHE_HOME");
  if (cache.is_absolute() || !home.is_absolute()) return;
  if (std::filesystem::is_directory(home)) return;
  throw InvalidArgument("HOME", home.string() + ", which is no folder",
                        "a folder that is there, for the store; or name that with --store or "
                        "GEMWRIGHT_STORE");
}

// A config.json is called that everywhere: its folder names the model.
std::string model_name(const std::filesystem::path& config) {
  const auto whole = std::filesystem::absolute(config).lexically_normal();
  return whole.stem() == "config" ? whole.parent_path().filename().string() : whole.stem().string();
}

// A role by its name, by a pattern of it, or by its last parts: "mlp.down_proj" of
// "model.layers.*.mlp.down_proj".
bool names_role(const std::string& wanted, const std::string& role) {
  return role == wanted || checkpoint::matches(role, wanted) || role.ends_with("." + wanted);
}

// An entry that serves several has all their names, with commas between.
bool has_role(const lists::Entry& entry, const std::vector<std::string>& only) {
  std::string_view rest = entry.role;
  while (true) {
    const std::size_t comma = rest.find(", ");
    const std::string role(rest.substr(0, comma));
    if (std::any_of(only.begin(), only.end(),
                    [&](const std::string& wanted) { return names_role(wanted, role); })) {
      return true;
    }
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 2);
  }
}

// An option that the source of problems does not read is refused, not passed over.
void check_read(const ProblemOptions& options, const std::string& source) {
  const auto read_by = [&](const char* name, bool given, const std::vector<std::string>& those) {
    if (!given || std::find(those.begin(), those.end(), source) != those.end()) return;
    std::string allowed;
    for (const auto& other : those) allowed += (allowed.empty() ? "with " : " or ") + other;
    throw InvalidArgument(name, "with " + source, allowed);
  };
  const std::string sizes = "--n and --k";
  const std::vector<std::string> with_roles = {"--config", "--safetensors", "--list"};
  const std::vector<std::string> all_but_keys = {"--config", "--safetensors", "--list", sizes};
  read_by("--m", !options.m.empty(), all_but_keys);
  read_by("--dtype", !options.type.empty(), all_but_keys);
  read_by("--batch", options.batch != 1, {"--config", sizes});
  read_by("--layout", options.layout != "linear", {sizes});
  read_by("--bias", options.bias != "none", {sizes});
  read_by("--tp", options.tensor_parallel != 1, {"--config"});
  read_by("--fused", options.fused, {"--config"});
  read_by("--unfused", options.unfused, {"--config"});
  if (!options.format.empty() && options.layout != "linear") {
    throw InvalidArgument("--layout", options.layout + " with --format",
                          "linear: packed weights have one layout, of W[N,K]");
  }
  read_by("--only", !options.only.empty(), with_roles);
}

std::string all_roles(const std::vector<lists::Entry>& entries) {
  std::string text;
  for (const auto& entry : lists::merged(entries)) {
    if (text.find(entry.role) == std::string::npos) text += (text.empty() ? "" : "; ") + entry.role;
  }
  return text;
}

// The same product with the weight packed in a format.
void make_low_bit(Problem& problem, const WeightFormat& format) {
  if (problem.weight && key(*problem.weight) != key(format)) {
    throw InvalidArgument("--format",
                          key(format) + " with weights packed as " + key(*problem.weight),
                          "their own, without --format");
  }
  if (problem.batch > 1 && problem.b.batch_stride != 0) {
    throw InvalidArgument(
        "--format", "with a weight for each of " + std::to_string(problem.batch) + " products",
        "products that share their weight");
  }
  problem.weight = format;
  problem.b = {.type = problem.a.type, .row_stride = 0, .col_stride = 0, .packed = true};
  problem.check();
}

void round_activations(Problem& problem, Activations to) {
  if (!problem.weight) {
    throw InvalidArgument("--activations", std::string(name(to)) + " with plain weights",
                          "with low-bit weights: with --format, or packed ones");
  }
  problem.activations = to;
}

lists::Entry by_sizes(const ProblemOptions& options, std::int64_t m, DataType type) {
  Problem problem = Problem::bmm(options.batch, m, options.n, options.k, type);
  if (options.layout == "linear") {
    problem.b.row_stride = 1;
    problem.b.col_stride = options.k;
  }
  if (options.bias != "none") {
    problem.bias = options.bias == "row" ? Bias::per_row : Bias::per_column;
    problem.bias_type = type;
  }
  problem.check();
  return {"", "", problem, 0};
}

// The first of equal ones stays.
std::vector<std::int64_t> without_repeats(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t value : values) {
    if (std::find(kept.begin(), kept.end(), value) == kept.end()) kept.push_back(value);
  }
  return kept;
}

// The number that is all of a text.
template <typename Number>
std::optional<Number> number_of(const std::string& text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

template <typename Holds>
CLI::Validator check(const Holds& holds, const std::string& allowed) {
  const auto refuse = [holds, allowed](const std::string& text) -> std::string {
    if (holds(text)) return {};
    return "given " + (text.empty() ? "nothing" : text) + "; allowed: " + allowed;
  };
  return CLI::Validator(refuse, "");
}

}  // namespace

std::string text_of_file(const char* argument, const std::filesystem::path& path,
                         const std::string& allowed) {
  const auto fail = [&](const char* what) {
    return InvalidArgument(argument, path.string() + ": " + what, allowed);
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw fail("no such file");
  if (std::filesystem::is_directory(status)) throw fail("a folder");
  auto text = files::read(path);
  if (!text) throw fail("a file that cannot be read");
  return *std::move(text);
}

CLI::Validator whole(std::int64_t least, std::int64_t most) {
  const auto holds = [least, most](const std::string& text) {
    const auto value = number_of<std::int64_t>(text);
    return value && *value >= least && *value <= most;
  };
  return check(holds, fmt::format("a whole number from {} to {}", least, most));
}

CLI::Validator positive() {
  const auto holds = [](const std::string& text) {
    const auto value = number_of<double>(text);
    return value && *value > 0 && std::isfinite(*value);
  };
  return check(holds, "a number above 0");
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto holds = [words](const std::string& text) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  return check(holds, fmt::format("{}", fmt::join(words, ", ")));
}

Problem problem_of_key(const std::string& key) {
  try {
    Problem problem = parse_problem(key);
    problem.check();
    return problem;
  } catch (const InvalidArgument& error) {
    throw error.within("--problem");  // which of its fields it is
  }
}

void OutputOptions::add_to(CLI::App& app, const std::string& otherwise) {
  app.add_option(
         "--device", device_name,
         "cpu, cpu:THREADS, cuda, cuda:ORDINAL or a known GPU's name; default: " + otherwise)
      ->type_name("DEVICE");
  add_json_to(app);
}

void OutputOptions::add_json_to(CLI::App& app) {
  app.add_flag("--json", json, "JSON instead of text");
}

Device OutputOptions::device() const {
  if (device_name.empty()) return Device::all().front();
  try {
    return option("--device", device_name, [](const auto& given) { return Device::parse(given); });
  } catch (const DeviceError& error) {
    throw Unsupported("--device " + device_name + ": " + error.what());
  }
}

void StoreOptions::add_path_to(CLI::App& app) {
  app.add_option("--store", path, "file of tuned results; default: the user's")->type_name("FILE");
}

void StoreOptions::add_to(CLI::App& app) {
  add_path_to(app);
  app.add_option("--shipped-store", shipped, "read-only file consulted after it")
      ->type_name("FILE");
}

Device OutputOptions::present_device() const {
  Device found = device();
  if (found.present()) return found;
  throw Unsupported("--device " + device_name + ": " + found.name() +
                    " is not in this machine, so that nothing can be measured on it; candidates, "
                    "explain and tune --model work for it");
}

Store StoreOptions::store() const {
  const bool named = !files::environment("GEMWRIGHT_STORE").empty();
  if (path.empty() && !named) check_home();
  if (path.empty() && shipped.empty()) return Store::user();
  if (!shipped.empty() && !std::filesystem::exists(shipped)) {
    throw InvalidArgument("--shipped-store", shipped.string(), "a file that is there");
  }
  try {
    return Store::open(path.empty() ? store::user_path() : path, shipped);
  } catch (const InvalidArgument& error) {
    throw error.named(path.empty() ? "GEMWRIGHT_STORE" : "--store");
  }
}

Store StoreOptions::existing() const {
  if (!path.empty() && !std::filesystem::exists(path)) {
    throw InvalidArgument("--store", path.string(), "a file that is there");
  }
  return store();
}

void ProblemOptions::add_to(CLI::App& app) {
  const CLI::Validator size = whole(0, kLargestSize);
  const char* group = "Problems, from one of";
  app.add_option("--config", config, "config.json of a model (Hugging Face or diffusers)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--safetensors", safetensors, "a .safetensors file, its index, or a folder")
      ->type_name("PATH")
      ->group(group);
  app.add_option(
         "--list", list,
         "CSV or JSON with columns n, k and, where they differ, m, dtype, ... (docs/cli.md)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--problem", key, "a problem's key, as printed with --json")
      ->type_name("KEY")
      ->group(group);
  app.add_option("--n", n, "columns of the result, and --k")
      ->check(size)
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--k", k, "inner size")->check(size)->type_name("SIZE")->group(group);

  group = "Which of them";
  app.add_option("--m", m, "rows (tokens); several: 1,16,512; default: the list's, else 1")
      ->delimiter(',')
      ->check(size)
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--dtype", type, "f32, f16 or bf16; default: the source's, else bf16")
      ->type_name("TYPE")
      ->group(group);
  app.add_option("--batch", batch, "products in a batch; images at once of a diffusion model")
      ->check(size)
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--layout", layout, "of B with --n and --k: linear is W[N,K], mm is B[K,N]")
      ->check(one_of({"linear", "mm"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--bias", bias, "with --n and --k: none, row or column")
      ->check(one_of({"none", "row", "column"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--format", format,
                 "the weights in a low-bit format: nf4, int4, mxfp4, ... (docs/formats.md)")
      ->group(group);
  app.add_option("--activations", activations,
                 "of low-bit weights, rounded row by row to e4m3 or int8 before the product")
      ->type_name("TYPE")
      ->group(group);
  app.add_flag("--tf32", tf32, "fp32 inputs may be rounded to tf32")->group(group);
  app.add_option("--tp", tensor_parallel, "with --config: tensor-parallel degree")
      ->check(whole(1, 1024))
      ->type_name("N")
      ->group(group);
  app.add_flag("--fused", fused, "with --config: qkv and gate+up as one product (the default)")
      ->group(group);
  app.add_flag("--unfused", unfused, "with --config: q, k, v, gate and up apart; with --fused both")
      ->group(group);
  app.add_option(
         "--only", only,
         "roles to keep: qkv, o, \"lm head\", ...; their last parts, or patterns with * and ?")
      ->type_name("ROLE")
      ->delimiter(',')
      ->group(group);
}

lists::Selection ProblemOptions::select() const {
  const bool sizes = n >= 0 || k >= 0;
  const int sources = int{!config.empty()} + int{!safetensors.empty()} + int{!list.empty()} +
                      int{!key.empty()} + int{sizes};
  if (sources != 1) {
    throw InvalidArgument("problems", std::to_string(sources) + " sources",
                          "one of --config, --safetensors, --list, --problem, or --n with --k");
  }
  if (sizes && (n < 0 || k < 0)) throw InvalidArgument(n < 0 ? "--n" : "--k", "nothing", "a size");

  check_read(*this, !config.empty()        ? "--config"
                    : !safetensors.empty() ? "--safetensors"
                    : !list.empty()        ? "--list"
                    : !key.empty()         ? "--problem"
                                           : "--n and --k");

  lists::Options options;
  if (!m.empty()) options.m = without_repeats(m);
  options.m_given = !m.empty();
  if (!type.empty()) options.type = option("--dtype", type, parse_data_type);
  options.fused = fused || !unfused;
  options.unfused = unfused;
  options.tensor_parallel = tensor_parallel;
  options.images = batch;

  lists::Selection selection;
  std::vector<lists::Entry>& all = selection.entries;
  if (!config.empty()) {
    all = parsed("--config", config, [&](const std::string& text) {
      return lists::from_model_config(text, model_name(config), options);
    });
  } else if (!safetensors.empty()) {
    selection = lists::from_safetensors(safetensors, options);
  } else if (!list.empty()) {
    all = parsed("--list", list,
                 [&](const std::string& text) { return lists::from_table(text, options); });
  } else if (!key.empty()) {
    all = {{"", "", problem_of_key(key), 0}};
  } else {
    for (const auto rows : options.m) {
      all.push_back(by_sizes(*this, rows, options.type.value_or(DataType::bf16)));
    }
  }
  for (auto& entry : all) entry.problem.allow_tf32 = entry.problem.allow_tf32 || tf32;
  if (!format.empty()) {
    const WeightFormat weight = option("--format", format, parse_weight_format);
    for (auto& entry : all) make_low_bit(entry.problem, weight);
  }
  if (!activations.empty()) {
    const Activations to = option("--activations", activations, parse_activations);
    for (auto& entry : all) round_activations(entry.problem, to);
  }
  if (only.empty()) return selection;

  const std::string roles = all_roles(all);
  std::erase_if(all, [&](const lists::Entry& entry) { return !has_role(entry, only); });
  if (all.empty()) {
    throw InvalidArgument("--only", only[0],
                          roles.empty() ? "nothing: these problems have no roles" : roles);
  }
  return selection;
}

std::vector<lists::Entry> ProblemOptions::entries(const Context& context) const {
  auto selection = select();
  print_left_out(context.err, selection.left_out);
  return std::move(selection.entries);
}

}  // namespace gemwright::cli
