#include "checkpoint/checkpoint.hpp"
#include "files/files.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gemwright::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestCompanion = std::uintmax_t{256} << 20;
constexpr const char* kStampName = "gemwright.made_from";

// A shard that changes is another input.
std::string stamp_of(const Checkpoint::Shard& shard, const std::string& stamp) {
  const auto changed = fs::last_write_time(shard.path).time_since_epoch();
  return fmt::format("{} {} {} {}", shard.path.filename().string(), fs::file_size(shard.path),
                     std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count(), stamp);
}

files::Header header_of(const Checkpoint::Shard& shard, const std::vector<Job>& jobs,
                        const std::map<std::string, std::string>& more, const std::string& stamp) {
  files::Header header;
  header.metadata = shard.file.header().metadata;
  for (const auto& [name, text] : more) header.metadata[name] = text;
  header.metadata[kStampName] = stamp;
  for (const Job& job : jobs) header.tensors.push_back(job.out);
  return header;
}

bool made_before(const fs::path& out, const std::string& stamp) {
  if (!fs::exists(out)) return false;
  try {
    const files::SafetensorsFile file(out);
    const auto found = file.header().metadata.find(kStampName);
    return found != file.header().metadata.end() && found->second == stamp;
  } catch (const Error&) {
    return false;
  }
}

class Converter {
 public:
  Converter(const ConvertOptions& options, std::uint64_t total)
      : options_(options), total_(total) {}

  void write(const Checkpoint::Shard& shard, const fs::path& out, const std::vector<Job>& jobs) {
    const std::string stamp = stamp_of(shard, options_.stamp);
    if (made_before(out, stamp)) {
      for (const Job& job : jobs) report(job, "");
      return;
    }
    files::SafetensorsWriter writer(out, header_of(shard, jobs, options_.metadata, stamp), stamp);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const files::Tensor& tensor = writer.header().tensors[i];
      if (const auto note = writer.done(tensor)) {
        report(jobs[i], *note);
        continue;
      }
      if (options_.cancelled && options_.cancelled()) {
        throw Cancelled("interrupted; run again to go on with " + out.string());
      }
      const std::string note = jobs[i].run(writer, tensor);
      writer.finish(tensor, note);
      report(jobs[i], note);
    }
    writer.commit();
  }

  const Reports& reports() const { return reports_; }

 private:
  void report(const Job& job, const std::string& note) {
    done_ += job.cost;
    reports_.emplace_back(job.out.name, note);
    if (!options_.progress) return;
    options_.progress(
        static_cast<double>(done_) / static_cast<double>(std::max<std::uint64_t>(total_, 1)),
        job.out.name);
  }

  const ConvertOptions& options_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Reports reports_;
};

// Configuration, tokenizer and the like go along.
void copy_companions(const fs::path& from, const fs::path& to, bool overwrite) {
  const auto mode =
      overwrite ? fs::copy_options::overwrite_existing : fs::copy_options::skip_existing;
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool weights = name.ends_with(".safetensors") || name.ends_with(".index.json") ||
                         name.ends_with(".partial") || name.ends_with(".journal");
    if (weights || !entry.is_regular_file() || entry.file_size() > kLargestCompanion) continue;
    fs::copy_file(entry.path(), to / name, mode);
  }
}

void write_index(const fs::path& folder,
                 const std::vector<std::pair<fs::path, std::vector<Job>>>& all) {
  nlohmann::ordered_json index;
  std::uint64_t bytes = 0;
  for (const auto& [path, jobs] : all) {
    const files::Header header = files::parse_header(files::read_header_text(path), path.string());
    for (const files::Tensor& tensor : header.tensors) {
      index["weight_map"][tensor.name] = path.filename().string();
      bytes += tensor.end - tensor.begin;
    }
  }
  index["metadata"]["total_size"] = bytes;
  files::write_atomically(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace

Reports convert(const Checkpoint& in, const fs::path& out,
                const std::function<std::vector<Job>(const Checkpoint::Shard&)>& plan,
                const ConvertOptions& options) {
  const bool to_file = !fs::is_directory(in.path()) && in.path().extension() == ".safetensors" &&
                       !fs::is_directory(out);
  std::vector<std::pair<fs::path, std::vector<Job>>> all;
  std::uint64_t total = 0;
  for (const Checkpoint::Shard& shard : in.shards()) {
    const fs::path path = to_file ? out : out / shard.path.filename();
    if (fs::exists(path) && fs::equivalent(path, shard.path)) {
      throw InvalidArgument("out", path.string(), "another place than the input");
    }
    if (!options.overwrite && fs::exists(path) &&
        !made_before(path, stamp_of(shard, options.stamp))) {
      throw InvalidArgument("out", path.string() + ", which is there and of another making",
                            "a new file, or --force to replace it");
    }
    all.emplace_back(path, plan(shard));
    for (const Job& job : all.back().second) total += job.cost;
  }
  if (!to_file) fs::create_directories(out);
  Converter converter(options, total);
  for (std::size_t i = 0; i < all.size(); ++i) {
    converter.write(in.shards()[i], all[i].first, all[i].second);
  }
  if (!to_file) {
    if (all.size() > 1) write_index(out, all);
    const fs::path folder = fs::is_directory(in.path()) ? in.path() : in.path().parent_path();
    copy_companions(folder.empty() ? "." : folder, out, options.overwrite);
  }
  return converter.reports();
}

}  // namespace gemwright::checkpoint
