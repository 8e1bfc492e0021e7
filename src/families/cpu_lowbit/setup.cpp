#include "families/cpu_lowbit/setup.hpp"

#include "families/cpu_lowbit/rounded.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright::cpu_lowbit {
namespace {

constexpr std::array<std::string_view, 6> kIsaNames{"scalar",      "avx2",        "avx512",
                                                    "avx512_bf16", "avx512_vnni", "amx"};

// What is multiplied as integers.
bool whole_numbers(const Problem& problem) {
  const WeightFormat& format = *problem.weight;
  const bool codes =
      (format.codes == Codes::integer && format.zero != Zero::real) || format.codes == Codes::e2m1;
  return problem.activations == Activations::int8 && codes &&
         !formats::runs_across_rows(format, problem.k);
}

// What the kernels that look up by permutes take. AMX has a table for every zero point.
bool streams(Isa isa, const Problem& problem) {
  const WeightFormat& format = *problem.weight;
  const bool zeros = isa == Isa::amx && format.zero == Zero::integer;
  return format.bits == 4 && (format.zero == Zero::symmetric || zeros) &&
         format.codes != Codes::learned_per_row && !formats::runs_across_rows(format, problem.k);
}

bool streams_by(Isa isa, const Problem& problem) {
  switch (isa) {
    case Isa::avx512_bf16:
    case Isa::amx: {
      // Codes that rows are rounded to are exact in bf16.
      const bool a = problem.a.type == DataType::bf16 || rounds(problem);
      return a && problem.b.type == DataType::bf16;
    }
    case Isa::avx512_vnni:
      return problem.activations == Activations::int8 && problem.weight->codes == Codes::integer;
    default:
      return true;
  }
}

bool has(Isa isa, const CpuFeatures& features) {
  switch (isa) {
    case Isa::scalar:
      return true;
    case Isa::avx2:
      return features.avx2_fma && features.f16c;
    case Isa::avx512:
      return features.avx512;
    case Isa::avx512_bf16:
      return features.avx512 && features.avx512_bf16;
    case Isa::avx512_vnni:
      return features.avx512_vnni;
    case Isa::amx:
      return features.amx_bf16;
  }
  return false;
}

const KernelTable* table_of(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return scalar_kernels();
    case Isa::avx2:
      return avx2_kernels();
    case Isa::avx512:
      return avx512_kernels();
    case Isa::avx512_bf16:
      return avx512_bf16_kernels();
    case Isa::avx512_vnni:
      return avx512_vnni_kernels();
    case Isa::amx:
      return amx_kernels();
  }
  return nullptr;
}

// Cpu_packed's for a B that it packs, in depths of whole tiles.
void add_panels(const Problem& problem, const CpuProfile& cpu, Isa isa, std::vector<Setup>& out) {
  for (cpu_packed::Setup blocks : cpu_packed::setups(dense(problem), cpu)) {
    if (blocks.path != cpu_packed::Path::pack || blocks.isa != packed_isa(isa)) continue;
    const auto tile = static_cast<int>(formats::kTile);
    blocks.kc = (blocks.kc + tile - 1) / tile * tile;
    const Configuration now = encode({isa, Path::panels, blocks});
    const auto same = [&](const Setup& setup) { return encode(setup) == now; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back({isa, Path::panels, blocks});
  }
}

void add_threads(const CpuProfile& cpu, Isa isa, Path path, std::vector<Setup>& out) {
  Setup setup{isa, path, {}};
  setup.blocks.threads = cpu.threads;
  out.push_back(setup);
  setup.blocks.threads = 1;
  if (cpu.threads > 1) out.push_back(setup);
}

}  // namespace

cpu_packed::Isa packed_isa(Isa isa) {
  return isa == Isa::scalar ? cpu_packed::Isa::scalar
         : isa == Isa::avx2 ? cpu_packed::Isa::avx2
                            : cpu_packed::Isa::avx512;
}

std::span<const std::string_view> parameter_names() {
  static constexpr std::array<std::string_view, 9> names{"isa", "path", "rows",    "panels", "mc",
                                                         "nc",  "kc",   "threads", "split_k"};
  return names;
}

Setup decode(const Configuration& configuration) {
  const auto& v = configuration.values;
  const auto isa = static_cast<Isa>(v[0]);
  const auto path = static_cast<Path>(v[1]);
  if (path != Path::panels) {
    Setup setup{isa, path, {}};
    setup.blocks.threads = v[7];
    return setup;
  }
  return {isa, path,
          cpu_packed::Setup{packed_isa(isa), cpu_packed::Path::pack, v[2], v[3], v[4], v[5], v[6],
                            v[7], v[8]}};
}

