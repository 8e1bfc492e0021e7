#include "checkpoint/checkpoint.hpp"

namespace gemwright::checkpoint {

Checkpoint::Checkpoint(const std::filesystem::path& path) : path_(path) {
  if (!std::filesystem::exists(path)) {
    throw InvalidArgument(path.string(), "no such file", "a .safetensors file, index or folder");
  }
  for (const auto& file : files::safetensors_files(path)) {
    shards_.push_back({file, files::SafetensorsFile(file)});
  }
  for (const Shard& shard : shards_) {
    for (const files::Tensor& tensor : shard.file.header().tensors) {
      if (places_.emplace(tensor.name, Place{&shard.file, &tensor}).second) continue;
      throw InvalidArgument(shard.path.string() + ": " + tensor.name,
                            "a name that another file has too", "a tensor in one file alone");
    }
  }
}

const Place* Checkpoint::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

Job copy_of(const Place& place) {
  Job job;
  job.out = *place.tensor;
  job.run = [place](const files::SafetensorsWriter& writer, const files::Tensor& to) {
    writer.write(to, 0, place.data());
    return std::string();
  };
  job.cost = place.tensor->end - place.tensor->begin;
  return job;
}

}  // namespace gemwright::checkpoint
