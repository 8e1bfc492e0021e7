#include "families/cuda_hopper/setting.hpp"

#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_common/layout.hpp"
#include "problem/transposed.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_hopper {
namespace {

using cuda_layout::Input;

// Bulk copies want 16-byte multiples for the base and every stride but the contiguous dimension's,
// strides below 2^40 bytes, and tf32 contiguous along K: wgmma transposes 16-bit types only.
bool bulk_load(const Input& x) {
  const int size = size_bytes(x.type);
  const bool along_k = x.k_stride == 1;
  if (!along_k && (x.row_stride != 1 || x.type == DataType::f32)) return false;
  const auto fits = [&](std::int64_t stride) {
    return stride * size % 16 == 0 && stride * size < (std::int64_t{1} << 40);
  };
  const std::int64_t pitch = along_k ? x.row_stride : x.k_stride;
  const bool pitch_used = (along_k ? x.rows : x.k) > 1;
  return x.alignment % 16 == 0 && (!pitch_used || (pitch > 0 && fits(pitch))) &&
         (x.batch <= 1 || fits(x.batch_stride));
}

Load load_of(const Input& x) {
  if (bulk_load(x)) return Load::bulk;
  if (x.k_stride == 1 || (x.row_stride == 1 && x.type != DataType::f32)) return Load::shifted;
  return x.row_stride < x.k_stride ? Load::across : Load::gathered;
}

// What threads gather they put down K-major.
bool major_rows(const Input& x, Load load) {
  return (load == Load::bulk || load == Load::shifted) && x.k_stride != 1;
}

// Bulk copies want 16-byte multiples for the base and every stride; that of a dimension of size 1
// is never used.
bool bulk_store(const Operand& d, std::int64_t contiguous, std::int64_t other,
                std::int64_t other_size, std::int64_t batch) {
  const int size = size_bytes(d.type);
  return contiguous == 1 && d.alignment % 16 == 0 && (other_size <= 1 || other * size % 16 == 0) &&
         (batch <= 1 || d.batch_stride * size % 16 == 0);
}

model::Ingest ingest(Load load) {
  switch (load) {
    case Load::bulk:
      return model::Ingest::bulk;
    case Load::shifted:
      return model::Ingest::vectors;
    default:
      return model::Ingest::elements;
  }
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
  View view{.problem = swap ? transposed(problem) : problem};
  const Problem& p = view.problem;
  const Input a = cuda_layout::input_a(p);
  const Input b = cuda_layout::input_b(p);
  view.load_a = load_of(a);
  view.load_b = load_of(b);
  view.a_major_m = major_rows(a, view.load_a);
  view.b_major_n = major_rows(b, view.load_b);
  if (bulk_store(p.d, p.d.col_stride, p.d.row_stride, p.m, p.batch)) {
    view.store = Store::rows;
  } else if (bulk_store(p.d, p.d.row_stride, p.d.col_stride, p.n, p.batch)) {
    view.store = Store::columns;
  }
  return view;
}

model::HopperProduct product_of(const View& view, bool warps) {
  const Problem& p = view.problem;
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch,
          .input_bytes = size_bytes(p.a.type),
          .output_bytes = size_bytes(p.d.type),
          .warps = warps,
          .ingest_a = ingest(view.load_a),
          .ingest_b = ingest(view.load_b)};
}

model::HopperSetting cost_setting_of(const Setting& s) {
  return {.tile_m = static_cast<double>(s.tile_m),
          .tile_n = static_cast<double>(s.tile_n),
          .stages = static_cast<double>(s.stages),
          .cluster_m = static_cast<double>(s.cluster_m),
          .cluster_n = static_cast<double>(s.cluster_n),
          .split = static_cast<double>(s.split),
          .consumers = static_cast<double>(s.consumers()),
          .stream_k = s.stream_k,
          .ping_pong = s.ping_pong};
}

int threads(const Setting& setting, const View& view) {
  return 128 * ((view.threads_load() ? 2 : 1) + setting.consumers());
}

int shared_bytes(const Setting& s, const View& view) {
  const int stage = (s.tile_m + s.tile_n) * 128 + 2 * 8;  // with its two barriers
  const Problem& p = view.problem;
  const int chunk = view.store == Store::direct
                        ? 0
                        : 64 * size_bytes(p.d.type) *
                              chunk_columns(p.d.type, s.columns_stored(), p.c.has_value());
  const int exchanged = s.tile_m * s.tile_n * 4 / s.split * (s.split - 1);  // parts of a split K
  constexpr int kRest = 8 + 16;                                             // a barrier, flags
  return s.stages * stage + s.consumers() * kBuffers * chunk + exchanged + kRest;
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
