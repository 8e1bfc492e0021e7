#include "families/cpu_packed/setup.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace gemwright::cpu_packed {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"isa", "path", "rows",    "panels", "mc",
                                                    "nc",  "kc",   "threads", "split_k"};

// Bytes of fp32 that a block of so many elements holds.
constexpr std::int64_t kUnit = 4;
// All of K, up to here: configurations hold 32-bit numbers, and K may be 2^40.
constexpr std::int64_t kDeepest = std::int64_t{1} << 24;

std::string_view isa_name(Isa isa) {
  return kernels(isa) ? kernels(isa)->name : "absent";
}

std::string_view path_name(Path path) {
  constexpr std::array<std::string_view, 3> kPaths = {"pack", "direct", "dot"};
  return kPaths[static_cast<std::size_t>(path)];
}

int multiple(std::int64_t value, int of) {
  return static_cast<int>((value + of - 1) / of * of);
}

// Depths at which a micro-panel of B stays in L1, or in a small part of L2; all of K where one row
// of tiles reads B only once anyway.
std::vector<int> depths(const Problem& problem, const CpuProfile& cpu, int rows, int panels) {
  std::set<int> result;
  const auto k = std::max<std::int64_t>(problem.k, 1);
  for (const std::size_t bytes : {cpu.l1_bytes * 2 / 3, cpu.l2_bytes / 16}) {
    const auto depth = std::max<std::int64_t>(
        static_cast<std::int64_t>(bytes) / (kUnit * kPanel * panels), kDotPadding);
    const std::int64_t blocks = std::max<std::int64_t>(1, (k + depth / 2) / depth);
    result.insert(multiple((k + blocks - 1) / blocks, kDotPadding));
  }
  if (problem.m <= rows) result.insert(multiple(std::min(k, kDeepest), kDotPadding));
  return {result.begin(), result.end()};
}

// Threads that work on the problem: one, and all where there is enough to do.
std::vector<int> thread_counts(const Problem& problem, const CpuProfile& cpu) {
  std::vector<int> counts = {1};
  for (int threads = 2; threads < cpu.threads; threads *= 2) counts.push_back(threads);
  if (cpu.threads > 1) counts.push_back(cpu.threads);
  const double work =
      std::max(problem.flops() / cpu.f32_flops, problem.bytes() / cpu.dram_bytes_per_s_1);
  // A large product is never faster on fewer threads.
  if (work > 100 * cpu.fork_join_s * cpu.threads) return {cpu.threads};
  return counts;
}

void add_blocked(const Problem& problem, const CpuProfile& cpu, Isa isa, Path path, Loader loader,
                 std::vector<Setup>& out) {
  const KernelTable& table = *kernels(isa);
  const auto index = static_cast<std::size_t>(loader);
  const bool in_place = path == Path::direct && !problem.b.packed;
  const auto m = static_cast<int>(std::min<std::int64_t>(problem.m, 1 << 20));
  std::set<std::pair<int, int>> tiles;
  for (int panels = 1; panels <= kMaxPanels; ++panels) {
    const int most = table.max_rows[index][panels];
    if (most == 0) continue;
    // Tiles are balanced within `rows`; what counts is how many of them there are.
    const int count = (m + most - 1) / most;
    tiles.insert({std::min(most, (m + count - 1) / count), panels});
  }
  for (const int threads : thread_counts(problem, cpu)) {
    for (const auto& [rows, panels] : tiles) {
      // In place, rows of B are swept a few at a time, so that reads follow each other in memory.
      const std::vector<int> kcs =
          in_place ? std::vector<int>{16, 64, 256} : depths(problem, cpu, rows, panels);
      for (const int kc : kcs) {
        std::set<int> ncs;
        if (path == Path::pack) {
          const auto columns = static_cast<std::int64_t>(cpu.l2_bytes) / 2 / (kUnit * kc);
          for (const std::int64_t nc : {columns / 4, columns}) {
            ncs.insert(static_cast<int>(
                std::clamp<std::int64_t>(nc / (kPanel * panels), 1, 1 << 10) * kPanel * panels));
          }
          ncs.insert(kPanel * panels);
        } else {
          // Accumulators of a block are kept between depths.
          const bool one_depth = kc >= problem.k;
          if (one_depth || problem.m <= 64) ncs.insert(0);
          if (!one_depth && problem.n > 1024 && problem.m > rows) ncs.insert(kPanel * panels * 8);
          if (ncs.empty()) ncs.insert(0);
          if (!one_depth && problem.m > 64) ncs.insert(kPanel * panels * 32);
        }
        for (const int nc : ncs) {
          std::set<int> mcs = {0};
          if (problem.m > 512) mcs.insert(512);
          for (const int mc : mcs) {
            Setup setup{isa, path, rows, panels, mc, nc, kc, threads, 1};
            out.push_back(setup);
            const bool few_columns = problem.n < 2 * kPanel * panels * threads;
            if (threads > 1 && problem.batch == 1 && few_columns && problem.m <= rows &&
                problem.k >= 512) {
              setup.split_k = threads;
              out.push_back(setup);
            }
          }
        }
      }
    }
  }
}

