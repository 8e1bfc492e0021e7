#include "checkpoint/quantise.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  std::filesystem::path in;
  std::filesystem::path out;
  std::string format = "nf4";
  int group = 0;
  std::string scale;
  std::vector<std::string> keep;
  std::filesystem::path moments;
  bool force = false;
  bool json = false;
};

// --group and --scale change the format that --format names.
WeightFormat format_of(const Options& options) {
  WeightFormat format = parse_weight_format(options.format);
  if (options.group > 0) {
    if (format.grouping != Grouping::flat) format.grouping = Grouping::along_k;
    format.group = options.group;
  }
  if (!options.scale.empty()) {
    const std::string text = key(format);
    const std::size_t at = text.find(':', text.find(':') + 1);
    format = parse_weight_format(text.substr(0, at + 1) + options.scale);
  }
  format.check();
  return format;
}

void print(std::ostream& out, const checkpoint::Reports& reports, const WeightFormat& format) {
  Table table({"weight", "N", "K", "relative error", "SNR"});
  std::size_t before = 0;
  std::size_t copied = 0;
  for (const auto& [name, note] : reports) {
    const bool packed = name.ends_with(checkpoint::kPackedSuffix);
    const auto report = checkpoint::parse_report(note);
    before += packed && !report ? 1 : 0;
    copied += packed ? 0 : 1;
    if (!report) continue;
    table.add({name.substr(0, name.size() - checkpoint::kPackedSuffix.size()),
               std::to_string(report->n), std::to_string(report->k),
               fmt::format("{:.4f}", report->relative), fmt::format("{:.1f} dB", report->snr_db)});
  }
  table.print(out);
  out << fmt::format("\n{} weights as {}, {} other tensors as they were\n", reports.size() - copied,
                     key(format), copied);
  if (before > 0) out << fmt::format("{} of them were made by an earlier run\n", before);
}

Json json_of(const checkpoint::Reports& reports, const WeightFormat& format) {
  Json json;
  json["format"] = key(format);
  json["weights"] = Json::array();
  for (const auto& [name, note] : reports) {
    const auto report = checkpoint::parse_report(note);
    if (!report) continue;
    json["weights"].push_back({{"name", name},
                               {"n", report->n},
                               {"k", report->k},
                               {"relative_error", report->relative},
                               {"snr_db", report->snr_db}});
  }
  return json;
}

int run_quantize(Context& context, const Options& options) {
  const WeightFormat format = format_of(options);
  const checkpoint::Checkpoint in(options.in);
  std::optional<checkpoint::Checkpoint> moments;
  if (!options.moments.empty()) moments.emplace(options.moments);
  context.keep_on_interrupt();
  const checkpoint::QuantisePlan plan{format, options.keep, moments ? &*moments : nullptr};

  ProgressLine line(context);
  checkpoint::ConvertOptions convert;
  convert.stamp = key(format);
  convert.overwrite = options.force;
  for (const std::string& pattern : options.keep) convert.stamp += " keep " + pattern;
  if (moments) {
    const auto changed = std::filesystem::last_write_time(options.moments).time_since_epoch();
    convert.stamp += fmt::format(" moments {} {}", options.moments.string(), changed.count());
  }
  convert.metadata["gemwright.format"] = key(format);
  convert.cancelled = [&context] { return context.interrupted.load(); };
  convert.progress = [&line](double part, const std::string& tensor) {
    line.show(fmt::format("{:3.0f} %  {}", 100 * part, tensor));
  };
  try {
    const auto reports = checkpoint::convert(
        in, options.out, [&plan](const auto& shard) { return quantise_jobs(shard, plan); },
        convert);
    if (options.json) {
      context.out << document(json_of(reports, format));
    } else {
      print(context.out, reports, format);
    }
  } catch (const checkpoint::Cancelled& cancelled) {
    context.err << "gemwright: " << cancelled.what() << '\n';
    return kInterrupted;
  }
  return kDone;
}

}  // namespace

void add_quantize(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "quantize", "A checkpoint's linear layers as low-bit weights, packed for every kernel.");
  command->footer(R"(
Weights become tensors NAME.gemwright; embeddings, norms and what --keep names stay as they are.
Broken off, it goes on where it ended when run again. Formats: docs/formats.md.

Examples:
  gemwright quantize ~/checkpoints/mine -o ~/checkpoints/mine-nf4 --format nf4 --group 64
  gemwright quantize model.safetensors -o small.safetensors --format int4 --keep 'lm_head*'
  gemwright quantize model.safetensors -o fp4.safetensors --format nvfp4 --json)");
  const auto options = std::make_shared<Options>();
  command->add_option("in", options->in, "a .safetensors file, its index, or a folder")
      ->required()
      ->type_name("IN");
  command->add_option("-o,--out", options->out, "a file for a file, else a folder")
      ->required()
      ->type_name("OUT");
  command->add_option("--format", options->format, "a preset (nf4, int4, mxfp4, ...) or a format")
      ->capture_default_str();
  command->add_option("--group", options->group, "weights along K that share a scale")
      ->check(positive());
  command->add_option("--scale", options->scale, "type of the scales: f32, f16, bf16, ...");
  command->add_option("--keep", options->keep, "weights to leave, by name with * and ?")
      ->type_name("PATTERN");
  command
      ->add_option("--moments", options->moments,
                   "safetensors with E[a^2] of each column under each weight's name")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "replace an output that is there");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_quantize(context, *options); };
  });
}

}  // namespace gemwright::cli
