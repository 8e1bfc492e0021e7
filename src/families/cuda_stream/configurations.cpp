#include "families/cuda_stream/configurations.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gemwright::cuda_stream {
namespace {

using cuda_layout::tiles_of;

constexpr std::int64_t kMostRows = 64;  // of activations
// On the path without a ring; where rows of weights are contiguous, a CTA takes 64 of them at once.
constexpr std::int64_t kMostRowsDirect = 32;
constexpr std::int64_t kMostRowsAlongRows = 16;

std::optional<std::string> refuse_pitch(const char* what, const Operand& x, std::int64_t rows,
                                        std::int64_t pitch, std::int64_t batch) {
  const int size = size_bytes(x.type);
  if (x.alignment % 16 != 0) {
    return fmt::format("{} is aligned to {} bytes; 16-byte loads need 16", what, x.alignment);
  }
  if (rows > 1 && pitch * size % 16 != 0) {
    return fmt::format("the pitch of {} is {} bytes; 16-byte loads need a multiple of 16", what,
                       pitch * size);
  }
  if (batch > 1 && x.batch_stride * size % 16 != 0) {
    return fmt::format("the batch stride of {} is {} bytes; 16-byte loads need a multiple of 16",
                       what, x.batch_stride * size);
  }
  return std::nullopt;
}

bool contiguous(std::int64_t stride, std::int64_t size) {
  return stride == 1 || size <= 1;
}

// Descriptors take no stride of 0 between rows, and none of 2^40 bytes.
bool has_descriptor(const Operand& x, std::int64_t rows, std::int64_t pitch, std::int64_t batch) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  const int size = size_bytes(x.type);
  return (rows <= 1 || (pitch > 0 && pitch * size < kLimit)) &&
         (batch <= 1 || x.batch_stride * size < kLimit);
}

bool takes_direct(const Problem& p) {
  return p.m <= (weights_along_k(p) ? kMostRowsDirect : kMostRowsAlongRows);
}

bool takes_ring(const Problem& p, int sm) {
  return sm == 90 && weights_along_k(p) && has_descriptor(p.a, p.m, p.a.row_stride, p.batch) &&
         has_descriptor(p.b, p.n, p.b.col_stride, p.batch);
}

int padded_cols(std::int64_t m) {
  for (const int cols : {8, 16, 24, 32, 48}) {
    if (m <= cols) return cols;
  }
  return 64;
}

struct DirectShape {
  int rows, warps, unroll, ctas;
};

// By rows of activations, for 16-bit types; what measurement on an H200 left of a wider search.
constexpr std::array kDirect8 = {DirectShape{16, 8, 4, 2},  DirectShape{16, 16, 2, 2},
                                 DirectShape{16, 8, 2, 4},  DirectShape{16, 16, 4, 1},
                                 DirectShape{32, 16, 2, 1}, DirectShape{32, 8, 4, 2},
                                 DirectShape{32, 8, 2, 3}};
constexpr std::array kDirect16 = {DirectShape{16, 8, 4, 2}, DirectShape{16, 16, 4, 1},
                                  DirectShape{16, 16, 2, 1}, DirectShape{32, 8, 2, 2}};
constexpr std::array kDirect32 = {DirectShape{16, 8, 2, 2}, DirectShape{32, 8, 2, 1}};
constexpr std::array kAlongRows8 = {DirectShape{64, 8, 2, 2}, DirectShape{64, 8, 1, 2},
                                    DirectShape{64, 16, 1, 1}};
constexpr std::array kAlongRows16 = {DirectShape{64, 8, 1, 2}, DirectShape{64, 8, 2, 1}};

std::span<const DirectShape> direct_shapes(const Problem& p) {
  if (!weights_along_k(p)) {
    if (p.m <= 8) return kAlongRows8;
    return kAlongRows16;
  }
  if (p.m <= 8) return kDirect8;
  if (p.m <= 16) return kDirect16;
  return kDirect32;
}

// Partial sums of the warps, and of the CTAs of a cluster: see gemm_stream.cu.
constexpr int kStaticShared = 48 << 10;
int static_shared_bytes(const Setting& s) {
  return 4 * s.cols * (s.warps * (s.rows + 4) + (s.split > 1 ? s.split * s.rows : 0));
}

void add_direct(std::vector<Configuration>& found, const Problem& p, const CudaProfile& gpu,
                bool swap) {
  const int step = 64 / size_bytes(p.a.type);
  const int cols = p.m <= 8 ? 8 : p.m <= 16 ? 16 : 32;
  for (const DirectShape& shape : direct_shapes(p)) {
    Setting s{.path = Path::direct,
              .rows = shape.rows,
              .cols = cols,
              .warps = shape.warps,
              // Rounding to tf32 costs registers.
              .unroll = p.a.type == DataType::f32 ? std::max(1, shape.unroll / 2) : shape.unroll,
              .ctas = p.a.type == DataType::f32 ? std::max(1, shape.ctas / 2) : shape.ctas,
              .swap = swap};
    const std::int64_t tiles = tiles_of(p.n, s.rows) * p.batch;
    for (const int split : {1, 2, 4}) {
      // Clusters are of sm_90; splitting pays while there are places to fill, and K for each warp.
      const bool worth = tiles * split * 3 <= 4LL * gpu.multiprocessors * s.ctas &&
                         p.k >= static_cast<std::int64_t>(split) * s.warps * step;
      if (split > 1 && (gpu.sm < 90 || !worth)) break;
      if (tiles * split > INT32_MAX) break;
      s.split = split;
      if (static_shared_bytes(s) > kStaticShared) break;
      found.push_back(configuration_of(s));
    }
  }
}

