// Command-line options that every bench has.
#pragma once

#include "support/report.hpp"

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::bench {

struct Options {
  std::string device = "cpu";
  std::filesystem::path output = "bench/results";

  /// Adds --device and --out to a program's options.
  void add_to(CLI::App& app) {
    app.add_option("--device", device, "cpu, cpu:THREADS, cuda or cuda:ORDINAL")
        ->capture_default_str();
    app.add_option("--out", output, "folder of results; the device's own is made in it")
        ->capture_default_str();
  }
};

/// Prints the table, writes the file and says where it is.
inline void finish(const Report& report, const Options& options) {
  report.print();
  const auto path = report.write(options.output);
  fmt::print("\nwritten to {}\n", path.string());
}

}  // namespace gemwright::bench
