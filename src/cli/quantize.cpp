#include "checkpoint/quantise.hpp"
#include "cli/command.hpp"
#include "cli/conversion.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "formats/packed_header.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options : ConversionOptions {
  std::string format = "nf4";
  int group = 0;
  std::string scale;
  std::vector<std::string> keep;
  std::filesystem::path moments;
  bool json = false;
};

// --group and --scale change the format that --format names.
WeightFormat format_of(const Options& options) {
  WeightFormat format = option("--format", options.format, parse_weight_format);
  if (options.group > 0) {
    if (format.grouping != Grouping::flat) format.grouping = Grouping::along_k;
    format.group = options.group;
    try {
      format.check();
    } catch (const InvalidArgument& error) {
      throw error.named("--group");
    }
  }
  if (!options.scale.empty()) {
    const std::string text = key(format);
    const std::size_t at = text.find(':', text.find(':') + 1);
    format = option("--scale", options.scale, [&](const std::string& scale) {
      return parse_weight_format(text.substr(0, at + 1) + scale);
    });
  }
  return format;
}

template <typename Predicate>
bool any_tensor(const checkpoint::Checkpoint& in, const Predicate& predicate) {
  return std::ranges::any_of(in.shards(), [&](const auto& shard) {
    return std::ranges::any_of(shard.file.header().tensors, predicate);
  });
}

// A pattern that no tensor matches is a slip: what it should keep would be packed.
void check_keep(const checkpoint::Checkpoint& in, const std::vector<std::string>& keep) {
  for (const std::string& pattern : keep) {
    const auto matches = [&](const files::Tensor& tensor) {
      return checkpoint::matches(tensor.name, pattern);
    };
    if (any_tensor(in, matches)) continue;
    throw InvalidArgument("--keep", pattern,
                          "the name of a tensor, or a pattern of one; inspect lists them");
  }
}

std::string weight_name(const std::string& tensor) {
  return tensor.substr(0, tensor.size() - formats::kPackedSuffix.size());
}

void print(std::ostream& out, const Conversion& conversion, const WeightFormat& format) {
  using checkpoint::Made;
  Table table({"weight", "N", "K", "relative error", "SNR"});
  std::size_t packed = 0;
  std::size_t earlier = 0;
  std::size_t others = 0;
  std::map<std::string, std::size_t> copied;  // by their format
  for (const auto& [name, note] : conversion.reports) {
    const auto report = checkpoint::parse_report(note);
    if (!report) {
      ++others;
      continue;
    }
    const bool now = report->made == Made::now;
    if (report->made == Made::copied) ++copied[report->format];
    if (report->made != Made::copied) ++packed;
    if (report->made == Made::earlier) ++earlier;
    table.add({weight_name(name), std::to_string(report->n), std::to_string(report->k),
               now ? fmt::format("{:.4f}", report->relative) : "-",
               now ? fmt::format("{:.1f} dB", report->snr_db) : "-"});
  }
  if (packed + copied.size() > 0) {
    table.print(out);
    out << '\n';
  }
  out << fmt::format("{} as {}, {} as {}\n", count_text(packed, "weight"), key(format),
                     count_text(others, "other tensor"), others == 1 ? "it was" : "they were");
  if (earlier > 0) out << fmt::format("{} made by an earlier run\n", count_text(earlier, "weight"));
  for (const auto& [had, count] : copied) {
    out << fmt::format("{} packed already, as {}: copied\n", count_text(count, "weight"), had);
  }
  print_copied(out, conversion);
}

Json json_of(const Conversion& conversion, const WeightFormat& format) {
  constexpr std::array<const char*, 3> kMade{"now", "earlier", "copied"};
  Json json;
  json["format"] = key(format);
  json["weights"] = Json::array();
  for (const auto& [name, note] : conversion.reports) {
    const auto report = checkpoint::parse_report(note);
    if (!report) continue;
    Json weight = {{"name", weight_name(name)},
                   {"n", report->n},
                   {"k", report->k},
                   {"format", report->format},
                   {"made", kMade.at(static_cast<std::size_t>(report->made))}};
    if (report->made == checkpoint::Made::now) {
      weight["relative_error"] = report->relative;
      weight["snr_db"] = report->snr_db;
    }
    json["weights"].push_back(std::move(weight));
  }
  json["copied"] = conversion.copied;
  return json;
}

int run_quantize(Context& context, const Options& options) {
  const WeightFormat format = format_of(options);
  const checkpoint::Checkpoint in(options.in);
  check_keep(in, options.keep);
  std::optional<checkpoint::Checkpoint> moments;
  if (!options.moments.empty()) moments.emplace(options.moments);
  const checkpoint::QuantisePlan plan{format, options.keep, moments ? &*moments : nullptr};

  checkpoint::ConvertOptions how;
  how.stamp = key(format);
  for (const std::string& pattern : options.keep) how.stamp += " keep " + pattern;
  if (moments) {
    const auto changed = std::filesystem::last_write_time(options.moments).time_since_epoch();
    how.stamp += fmt::format(" moments {} {}", options.moments.string(), changed.count());
  }
  const auto packs = [&](const files::Tensor& tensor) { return is_quantised(tensor, plan); };
  if (any_tensor(in, packs)) how.metadata["gemwright.format"] = key(format);
  return convert(
      context, in, options, how, [&plan](const auto& shard) { return quantise_jobs(shard, plan); },
      [&](const Conversion& conversion) {
        if (options.json) {
          context.out << document(json_of(conversion, format));
        } else {
          print(context.out, conversion, format);
        }
      });
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
  options->add_to(*command);
  command->add_option("--format", options->format, "a preset (nf4, int4, mxfp4, ...) or a format")
      ->capture_default_str();
  command->add_option("--group", options->group, "weights along K that share a scale")
      ->check(whole(1, 1 << 30));
  command->add_option("--scale", options->scale, "type of the scales: f32, f16, bf16, ...");
  command->add_option("--keep", options->keep, "weights to leave, by name with * and ?")
      ->type_name("PATTERN");
  command
      ->add_option("--moments", options->moments,
                   "safetensors with E[a^2] of each column under each weight's name")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_quantize(context, *options); };
  });
}

}  // namespace gemwright::cli
