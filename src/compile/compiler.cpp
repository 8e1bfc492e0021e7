#include "compile/compiler.hpp"

#include <future>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include "compile/cache.hpp"
#include "compile/nvrtc.hpp"
#include "compile/sources.hpp"
#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <xxhash.h>

namespace gemwright::compile {
namespace {

// Everything that decides the machine code but the compiler, whose version is in the entry's name.
std::string key_of(const Source& source) {
  const auto* file = find_file(source.file);
  if (file == nullptr) throw Error(fmt::format("there is no device source {}", source.file));
  // Lengths go before the parts, so that no two lists of parts are the same bytes.
  std::string all;
  const auto add = [&all](std::string_view part) {
    all += fmt::format("{}:", part.size());
    all += part;
  };
  for (const auto& option : nvrtc_options(source)) add(option);
  add(source.preamble);
  add(source.file);
  add(file->text);
  for (const auto* header : included_files(file->text)) {
    add(header->name);
    add(header->text);
  }
  const auto hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Compiled load_or_compile(const std::string& key, const Source& source) {
  const auto cache = Cache::user();
  std::string missing;
  const auto& compiler = nvrtc_version(&missing);
  if (auto found = cache.load(key, compiler)) return *std::move(found);
  if (compiler.empty()) throw Error(missing);
  auto compiled = nvrtc_compile(source);
  log::debug("compiled {} for sm_{} in {:.0f} ms: {} registers, {} bytes spilled", source.file,
             source.sm, compiled.report.compile_ms, compiled.report.registers,
             compiled.report.spill_bytes);
  cache.keep(key, compiler, source, compiled);
  return compiled;
}

}  // namespace

Compiled compile(const Source& source) {
  // What this process has, or is at work on: the first to ask compiles, the others wait for it.
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<std::string, std::shared_future<Compiled>>;

  const auto key = key_of(source);
  std::promise<Compiled> promise;
  std::shared_future<Compiled> result;
  {
    const std::lock_guard lock(mutex);
    const auto [at, ours] = known.try_emplace(key);
    if (!ours) {
      result = at->second;
    } else {
      at->second = promise.get_future().share();
    }
  }
  if (result.valid()) return result.get();
  try {
    auto compiled = load_or_compile(key, source);
    promise.set_value(compiled);
    return compiled;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex);
    known.erase(key);
    throw;
  }
}

}  // namespace gemwright::compile
