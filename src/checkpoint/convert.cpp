#include "checkpoint/checkpoint.hpp"
#include "files/files.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gemwright::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestCompanion = std::uintmax_t{256} << 20;
constexpr const char* kIndexName = "model.safetensors.index.json";
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
    if (!options_.overwrite && made_before(out, stamp)) {
      for (const Job& job : jobs) report(job, job.made_before);
      return;
    }
    files::SafetensorsWriter writer(out, header_of(shard, jobs, options_.metadata, stamp), stamp);
    try {
      make(writer, jobs, out);
    } catch (const InvalidArgument&) {
      writer.discard();  // no later run of these inputs could go on
      throw;
    }
    writer.commit();
  }

  const Reports& reports() const { return reports_; }

 private:
  void make(files::SafetensorsWriter& writer, const std::vector<Job>& jobs, const fs::path& out) {
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
  }

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

// Whether a file beside the weights is a part of the model: configuration, tokenizer, templates.
bool goes_along(const fs::directory_entry& entry) {
  constexpr std::array<std::string_view, 5> kKinds{".json", ".model", ".txt", ".jinja",
                                                   ".tiktoken"};
  const std::string name = entry.path().filename().string();
  if (name.starts_with(".") || name.ends_with(".index.json")) return false;
  return std::ranges::count(kKinds, entry.path().extension().string()) > 0 &&
         entry.is_regular_file() && entry.file_size() <= kLargestCompanion;
}

// In the order of their names.
std::vector<fs::path> companions_of(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    if (goes_along(entry)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

[[noreturn]] void refuse(const fs::path& there) {
  throw InvalidArgument("out", there.string() + ", which is there and of another making",
                        "a new place, or --force to replace it");
}

void check_companions(const std::vector<fs::path>& companions, const fs::path& folder) {
  for (const fs::path& from : companions) {
    const fs::path to = folder / from.filename();
    if (fs::exists(to) && files::read(from) != files::read(to)) refuse(to);
  }
}

void copy_companions(const std::vector<fs::path>& companions, const fs::path& folder,
                     const ConvertOptions& options) {
  for (const fs::path& from : companions) {
    fs::copy_file(from, folder / from.filename(), fs::copy_options::overwrite_existing);
    if (options.copied) options.copied(from.filename().string());
  }
}

// A file becomes a file, all else a folder. It is made, and the folder that it is in is not: that
// one is missing would be a slip of the pen.
void check_place(const fs::path& out, bool to_file) {
  if (to_file && fs::is_directory(out)) {
    throw InvalidArgument("out", out.string() + ", a folder", "a file, as the input is one");
  }
  if (!to_file && fs::exists(out) && !fs::is_directory(out)) {
    throw InvalidArgument("out", out.string() + ", a file", "a folder, as the input is one");
  }
  files::check_folder_of("out", out);
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
  files::write_atomically(folder / kIndexName, index.dump(2) + "\n");
}

}  // namespace

Reports convert(const Checkpoint& in, const fs::path& out,
                const std::function<std::vector<Job>(const Checkpoint::Shard&)>& plan,
                const ConvertOptions& options) {
  const bool to_file = !fs::is_directory(in.path()) && in.path().extension() == ".safetensors";
  check_place(out, to_file);
  std::vector<std::pair<fs::path, std::vector<Job>>> all;
  std::uint64_t total = 0;
  bool made = false;
  for (const Checkpoint::Shard& shard : in.shards()) {
    const fs::path path = to_file ? out : out / shard.path.filename();
    if (fs::exists(path) && fs::equivalent(path, shard.path)) {
      throw InvalidArgument("out", path.string(), "another place than the input");
    }
    if (!options.overwrite && fs::exists(path)) {
      if (!made_before(path, stamp_of(shard, options.stamp))) refuse(path);
      made = true;
    }
    all.emplace_back(path, plan(shard));
    for (const Job& job : all.back().second) total += job.cost;
  }
  std::vector<fs::path> companions;
  if (!to_file) {
    companions = companions_of(fs::is_directory(in.path()) ? in.path() : in.path().parent_path());
    const bool with_index = all.size() > 1;
    // An index is written last: one that is there is ours only if shards are.
    if (!options.overwrite && !made && with_index && fs::exists(out / kIndexName)) {
      refuse(out / kIndexName);
    }
    if (!options.overwrite) check_companions(companions, out);
    fs::create_directory(out);
  }
  Converter converter(options, total);
  for (std::size_t i = 0; i < all.size(); ++i) {
    converter.write(in.shards()[i], all[i].first, all[i].second);
  }
  if (!to_file) {
    if (all.size() > 1) write_index(out, all);
    copy_companions(companions, out, options);
  }
  return converter.reports();
}

}  // namespace gemwright::checkpoint
