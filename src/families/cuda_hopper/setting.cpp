#include "families/cuda_hopper/setting.hpp"

#include "families/cuda_common/layout.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_hopper {
namespace {

// Bulk copies want 16-byte multiples for the base and every stride; that of a dimension of size 1
// is never used.
bool bulk_store(const Operand& d, std::int64_t contiguous, std::int64_t other,
                std::int64_t other_size, std::int64_t batch) {
  const int size = size_bytes(d.type);
  return contiguous == 1 && d.alignment % 16 == 0 && (other_size <= 1 || other * size % 16 == 0) &&
         (batch <= 1 || d.batch_stride * size % 16 == 0);
}

}  // namespace

Setting setting_of(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.tile_m = v[0],
          .tile_n = v[1],
          .stages = v[2],
          .cluster_m = v[3],
          .cluster_n = v[4],
          .split = v[5],
          .stream_k = v[6] != 0,
          .ping_pong = v[7] != 0,
          .swap = v[8] != 0,
          .group = v[9],
          .along_n = v[10] != 0};
}

Configuration configuration_of(const Setting& s) {
  Configuration configuration;
  const auto flag = [](bool set) { return set ? 1 : 0; };
  const std::array values = {s.tile_m,     s.tile_n, s.stages,         s.cluster_m,
                             s.cluster_n,  s.split,  flag(s.stream_k), flag(s.ping_pong),
                             flag(s.swap), s.group,  flag(s.along_n)};
  static_assert(values.size() == kParameters.size());
  std::copy(values.begin(), values.end(), configuration.values.begin());
  return configuration;
}

std::string name_of(const Setting& s) {
  std::string name =
      fmt::format("hopper_{}x{}x64_s{}_c{}x{}_{}_g{}{}", s.tile_m, s.tile_n, s.stages, s.cluster_m,
                  s.cluster_n, s.ping_pong ? "pingpong" : "coop", s.group, s.along_n ? "n" : "m");
  if (s.stream_k) name += "_sk";
  if (s.split > 1) name += fmt::format("_k{}", s.split);
  if (s.swap) name += "_t";
  return name;
}

View view_of(const Problem& problem, bool swap) {
  View view{.problem = swap ? cuda_layout::transposed(problem) : problem};
  const Problem& p = view.problem;
  view.a_major_m = p.a.col_stride != 1;
  view.b_major_n = p.b.row_stride != 1;
  if (bulk_store(p.d, p.d.col_stride, p.d.row_stride, p.m, p.batch)) {
    view.store = Store::rows;
  } else if (bulk_store(p.d, p.d.row_stride, p.d.col_stride, p.n, p.batch)) {
    view.store = Store::columns;
  }
  return view;
}

int chunk_columns(DataType type, int width, bool exact) {
  int columns = type == DataType::f32 ? 32 : 64;
  while (columns > width || (exact && width % columns != 0)) columns /= 2;
  return columns;
}

int shared_bytes(const Setting& s, const View& view) {
  const int stage = (s.tile_m + s.tile_n) * 128 + 2 * 8;  // with its two barriers
  const Problem& p = view.problem;
  const int chunk = view.store == Store::direct
                        ? 0
                        : 64 * size_bytes(p.d.type) *
                              chunk_columns(p.d.type, s.columns_stored(), p.c.has_value());
  constexpr int kExchange = 2 * 8 + 16;  // barriers and flags of a split K
  return s.stages * stage + s.consumers() * kBuffers * chunk + kExchange;
}

int most_stages(const Setting& setting, const View& view, std::size_t shared_limit) {
  constexpr int kMost = 12;  // more were never faster
  Setting with = setting;
  for (with.stages = kMost; with.stages >= 2; --with.stages) {
    if (static_cast<std::size_t>(shared_bytes(with, view)) <= shared_limit) return with.stages;
  }
  return 0;
}

}  // namespace gemwright::cuda_hopper
