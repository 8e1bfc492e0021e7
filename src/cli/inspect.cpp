#include "checkpoint/quantise.hpp"
#include "checkpoint/translate.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/text.hpp"
#include "formats/packed_header.hpp"
#include <gemwright/errors.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gemwright::cli {
namespace {

struct Options {
  std::filesystem::path path;
  bool json = false;
};

struct Line {
  std::string name;
  std::string type;  // of the elements, or the weight's format
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

Line line_of(const checkpoint::Place& place) {
  const files::Tensor& tensor = *place.tensor;
  Line line{tensor.name, tensor.type, tensor.shape, tensor.end - tensor.begin};
  if (!tensor.name.ends_with(formats::kPackedSuffix)) return line;
  const formats::PackedHeader header = checkpoint::packed_header(place);
  line.name = tensor.name.substr(0, tensor.name.size() - formats::kPackedSuffix.size());
  try {
    const WeightFormat format = formats::format_of(header);
    line.type = key(format);
    line.shape = {header.n, header.k};
    const std::size_t wanted = packed_weights_bytes(format, header.n, header.k);
    if (line.bytes < wanted) {
      throw InvalidArgument("packed", std::to_string(line.bytes) + " bytes",
                            std::to_string(wanted) + ", as its header says");
    }
  } catch (const InvalidArgument& error) {
    throw error.within(tensor.name);
  }
  return line;
}

// A weight that another program has quantised is one line.
Line line_of(const checkpoint::Checkpoint& in, const checkpoint::ForeignWeight& foreign,
             const checkpoint::ForeignConfig& config) {
  Line line{foreign.weight_name(), std::string(name(foreign.origin)), {}, 0};
  for (const std::string& part : foreign.tensors) {
    const auto bytes = in.find(part)->data().size();
    const std::int64_t experts = foreign.expert >= 0 ? in.find(part)->tensor->shape[0] : 1;
    line.bytes += bytes / static_cast<std::size_t>(experts);
  }
  const CodedWeight weight = import_weight(in, foreign, config);
  line.type += " " + key(weight.format);
  line.shape = {weight.n, weight.k};
  return line;
}

std::vector<Line> lines_of(const checkpoint::Checkpoint& in) {
  const auto config = checkpoint::foreign_config(in);
  std::vector<Line> lines;
  std::set<std::string> parts;
  for (const auto& foreign : find_foreign(in, config)) {
    parts.insert(foreign.tensors.begin(), foreign.tensors.end());
    lines.push_back(line_of(in, foreign, config));
  }
  for (const auto& shard : in.shards()) {
    for (const files::Tensor& tensor : shard.file.header().tensors) {
      if (parts.count(tensor.name) == 0) lines.push_back(line_of({&shard.file, &tensor}));
    }
  }
  return lines;
}

double bits_a_weight(const Line& line) {
  double elements = 1;
  for (const std::int64_t size : line.shape) elements *= static_cast<double>(size);
  return elements > 0 ? 8 * static_cast<double>(line.bytes) / elements : 0;
}

int run_inspect(Context& context, const Options& options) {
  const checkpoint::Checkpoint in(options.path);
  const auto lines = lines_of(in);
  if (options.json) {
    Json json = Json::array();
    for (const Line& line : lines) {
      json.push_back({{"name", line.name},
                      {"type", line.type},
                      {"shape", line.shape},
                      {"bytes", line.bytes},
                      {"bits_per_element", bits_a_weight(line)}});
    }
    context.out << document(json);
    return kDone;
  }
  if (lines.empty()) {
    context.out << "no tensors in " << options.path.string() << '\n';
    return kDone;
  }
  Table table({"tensor", "type", "shape", "size", "bits"});
  std::map<std::string, double> totals;
  for (const Line& line : lines) {
    table.add({line.name, line.type, fmt::format("{}", fmt::join(line.shape, " x ")),
               bytes_text(static_cast<double>(line.bytes)),
               fmt::format("{:.2f}", bits_a_weight(line))});
    totals[line.type] += static_cast<double>(line.bytes);
  }
  table.print(context.out);
  context.out << '\n';
  for (const auto& [type, bytes] : totals) {
    context.out << fmt::format("{}: {}\n", type, bytes_text(bytes));
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "inspect", "What is in a checkpoint: tensors, weight formats, bits a weight.");
  command->footer(R"(
Packed weights and those of bitsandbytes, GPTQ, AWQ, compressed-tensors, HQQ, MXFP4, NVFP4, FLUTE
and FP8 blocks are shown as weights. A damaged or hostile file is refused with the tensor's name.

Examples:
  gemwright inspect model.safetensors
  gemwright inspect ~/checkpoints/mine-nf4 --json)");
  const auto options = std::make_shared<Options>();
  command->add_option("path", options->path, "a .safetensors file, its index, or a folder")
      ->required()
      ->type_name("PATH");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_inspect(context, *options); };
  });
}

}  // namespace gemwright::cli
