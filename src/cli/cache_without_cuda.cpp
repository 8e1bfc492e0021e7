#include "cli/command.hpp"
#include <gemwright/errors.hpp>

#include <CLI/CLI.hpp>

namespace gemwright::cli {

// Kernels of CPUs are compiled with the library: there is nothing to keep.
void add_cache(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("cache", "Compiled GPU kernels; none in this build.");
  command->footer("");
  command->allow_extras();
  command->callback([&context] {
    context.action = []() -> int {
      throw Unsupported("cache: this build has no CUDA half; build with -DGEMWRIGHT_CUDA=ON");
    };
  });
}

}  // namespace gemwright::cli
