#include "checkpoint/translate.hpp"

#include "checkpoint/quantise.hpp"
#include "formats/packed_header.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace gemwright::checkpoint {
namespace {

class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t bytes) : storage_(bytes + 64), bytes_(bytes) {}
  std::byte* data() {
    return storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) % 64;
  }
  std::span<const std::byte> span() { return {data(), bytes_}; }

 private:
  std::vector<std::byte> storage_;
  std::size_t bytes_;
};

std::string safetensors_type(DataType type) {
  if (type == DataType::f32) return "F32";
  return type == DataType::f16 ? "F16" : "BF16";
}

// What the weight becomes is known only by reading it: once for its size, and once more to write
// it.
Job import_job(const Checkpoint& checkpoint, const ForeignWeight& foreign,
               const ForeignConfig& config) {
  const CodedWeight weight = import_weight(checkpoint, foreign, config);
  Job job;
  job.cost = packed_weights_bytes(weight.format, weight.n, weight.k);
  job.out = packed_tensor(foreign.weight_name(), job.cost);
  job.run = [&checkpoint, foreign, config](const files::SafetensorsWriter& writer,
                                           const files::Tensor& out) {
    const CodedWeight coded = import_weight(checkpoint, foreign, config);
    AlignedBytes packed(static_cast<std::size_t>(out.end - out.begin));
    pack_weights(coded, packed.data());
    writer.write(out, 0, packed.span());
    return key(coded.format);
  };
  return job;
}

Place place_of(const Checkpoint::Shard& shard, const files::Tensor& tensor) {
  return {&shard.file, &tensor};
}

}  // namespace

std::vector<Job> import_jobs(const Checkpoint& checkpoint, const Checkpoint::Shard& shard,
                             const std::vector<ForeignWeight>& foreign,
                             const ForeignConfig& config) {
  std::set<std::string> parts;
  for (const ForeignWeight& weight : foreign) {
    parts.insert(weight.tensors.begin(), weight.tensors.end());
  }
  std::vector<Job> jobs;
  for (const ForeignWeight& weight : foreign) {
    if (checkpoint.find(weight.tensors[0])->file != &shard.file) continue;
    jobs.push_back(import_job(checkpoint, weight, config));
  }
  for (const files::Tensor& tensor : shard.file.header().tensors) {
    if (parts.count(tensor.name) == 0) jobs.push_back(copy_of(place_of(shard, tensor)));
  }
  return jobs;
}

formats::PackedHeader packed_header(const Place& place) {
  try {
    return formats::read_header(place.data().data(), place.data().size());
  } catch (const InvalidArgument& error) {
    throw error.within(place.tensor->name);
  }
}

CodedWeight unpack(const Place& place) {
  try {
    return unpack_weights(place.data().data(), place.data().size());
  } catch (const InvalidArgument& error) {
    throw error.within(place.tensor->name);
  }
}

std::vector<Job> export_jobs(const Checkpoint::Shard& shard, DataType type) {
  std::vector<Job> jobs;
  for (const files::Tensor& tensor : shard.file.header().tensors) {
    const Place place = place_of(shard, tensor);
    if (!tensor.name.ends_with(formats::kPackedSuffix)) {
      jobs.push_back(copy_of(place));
      continue;
    }
    const formats::PackedHeader header = packed_header(place);
    Job job;
    job.out.name = tensor.name.substr(0, tensor.name.size() - formats::kPackedSuffix.size());
    job.out.type = safetensors_type(type);
    job.out.shape = {header.n, header.k};
    job.run = [place, type](const files::SafetensorsWriter& writer, const files::Tensor& out) {
      AlignedBytes plain(static_cast<std::size_t>(out.end - out.begin));
      dequantise(unpack(place), type, plain.data());
      writer.write(out, 0, plain.span());
      return std::string();
    };
    job.cost = tensor.end - tensor.begin;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace gemwright::checkpoint
