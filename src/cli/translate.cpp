// import and export: between other programs' checkpoints, packed weights and plain ones.
#include "checkpoint/translate.hpp"

#include "cli/command.hpp"
#include "cli/conversion.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include <gemwright/errors.hpp>

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options : ConversionOptions {
  std::string type = "bf16";
  int bits = 0;
  int group = 0;
  int flute_tile = 0;
};

// `done`: what has become of the tensors.
int translate(Context& context, const checkpoint::Checkpoint& in, const Options& options,
              const std::string& stamp, const ShardPlan& plan, const char* done) {
  return convert(context, in, options, {.stamp = stamp}, plan, [&](const Conversion& conversion) {
    context.out << fmt::format("{} {} {}\n", count_text(conversion.reports.size(), "tensor"), done,
                               options.out.string());
    print_copied(context.out, conversion);
  });
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
  return translate(
      context, in, options, stamp,
      [&](const auto& shard) { return import_jobs(in, shard, foreign, config); }, "packed in");
}

int run_export(Context& context, const Options& options) {
  const DataType type = option("--dtype", options.type, parse_data_type);
  const checkpoint::Checkpoint in(options.in);
  return translate(
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
  options->add_to(*command);
  command
      ->add_option("--bits", options->bits,
                   "2, 3, 4 or 8, where tensors and config.json do not say")
      ->check(one_of({"2", "3", "4", "8"}));
  command->add_option("--group", options->group, "columns of a group, likewise")
      ->check(whole(1, 1 << 30));
  command->add_option("--flute-tile", options->flute_tile, "tileP of FLUTE's template: 32 or 64")
      ->check(one_of({"32", "64"}));
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
  options->add_to(*command);
  command->add_option("--dtype", options->type, "f32, f16 or bf16")->capture_default_str();
  command->callback([&context, options] {
    context.action = [&context, options] { return run_export(context, *options); };
  });
}

}  // namespace gemwright::cli
