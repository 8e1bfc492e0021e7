#include "checkpoint/quantise.hpp"

#include "checkpoint/translate.hpp"
#include "formats/error_sums.hpp"
#include "formats/packed_header.hpp"
#include "formats/quantise/quantiser.hpp"
#include "formats/slices.hpp"
#include "lists/safetensors.hpp"
#include "numeric/convert.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

namespace gemwright::checkpoint {
namespace {

// Elements that are coded at a time: so many bytes of codes, and half as many packed.
constexpr std::int64_t kSliceElements = std::int64_t{64} << 20;

DataType type_of(const files::Tensor& tensor) {
  if (tensor.type == "F32") return DataType::f32;
  return tensor.type == "F16" ? DataType::f16 : DataType::bf16;
}

std::vector<float> moments_of(const QuantisePlan& plan, const files::Tensor& weight) {
  const Place* place = plan.moments == nullptr ? nullptr : plan.moments->find(weight.name);
  if (place == nullptr) return {};
  const files::Tensor& tensor = *place->tensor;
  if (tensor.elements() != weight.shape[1] ||
      !(tensor.type == "F32" || tensor.type == "F16" || tensor.type == "BF16")) {
    throw InvalidArgument(plan.moments->path().string() + ": " + weight.name,
                          std::to_string(tensor.elements()) + " elements of " + tensor.type,
                          std::to_string(weight.shape[1]) + " of F32, F16 or BF16");
  }
  std::vector<float> moments;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    // The mapping promises no alignment: single elements are copied out.
    alignas(4) std::array<std::byte, 4> element{};
    const int size = size_bytes(type_of(tensor));
    std::copy_n(place->data().begin() + i * size, size, element.begin());
    moments.push_back(static_cast<float>(numeric::load(type_of(tensor), element.data(), 0)));
  }
  return moments;
}

// Those of the quantiser speak of its arguments: the user knows files and their tensors.
InvalidArgument of_tensor(const InvalidArgument& error, const files::Tensor& tensor,
                          const std::filesystem::path& file, const QuantisePlan& plan) {
  const auto in = [&](const std::filesystem::path& path) {
    return path.string() + ": " + tensor.name;
  };
  if (error.argument() == "w") return error.named(in(file));
  if (error.argument() == "second_moments" && plan.moments != nullptr) {
    return error.named(in(plan.moments->path()));
  }
  return error.within(in(file));
}

std::string quantise_tensor(const Place& place, const std::filesystem::path& file,
                            const QuantisePlan& plan, const files::SafetensorsWriter& writer,
                            const files::Tensor& out) {
  const files::Tensor& tensor = *place.tensor;
  const std::int64_t n = tensor.shape[0];
  const std::int64_t k = tensor.shape[1];
  const DataType type = type_of(tensor);
  const std::vector<float> moments = moments_of(plan, tensor);
  try {
    const formats::Quantiser quantiser(plan.format, n, k, type, place.data().data(), {moments});
    const std::int64_t unit = quantiser.slice_rows();
    const std::int64_t step = std::max<std::int64_t>(kSliceElements / k / unit, 1) * unit;
    formats::SlicePacker packer(n);
    formats::ErrorSums sums;
    for (std::int64_t first = 0; first < n; first += step) {
      const CodedWeight slice = quantiser.rows(first, std::min(step, n - first));
      const std::byte* rows = place.data().data() + first * k * size_bytes(type);
      sums.add(formats::error_sums(slice, type, rows));
      for (const formats::Piece& piece : packer.pack(slice, first)) {
        writer.write(out, static_cast<std::uint64_t>(piece.offset), piece.bytes);
      }
    }
    const WeightError error = sums.result();
    return text_of({Made::now, key(plan.format), n, k, error.relative, error.snr_db});
  } catch (const InvalidArgument& error) {
    throw of_tensor(error, tensor, file, plan);
  }
}

// A weight that is packed in the input; its codes are not coded again.
Job copy_of_packed(const Place& place) {
  const formats::PackedHeader header = packed_header(place);
  Job job = copy_of(place);
  try {
    job.made_before =
        text_of({Made::copied, key(formats::format_of(header)), header.n, header.k, 0, 0});
  } catch (const InvalidArgument& error) {
    throw error.within(place.tensor->name);
  }
  job.run = [copy = job.run, note = job.made_before](const files::SafetensorsWriter& writer,
                                                     const files::Tensor& out) {
    copy(writer, out);
    return note;
  };
  return job;
}

}  // namespace

bool is_quantised(const files::Tensor& tensor, const QuantisePlan& plan) {
  const bool kept = std::ranges::any_of(
      plan.keep, [&](const auto& pattern) { return matches(tensor.name, pattern); });
  return !kept && lists::is_linear_weight(tensor);
}

files::Tensor packed_tensor(const std::string& weight, std::size_t bytes) {
  files::Tensor tensor;
  tensor.name = weight + std::string(formats::kPackedSuffix);
  tensor.type = "U8";
  tensor.shape.push_back(static_cast<std::int64_t>(bytes));
  return tensor;
}

bool matches(std::string_view name, std::string_view pattern) {
  // Where the last star was, and how much of the name it stands for so far.
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t covered = 0;
  while (at < name.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      covered = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == name[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++covered;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

std::vector<Job> quantise_jobs(const Checkpoint::Shard& shard, const QuantisePlan& plan) {
  std::vector<Job> jobs;
  for (const files::Tensor& tensor : shard.file.header().tensors) {
    const Place place{&shard.file, &tensor};
    if (!is_quantised(tensor, plan)) {
      const bool packed = tensor.name.ends_with(formats::kPackedSuffix);
      jobs.push_back(packed ? copy_of_packed(place) : copy_of(place));
      continue;
    }
    const std::size_t bytes = packed_weights_bytes(plan.format, tensor.shape[0], tensor.shape[1]);
    jobs.push_back({.out = {.name = tensor.name + std::string(formats::kPackedSuffix),
                            .type = "U8",
                            .shape = {static_cast<std::int64_t>(bytes)}},
                    .run =
                        [place, plan, file = shard.path](const files::SafetensorsWriter& writer,
                                                         const files::Tensor& out) {
                          return quantise_tensor(place, file, plan, writer, out);
                        },
                    .cost = 4 * (tensor.end - tensor.begin),
                    .made_before = text_of({Made::earlier, key(plan.format), tensor.shape[0],
                                            tensor.shape[1], 0, 0})});
  }
  // Packed weights first: their sizes are multiples of 256, so that each lies aligned in the file.
  std::stable_partition(jobs.begin(), jobs.end(), [](const Job& job) {
    return job.out.name.ends_with(formats::kPackedSuffix);
  });
  return jobs;
}

std::string text_of(const QuantiseReport& report) {
  return fmt::format("{} {} {} {} {:.6g} {:.6g}", static_cast<int>(report.made), report.format,
                     report.n, report.k, report.relative, report.snr_db);
}

std::optional<QuantiseReport> parse_report(const std::string& line) {
  QuantiseReport report;
  int made = 0;
  std::istringstream in(line);
  std::string relative;
  std::string snr;
  if (!(in >> made >> report.format >> report.n >> report.k >> relative >> snr)) {
    return std::nullopt;
  }
  if (made < 0 || made > static_cast<int>(Made::copied)) return std::nullopt;
  report.made = static_cast<Made>(made);
  report.relative = std::strtod(relative.c_str(), nullptr);  // also "inf"
  report.snr_db = std::strtod(snr.c_str(), nullptr);
  return report;
}

}  // namespace gemwright::checkpoint
