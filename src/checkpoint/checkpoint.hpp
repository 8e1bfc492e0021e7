// Checkpoints: folders of safetensors files, read whole and written anew tensor by tensor.
#pragma once

#include "files/safetensors.hpp"
#include <gemwright/errors.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::checkpoint {

/// A tensor and the file that has it.
struct Place {
  const files::SafetensorsFile* file = nullptr;
  const files::Tensor* tensor = nullptr;

  std::span<const std::byte> data() const { return file->data(*tensor); }
};

/// All files of a path, mapped and checked. Throws InvalidArgument for what is no checkpoint, and
/// for a name that two files have.
class Checkpoint {
 public:
  explicit Checkpoint(const std::filesystem::path& path);

  struct Shard {
    std::filesystem::path path;
    files::SafetensorsFile file;
  };
  const std::vector<Shard>& shards() const { return shards_; }
  /// Null when no file has it.
  const Place* find(std::string_view name) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<Shard> shards_;
  std::map<std::string, Place, std::less<>> places_;
};

/// One tensor of an output file, and how it is made.
struct Job {
  files::Tensor out;  // name, type and shape
  /// Writes the tensor; returns one line to report, which a broken-off run finds again.
  std::function<std::string(const files::SafetensorsWriter&, const files::Tensor&)> run;
  /// Bytes that are read, for progress.
  std::uint64_t cost = 0;
  /// The report where an earlier run has made the whole file.
  std::string made_before = {};
};

/// The same bytes under the same name.
Job copy_of(const Place& place);

struct ConvertOptions {
  /// What makes the outputs, in one line: files made by something else are not gone on with.
  std::string stamp;
  std::map<std::string, std::string> metadata = {};
  std::function<void(double part_done, const std::string& tensor)> progress = {};
  std::function<bool()> cancelled = {};
  /// Files that are there are made anew: else those that a run of the same stamp made are done, and
  /// others refused.
  bool overwrite = false;
  /// Told of each small file that was copied beside the shards.
  std::function<void(const std::string& file)> copied = {};
};

/// A report line of every tensor: its name and what its job said.
using Reports = std::vector<std::pair<std::string, std::string>>;

/// Writes for each shard a file of the same name, made of the jobs that `plan` gives for it: into
/// the folder `out` (with an index where there are several, and copies of the configuration and
/// tokenizer beside the shards), or to the file `out` where the input is one. Whole files appear in
/// one step; run again, it skips what is done. Throws InvalidArgument (of "out") for a file that
/// would be lost, for a folder where a file is wanted or the reverse, and where the folder that
/// `out` is in is not there; a job's own leaves nothing unfinished behind. Stops between tensors
/// when cancelled, and throws Cancelled.
Reports convert(const Checkpoint& in, const std::filesystem::path& out,
                const std::function<std::vector<Job>(const Checkpoint::Shard&)>& plan,
                const ConvertOptions& options);

/// Thrown by convert when it was cancelled.
class Cancelled : public Error {
 public:
  using Error::Error;
};

}  // namespace gemwright::checkpoint