Configuration encode(const Setup& setup) {
  const cpu_packed::Setup& b = setup.blocks;
  const std::array<std::int32_t, 9> values{static_cast<std::int32_t>(setup.isa),
                                           static_cast<std::int32_t>(setup.path),
                                           b.rows,
                                           b.panels,
                                           b.mc,
                                           b.nc,
                                           b.kc,
                                           b.threads,
                                           b.split_k};
  Configuration configuration;
  std::copy(values.begin(), values.end(), configuration.values.begin());
  return configuration;
}

std::string setup_name(const Setup& setup) {
  const std::string_view isa = kIsaNames.at(static_cast<std::size_t>(setup.isa));
  const cpu_packed::Setup& b = setup.blocks;
  if (setup.path != Path::panels) {
    return fmt::format("{}_{}_t{}", isa, setup.path == Path::stream ? "stream" : "integers",
                       b.threads);
  }
  std::string text = fmt::format("{}_panels_{}x{}", isa, b.rows, b.panels * kPanelRows);
  if (b.mc != 0) text += fmt::format("_m{}", b.mc);
  text += fmt::format("_n{}_k{}_t{}", b.nc, b.kc, b.threads);
  if (b.split_k > 1) text += fmt::format("_s{}", b.split_k);
  return text;
}

std::string_view summation_name(const Setup& setup) {
  constexpr std::array<std::string_view, 6> kStreams{"",
                                                     "",
                                                     "lowbit_stream_avx512",
                                                     "lowbit_stream_avx512_bf16",
                                                     "lowbit_stream_avx512_vnni",
                                                     "lowbit_stream_amx"};
  // One chain of multiply-adds in the order of K, however that is divided into blocks.
  constexpr std::array<std::string_view, 5> kPanels{"lowbit_scalar", "lowbit_avx2", "lowbit_avx512",
                                                    "", ""};
  // One of exact sums of segments of K.
  constexpr std::array<std::string_view, 5> kIntegers{
      "lowbit_integers_scalar", "lowbit_integers_fma", "", "", "lowbit_integers_fma"};
  const auto isa = static_cast<std::size_t>(setup.isa);
  if (setup.path == Path::stream) return kStreams.at(isa);
  if (setup.path == Path::integers) return kIntegers.at(isa);
  return setup.blocks.split_k == 1 ? kPanels.at(isa) : "";
}

const KernelTable* kernels(Isa isa, Path path, const Problem& problem,
                           const CpuFeatures& features) {
  const KernelTable* table = has(isa, features) ? table_of(isa) : nullptr;
  if (table == nullptr) return nullptr;
  if (path == Path::panels) return table->decode_panel != nullptr ? table : nullptr;
  if (path == Path::integers) {
    return whole_numbers(problem) && table->integers.multiply != nullptr ? table : nullptr;
  }
  const bool takes = streams(isa, problem) && streams_by(isa, problem);
  return takes && table->stream.multiply != nullptr ? table : nullptr;
}

Problem dense(const Problem& problem) {
  Problem result = problem;
  result.weight.reset();
  result.activations = Activations::as_given;
  const bool rounded = rounds(problem);
  if (rounded || problem.weight->ordered) {
    result.a = {.type = rounded ? DataType::f32 : problem.a.type,
                .row_stride = problem.k,
                .col_stride = 1,
                .batch_stride = problem.m * problem.k};
  }
  result.b = {.type = DataType::f32, .row_stride = 1, .col_stride = problem.k};
  return result;
}

std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu) {
  std::vector<Setup> result;
  for (const Isa isa : {Isa::avx512_vnni, Isa::avx2, Isa::scalar}) {
    if (kernels(isa, Path::integers, problem, cpu.features) == nullptr) continue;
    add_threads(cpu, isa, Path::integers, result);
    break;
  }
  // Panels by the widest instruction set alone; before streams, since theirs is the order of sums
  // for any M.
  for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::scalar}) {
    if (kernels(isa, Path::panels, problem, cpu.features) == nullptr) continue;
    add_panels(problem, cpu, isa, result);
    break;
  }
  for (const Isa isa : {Isa::avx512, Isa::avx512_bf16, Isa::avx512_vnni, Isa::amx}) {
    if (kernels(isa, Path::stream, problem, cpu.features) != nullptr)
      add_threads(cpu, isa, Path::stream, result);
  }
  return result;
}

}  // namespace gemwright::cpu_lowbit