int slots_of(const Setting& s, const CudaProfile& gpu) {
  // Clusters of 4 and more leave some SMs of a GPC unused: 120 of 132 were counted on an H200.
  const int sms = s.split > 2 ? gpu.multiprocessors * 10 / 11 : gpu.multiprocessors;
  return sms * s.ctas / s.split * s.split;
}

void add_ring(std::vector<Configuration>& found, const Problem& p, const CudaProfile& gpu,
              bool swap) {
  for (const int rows : {64, 128, 256}) {
    for (const int blocks : {1, 2, 4}) {
      for (const int split : {1, 2, 4}) {
        for (const int ctas : {1, 2}) {
          Setting s{.path = Path::ring,
                    .rows = rows,
                    .cols = padded_cols(p.m),
                    .unroll = blocks,
                    .split = split,
                    .ctas = ctas,
                    .swap = swap};
          s.ring_kb = std::min(most_ring_kb(s, gpu), 208) / 8 * 8;
          // Two rings a multiprocessor pay where both are deep enough.
          if (ctas == 2 && rows * blocks > 256) continue;
          const RingPlan plan = plan_ring(s, p, slots_of(s, gpu));
          if (plan.rows == 0 || plan.rows <= rows - 64 || plan.stages < 3) continue;
          const std::int64_t stages_of_k = tiles_of(p.k * size_bytes(p.a.type), 128LL * blocks);
          if (split > 1 && stages_of_k < 2LL * split) continue;
          found.push_back(configuration_of(s));
        }
      }
    }
  }
}

}  // namespace

bool weights_along_k(const Problem& view) {
  return contiguous(view.b.row_stride, view.k);
}

std::optional<std::string> refuse_view(const Problem& p, int sm) {
  if (p.m > kMostRows) {
    return fmt::format("m = {} and n = {}: streams weights past at most {} rows of the other side",
                       p.m, p.n, kMostRows);
  }
  if (!contiguous(p.a.col_stride, p.k)) {
    return "the operand of few rows does not have K contiguous";
  }
  if (auto reason = refuse_pitch("the operand of few rows", p.a, p.m, p.a.row_stride, p.batch)) {
    return reason;
  }
  if (weights_along_k(p)) {
    if (auto reason = refuse_pitch("the weights", p.b, p.n, p.b.col_stride, p.batch)) return reason;
  } else {
    if (p.b.col_stride != 1) return "the weights have neither K nor N contiguous";
    if (p.a.type == DataType::f32) return "fp32 weights are streamed with K contiguous only";
    if (p.n % 8 != 0) return fmt::format("n = {} is not a multiple of 8, and N is contiguous", p.n);
    if (auto reason = refuse_pitch("the weights", p.b, p.k, p.b.row_stride, p.batch)) return reason;
  }
  if (tiles_of(p.n, 8) * p.batch > INT32_MAX) return "more tiles than a grid can hold";
  if (!takes_direct(p) && !takes_ring(p, sm)) {
    return fmt::format(
        "m = {}: more than {} rows need sm_90 and K contiguous in the weights; more "
        "than {} need one of them",
        p.m, kMostRowsDirect, kMostRowsAlongRows);
  }
  return std::nullopt;
}

std::vector<Configuration> enumerate(const Problem& problem, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  std::vector<Configuration> found;
  for (const bool swap : {false, true}) {
    const Problem p = view_of(problem, swap);
    if (refuse_view(p, gpu.sm)) continue;
    if (takes_direct(p)) add_direct(found, p, gpu, swap);
    if (takes_ring(p, gpu.sm)) add_ring(found, p, gpu, swap);
  }
  return found;
}

model::StreamWork work_of(const Setting& s, const Problem& p, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  const double size = size_bytes(p.a.type);
  model::StreamWork work;
  work.weight_bytes = static_cast<double>(p.n) * static_cast<double>(p.k) * size *
                      static_cast<double>(p.b.batch_stride == 0 ? 1 : p.batch);
  work.row_bytes = static_cast<double>(p.m) * static_cast<double>(p.k) * size / s.split;
  work.output_bytes = static_cast<double>(p.m * p.n * p.batch) * size_bytes(p.d.type);
  work.split = s.split;
  work.ctas_per_sm = s.ctas;
  work.multiprocessors = slots_of(s, gpu) / s.ctas;
  work.cols = s.cols;
  if (s.path == Path::direct) {
    work.ring = false;
    work.rows = s.rows;
    work.ctas = static_cast<double>(tiles_of(p.n, s.rows) * p.batch * s.split);
    work.bytes_in_flight = 1024.0 * s.warps * s.unroll * (s.rows / 16.0);
    const double weight_share = static_cast<double>(p.k) * size / s.split / s.warps;
    work.bytes_in_flight = std::min(work.bytes_in_flight, weight_share * s.rows * s.warps);
  } else {
    const RingPlan plan = plan_ring(s, p, slots_of(s, gpu));
    work.ring = true;
    work.rows = std::max(plan.rows, 1);
    work.ctas = static_cast<double>(plan.tiles) * static_cast<double>(p.batch) * s.split;
    const double passes =
        std::ceil(work.ctas / std::max<double>(1, static_cast<double>(plan.grid)));
    work.blocks_of_k = static_cast<double>(p.k) * size / 128 / s.split * passes;
    // One stage is always being multiplied.
    work.bytes_in_flight = (plan.stages - 1.0) * s.unroll * plan.rows * 128.0;
  }
  return work;
}

}  // namespace gemwright::cuda_stream
