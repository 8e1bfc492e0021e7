#include "compile/entry.hpp"

#include <chrono>
#include <cstring>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <gemwright/errors.hpp>

#include <xxhash.h>

namespace gemwright::compile {
namespace {

constexpr std::string_view kMagic = "gemwright cubin 1\n";

std::string checksum(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
}

constexpr std::size_t kChecksumBytes = sizeof(XXH128_canonical_t);

}  // namespace

std::string serialize(const std::string& key, const std::string& compiler, const Source& source,
                      const Compiled& compiled) {
  const auto& report = compiled.report;
  const nlohmann::json about{
      {"key", key},
      {"source", source.file},
      {"compiler", compiler},
      {"target", fmt::format("sm_{}{}", source.sm, source.arch_specific ? "a" : "")},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"registers", report.registers},
      {"spill_bytes", report.spill_bytes},
      {"shared_bytes", report.shared_bytes},
      {"compile_ms", report.compile_ms},
      {"log", report.log},
      {"cubin_bytes", compiled.cubin->size()}};
  std::string bytes(kMagic);
  bytes += about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  bytes += '\n';
  bytes.append(compiled.cubin->data(), compiled.cubin->size());
  bytes += checksum(bytes);
  return bytes;
}

ParsedEntry parse_entry(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) throw Error("not an entry of this version");
  if (bytes.size() < kMagic.size() + kChecksumBytes) throw Error("cut short");
  const auto body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (checksum(body) != bytes.substr(body.size())) throw Error("its checksum does not match");
  const auto line_end = body.find('\n', kMagic.size());
  if (line_end == std::string_view::npos) throw Error("no description");
  const auto cubin = body.substr(line_end + 1);
  try {
    const auto about = nlohmann::json::parse(body.substr(kMagic.size(), line_end - kMagic.size()));
    ParsedEntry entry;
    entry.key = about.at("key");
    entry.about.source = about.at("source");
    entry.about.compiler = about.at("compiler");
    entry.about.target = about.at("target");
    entry.about.date = about.at("date");
    auto& report = entry.about.report;
    report.registers = about.at("registers");
    report.spill_bytes = about.at("spill_bytes");
    report.shared_bytes = about.at("shared_bytes");
    report.compile_ms = about.at("compile_ms");
    report.log = about.at("log");
    if (about.at("cubin_bytes") != cubin.size()) throw Error("its length does not match");
    entry.compiled.cubin = std::make_shared<std::vector<char>>(cubin.begin(), cubin.end());
    entry.compiled.report = report;
    entry.compiled.report.compile_ms = 0;
    return entry;
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("its description does not parse: {}", error.what()));
  }
}

}  // namespace gemwright::compile
