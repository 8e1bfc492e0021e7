#include "cli/conversion.hpp"

#include "cli/progress.hpp"
#include <gemwright/errors.hpp>

#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gemwright::cli {

void ConversionOptions::add_to(CLI::App& app) {
  app.add_option("in", in, "a .safetensors file, its index, or a folder")
      ->required()
      ->type_name("IN");
  app.add_option("-o,--out", out, "a file for a file, else a folder, which is made")
      ->required()
      ->type_name("OUT");
  app.add_flag("--force", force, "make anew, and replace, what is there");
}

int convert(Context& context, const checkpoint::Checkpoint& in, const ConversionOptions& options,
            checkpoint::ConvertOptions how, const ShardPlan& plan,
            const std::function<void(const Conversion&)>& print) {
  context.keep_on_interrupt();
  ProgressLine line(context);
  Conversion conversion;
  how.overwrite = options.force;
  how.cancelled = [&context] { return context.interrupted.load(); };
  how.progress = [&line](double part, const std::string& tensor) {
    line.show(fmt::format("{:3.0f} %  {}", 100 * part, tensor));
  };
  how.copied = [&conversion](const std::string& file) { conversion.copied.push_back(file); };
  try {
    conversion.reports = checkpoint::convert(in, options.out, plan, how);
    print(conversion);
  } catch (const checkpoint::Cancelled& cancelled) {
    context.err << "gemwright: " << cancelled.what() << '\n';
    return kInterrupted;
  } catch (const InvalidArgument& error) {
    if (error.argument() == "out") throw error.named("--out");
    throw;
  }
  return kDone;
}

void print_copied(std::ostream& out, const Conversion& conversion) {
  if (conversion.copied.empty()) return;
  out << fmt::format("copied beside: {}\n", fmt::join(conversion.copied, ", "));
}

}  // namespace gemwright::cli
