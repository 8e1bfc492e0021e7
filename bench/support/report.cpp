#include "support/report.hpp"

#include "cli/commit.hpp"
#include "cli/text.hpp"
#include "device/profile.hpp"
#include "files/files.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
namespace gemwright::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string utc_now() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

double rounded(double value) {
  return std::round(value * 1000.0) / 1000.0;
}

Json json_of(const Row& row) {
  Json us = Json::object();
  for (const auto& [competitor, time] : row.us) us[competitor] = rounded(time);
  return {{"model", row.model},   {"role", row.role},
          {"m", row.m},           {"n", row.n},
          {"k", row.k},           {"batch", row.batch},
          {"type", row.type},     {"format", row.format.empty() ? Json(nullptr) : Json(row.format)},
          {"kernel", row.kernel}, {"us", us}};
}

}  // namespace

Row Row::of(const Problem& problem) {
  Row row;
  row.m = problem.m;
  row.n = problem.n;
  row.k = problem.k;
  row.batch = problem.batch;
  row.type = gemwright::name(problem.a.type);
  if (problem.weight) row.format = key(*problem.weight);
  if (problem.activations != Activations::as_given) row.format += "-a8";
  return row;
}

double Row::time(const std::string& competitor) const {
  for (const auto& [known, value] : us) {
    if (known == competitor) return value;
  }
  return 0;
}

Report::Report(std::string bench, Device device)
    : bench_(std::move(bench)), device_(std::move(device)) {}

double Report::ratio(const Row& row, const std::string& numerator, const std::string& denominator) {
  const double below = row.time(denominator);
  return below > 0 ? row.time(numerator) / below : 0;
}

double Report::geometric_mean_of_positive(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (value <= 0) continue;
    sum += std::log(value);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

void Report::print() const {
  std::vector<std::string> competitors;
  for (const Row& row : rows_) {
    for (const auto& [competitor, time] : row.us) {
      if (std::find(competitors.begin(), competitors.end(), competitor) == competitors.end()) {
        competitors.push_back(competitor);
      }
    }
  }
  std::vector<std::string> heading = {"model", "role", "m", "n", "k", "type"};
  heading.insert(heading.end(), competitors.begin(), competitors.end());
  heading.emplace_back("kernel");
  cli::Table table(heading);
  for (const Row& row : rows_) {
    const std::string type = row.format.empty() ? row.type : row.type + "/" + row.format;
    std::vector<std::string> line = {
        row.model, row.role, std::to_string(row.m), std::to_string(row.n), std::to_string(row.k),
        type};
    for (const std::string& competitor : competitors) {
      const double time = row.time(competitor);
      line.push_back(time > 0 ? fmt::format("{:.2f}", time) : "-");
    }
    line.push_back(row.kernel);
    table.add(std::move(line));
  }
  table.print(std::cout);
}

std::filesystem::path Report::write(const std::filesystem::path& folder) const {
  Json rows = Json::array();
  for (const Row& row : rows_) rows.push_back(json_of(row));
  const Json report = {
      {"bench", bench_},   {"device", device_.slug()}, {"driver", device_.profile().driver},
      {"date", utc_now()}, {"commit", cli::commit()},  {"clock_mhz", clock_.json()}};
  // One row a line: the file's history stays readable.
  std::string text = report.dump(1);
  text.erase(text.rfind('\n'));
  text += ",\n \"rows\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + rows[i].dump();
  }
  text += "\n ]\n}\n";

  std::filesystem::path path = folder / device_.slug() / (bench_ + ".json");
  files::write_atomically(path, text);
  return path;
}

}  // namespace gemwright::bench