void add_dot(const Problem& problem, const CpuProfile& cpu, Isa isa, Loader loader,
             std::vector<Setup>& out) {
  if (problem.m > 64) return;
  const KernelTable& table = *kernels(isa);
  const auto& columns = table.dot_columns[static_cast<std::size_t>(loader)];
  const auto m = static_cast<int>(problem.m);
  std::set<int> rows;
  for (int most = 1; most <= kMaxDotRows; ++most) {
    if (columns[most] == 0) continue;
    const int passes = (m + most - 1) / most;
    const int balanced = (m + passes - 1) / passes;
    if (most >= std::min(m, 4)) rows.insert(balanced);
  }
  for (const int threads : thread_counts(problem, cpu)) {
    for (const int count : rows) {
      Setup setup{isa, Path::dot, count, 0, 0, 0, 0, threads, 1};
      out.push_back(setup);
      if (threads > 1 && problem.batch == 1 && problem.n < 64 * threads && problem.k >= 512) {
        setup.split_k = threads;
        out.push_back(setup);
      }
    }
  }
}

}  // namespace

std::span<const std::string_view> parameter_names() {
  return kNames;
}

Setup decode(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {
      static_cast<Isa>(v[0]), static_cast<Path>(v[1]), v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
}

Configuration encode(const Setup& s) {
  Configuration configuration;
  const std::array<std::int32_t, kNames.size()> values = {static_cast<std::int32_t>(s.isa),
                                                          static_cast<std::int32_t>(s.path),
                                                          s.rows,
                                                          s.panels,
                                                          s.mc,
                                                          s.nc,
                                                          s.kc,
                                                          s.threads,
                                                          s.split_k};
  std::copy(values.begin(), values.end(), configuration.values.begin());
  return configuration;
}

std::string setup_name(const Setup& s) {
  std::string text = fmt::format("{}_{}_", isa_name(s.isa), path_name(s.path));
  text += s.path == Path::dot ? fmt::format("r{}", s.rows)
                              : fmt::format("{}x{}", s.rows, s.panels * kPanel);
  if (s.mc != 0) text += fmt::format("_m{}", s.mc);
  if (s.nc != 0) text += fmt::format("_n{}", s.nc);
  if (s.kc != 0) text += fmt::format("_k{}", s.kc);
  text += fmt::format("_t{}", s.threads);
  if (s.split_k > 1) text += fmt::format("_s{}", s.split_k);
  return text;
}

const KernelTable* kernels(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return scalar_kernels();
    case Isa::avx2:
      return avx2_kernels();
    case Isa::avx512:
      return avx512_kernels();
    case Isa::avx512_bf16:
      return avx512_bf16_kernels();
    case Isa::amx_bf16:
      return amx_bf16_kernels();
  }
  return nullptr;
}

std::optional<std::string> isa_refusal(Isa isa, const CpuFeatures& features) {
  if (kernels(isa) == nullptr) return "this build has no kernels for it";
  switch (isa) {
    case Isa::scalar:
      return std::nullopt;
    case Isa::avx2:
      if (!features.avx2_fma || !features.f16c) return "the CPU has no AVX2, FMA and F16C";
      return std::nullopt;
    case Isa::avx512:
      if (!features.avx512) return "the CPU has no AVX-512 F, BW, DQ and VL";
      return std::nullopt;
    case Isa::avx512_bf16:
      if (!features.avx512 || !features.avx512_bf16) return "the CPU has no AVX512-BF16";
      return std::nullopt;
    case Isa::amx_bf16:
      if (!features.avx512 || !features.amx_bf16) {
        return "the CPU has no AMX-BF16, or the system does not grant its tiles to this process";
      }
      return std::nullopt;
  }
  return "it is not known";
}

std::optional<Loader> loader_of(Isa isa, Path path, const Problem& p) {
  const DataType b = p.b.type;
  if (isa == Isa::avx512_bf16 || isa == Isa::amx_bf16) {
    if (isa == Isa::amx_bf16 && path == Path::dot) return std::nullopt;
    const bool bf16 = p.a.type == DataType::bf16 && b == DataType::bf16;
    const bool layout = path == Path::pack     ? !p.b.packed
                        : path == Path::direct ? p.b.packed
                                               : !p.b.packed && p.b.row_stride == 1;
    if (bf16 && layout) return Loader::bf16_dot;
    return std::nullopt;
  }
  switch (path) {
    case Path::pack:
      if (p.b.packed) return std::nullopt;
      return Loader::f32;
    case Path::direct:
      if (!p.b.packed && p.b.col_stride != 1) return std::nullopt;
      if (b == DataType::f32) return Loader::f32;
      if (p.b.packed) return b == DataType::bf16 ? Loader::bf16_pairs : Loader::f16_pairs;
      return b == DataType::bf16 ? Loader::bf16_rows : Loader::f16_rows;
    case Path::dot:
      if (p.b.packed || p.b.row_stride != 1) return std::nullopt;
      if (b == DataType::f32) return Loader::f32;
      return b == DataType::bf16 ? Loader::bf16_pairs : Loader::f16_rows;
  }
  return std::nullopt;
}

std::vector<Setup> setups(const Problem& problem, const CpuProfile& cpu) {
  std::vector<Setup> result;
  for (const Isa isa : {Isa::amx_bf16, Isa::avx512_bf16, Isa::avx512, Isa::avx2, Isa::scalar}) {
    if (isa_refusal(isa, cpu.features)) continue;
    for (const Path path : {Path::direct, Path::pack, Path::dot}) {
      const auto loader = loader_of(isa, path, problem);
      if (!loader) continue;
      if (path == Path::dot) {
        add_dot(problem, cpu, isa, *loader, result);
      } else {
        add_blocked(problem, cpu, isa, path, *loader, result);
      }
    }
    // A narrower instruction set is for CPUs without the wider one; bf16 dot products alone may
    // also be the slower choice.
    if (isa <= Isa::avx512 && !result.empty()) break;
  }
  return result;
}

}  // namespace gemwright::cpu_packed
