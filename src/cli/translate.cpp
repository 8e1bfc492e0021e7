// import and export: between other programs' checkpoints, packed weights and plain ones.
#include "checkpoint/translate.hpp"

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include <gemwright/errors.hpp>

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  std::filesystem::path in;
  std::filesystem::path out;
  std::string type = "bf16";
  int bits = 0;
  int group = 0;
  int flute_tile = 0;
  bool force = false;

  void add_paths(CLI::App& app) {
    app.add_option("in", in, "a .safetensors file, its index, or a folder")
        ->required()
        ->type_name("IN");
    app.add_option("-o,--out", out, "a file for a file, else a folder")
        ->required()
        ->type_name("OUT");
    app.add_flag("--force", force, "replace an output that is there");
  }
};

using Plan = std::function<std::vector<checkpoint::Job>(const checkpoint::Checkpoint::Shard&)>;

int convert(Context& context, const checkpoint::Checkpoint& in, const Options& options,
            const std::string& stamp, const Plan& plan, const char* done) {
  context.keep_on_interrupt();
  ProgressLine line(context);
  checkpoint::ConvertOptions convert;
  convert.stamp = stamp;
  convert.overwrite = options.force;
  convert.cancelled = [&context] { return context.interrupted.load(); };
  convert.progress = [&line](double part, const std::string& tensor) {
    line.show(fmt::format("{:3.0f} %  {}", 100 * part, tensor));
  };
  try {
    const auto reports = checkpoint::convert(in, options.out, plan, convert);
    context.out << fmt::format("{} tensors {} {}\n", reports.size(), done, options.out.string());
  } catch (const checkpoint::Cancelled& cancelled) {
    context.err << "gemwright: " << cancelled.what() << '\n';
    return kInterrupted;
  }
  return kDone;
}

int run_import(Context& context, const Options& options) {
  const checkpoint::Checkpoint in(options.in);
  checkpoint::ForeignConfig config = foreign_config(in);
  if (options.bits > 0) config.options.bits = options.bits;
  if (options.group > 0) config.options.group = options.group;
  config.options.flute_tile = options.flute_tile;
  const auto foreign = find_foreign(in, config);
  if (foreign.empty()) {
    throw Unsupported(options.in.string() + " has no weight that is known to be quantised");
  }
  const std::string stamp = fmt::format("import {} {} {}", config.options.bits,
                                        config.options.group, config.options.flute_tile);
  return convert(
      context, in, options, stamp,
      [&](const auto& shard) { return import_jobs(in, shard, foreign, config); }, "packed in");
}

int run_export(Context& context, const Options& options) {
  const DataType type = parse_data_type(options.type);
  const checkpoint::Checkpoint in(options.in);
  return convert(
      context, in, options, "export " + std::string(name(type)),
      [type](const auto& shard) { return export_jobs(shard, type); }, "plain in");
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "import", "Weights that another program quantised, packed bit by bit for every kernel.");
  command->footer(R"(
Takes bitsandbytes NF4 and FP4 (also double-quantised), GPTQ v1 and v2, AWQ, compressed-tensors,
HQQ, gpt-oss MXFP4, NVFP4 of ModelOpt and compressed-tensors, FLUTE, and FP8 with blocks
(docs/formats.md).

Examples:
  gemwright import ~/checkpoints/mine-gptq -o ~/checkpoints/mine-packed
  gemwright import model.safetensors -o packed.safetensors --bits 3 --group 128)");
  const auto options = std::make_shared<Options>();
  options->add_paths(*command);
  command->add_option("--bits", options->bits, "where tensors and config.json do not say")
      ->check(CLI::IsMember({2, 3, 4, 8}));
  command->add_option("--group", options->group, "columns of a group, likewise")->check(positive());
  command->add_option("--flute-tile", options->flute_tile, "tileP of FLUTE's template")
      ->check(CLI::IsMember({32, 64}));
  command->callback([&context, options] {
    context.action = [&context, options] { return run_import(context, *options); };
  });
}

void add_export(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("export", "Packed weights back to plain safetensors, dequantised.");
  command->footer(R"(
Examples:
  gemwright export ~/checkpoints/mine-nf4 -o ~/checkpoints/mine-plain
  gemwright export small.safetensors -o plain.safetensors --dtype f32)");
  const auto options = std::make_shared<Options>();
  options->add_paths(*command);
  command->add_option("--dtype", options->type, "f32, f16 or bf16")->capture_default_str();
  command->callback([&context, options] {
    context.action = [&context, options] { return run_export(context, *options); };
  });
}

}  // namespace gemwright::cli
