#include "families/cuda_hopper/kernel.hpp"

#include "cuda/hopper_params.cuh"
#include "device/profile.hpp"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_common/hopper_tiles.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_common/operand_map.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace gemwright::cuda_hopper {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::HopperParams;

// A swizzle of `swizzle` bytes; tf32 only of inputs.
cuda::TensorMap encode(const Operand& operand, const cuda_layout::Plane& plane, std::int64_t batch,
                       int ordinal, bool tf32, int swizzle, const void* base) {
  cuda::TensorMapShape shape = cuda_layout::operand_map(operand, plane, batch, ordinal);
  shape.tf32 = tf32;
  shape.swizzle_bytes = swizzle;
  cuda::TensorMap map;
  cuda::encode(map, shape, base);
  return map;
}

const void* aligned_below(const void* pointer) {
  constexpr std::uintptr_t kAlignment = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<const char*>(pointer) - address % kAlignment;
}

class HopperKernel final : public HopperProduct {
 public:
  HopperKernel(const CudaFamily& family, const Problem& problem, const Device& device,
               const Configuration& configuration, const Setting& setting)
      : HopperProduct(family, problem, device, configuration), setting_(setting) {
    const View view = view_of(problem, setting_.swap);
    shape_.threads = static_cast<unsigned>(threads(setting_, view));
    shape_.shared_bytes = static_cast<unsigned>(shared_bytes(setting_, view));
    shape_.cluster[0] = static_cast<unsigned>(setting_.cluster());
    clusters_ = std::max(1, load_clusters(shape_));
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    const View view = view_of(problem, setting_.swap);
    if (stream(view.problem).tiles == 0) return 0;
    // Two parts of tiles a CTA at most.
    return gemwright_device::kCounterBytes +
           static_cast<std::size_t>(2 * clusters_ * setting_.cluster()) *
               static_cast<std::size_t>(setting_.tile_m * setting_.tile_n) * sizeof(float);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    run_with(problem, operands, {}, workspace, stream);
  }

  void run_with(const Problem& problem, const Operands& operands, const Factors& factors,
                void* workspace, Stream stream) const override {
    const View view = view_of(problem, setting_.swap);
    Operands mapped = setting_.swap ? operands.transposed() : operands;
    const Problem& p = view.problem;
    if (p.k == 0) {
      // Nothing is loaded, and there may be nothing to load from, but descriptors want an address.
      mapped.a = mapped.b = aligned_below(mapped.d);
    }
    cuda::TensorMap a{}, b{}, d{};  // stay empty where the kernel does without
    HopperParams params = parameters(view, mapped, workspace);
    params.gemm.row_factors = setting_.swap ? factors.columns : factors.rows;
    params.gemm.column_factors = setting_.swap ? factors.rows : factors.columns;
    if (view.load_a == Load::bulk) {
      a = input(p, p.a, view.a_major_m, p.m, p.a.row_stride, p.a.col_stride,
                view.a_major_m ? 64 / setting_.cluster_n : params.a_rows, mapped.a);
    }
    if (view.load_b == Load::bulk) {
      b = input(p, p.b, view.b_major_n, p.n, p.b.col_stride, p.b.row_stride,
                view.b_major_n ? 64 / setting_.cluster_m : params.b_rows, mapped.b);
    }
    if (view.store != Store::direct) d = output(view, mapped.d);
    cuda::LaunchShape shape = shape_;
    shape.dependent = operands.early != Early::none;
    set_grid(params, shape, clusters_, setting_.split > 1);
    void* arguments[] = {&a, &b, &d, &params};
    launch(shape, arguments, stream);
  }

 private:
  // Of A, or of B with its rows being the columns of the product. `lines` of a copy: of K where it
  // is M- or N-major, else of M or N.
  cuda::TensorMap input(const Problem& p, const Operand& x, bool major_rows, std::int64_t rows,
                        std::int64_t row_stride, std::int64_t k_stride, int lines,
                        const void* base) const {
    const bool tf32 = x.type == DataType::f32;
    const cuda_layout::Plane plane =
        major_rows ? cuda_layout::Plane{rows, p.k, k_stride, 64, lines}
                   : cuda_layout::Plane{p.k, rows, row_stride, 128 / size_bytes(x.type), lines};
    return encode(x, plane, p.batch, device().ordinal(), tf32, 128, base);
  }

  cuda::TensorMap output(const View& view, void* base) const {
    const Problem& p = view.problem;
    const int columns = chunk_columns(p.d.type, setting_.columns_stored(), p.c.has_value());
    const int size = size_bytes(p.d.type);
    if (view.store == Store::rows) {
      return encode(p.d, {p.n, p.m, p.d.row_stride, columns, 64}, p.batch, device().ordinal(),
                    false, columns * size, base);
    }
    return encode(p.d, {p.m, p.n, p.d.col_stride, 128 / size, columns}, p.batch, device().ordinal(),
                  false, 128, base);
  }

  Streamed stream(const Problem& p) const {
    if (!setting_.stream_k) return {};
    const std::int64_t tiles = tiles_of(p.m, setting_.tile_m * setting_.cluster_m) *
                               tiles_of(p.n, setting_.tile_n * setting_.cluster_n) * p.batch;
    return stream_tiles(tiles, tiles_of(p.k, 128 / size_bytes(p.a.type)), clusters_,
                        setting_.cluster() * (setting_.ping_pong ? 1 : setting_.consumers()));
  }

  HopperParams parameters(const View& view, const Operands& operands, void* workspace) const {
    const Problem& p = view.problem;
    HopperParams params{};
    const auto [streamed, share] = stream(p);
    params.gemm = gemm_params(p, operands, streamed > 0 ? workspace : nullptr);
    set_tiles(params, tiles_of(p.m, setting_.tile_m * setting_.cluster_m),
              tiles_of(p.n, setting_.tile_n * setting_.cluster_n), setting_.group,
              setting_.along_n);
    params.a_batches = p.a.batch_stride != 0 ? 1 : 0;
    params.b_batches = p.b.batch_stride != 0 ? 1 : 0;
    params.a_policy = copy_policy(params.tiles_n);
    params.b_policy = copy_policy(params.tiles_m);
    params.streamed = streamed;
    params.share = share;
    params.a_rows = rows_of_copy(p.m, setting_.tile_m, setting_.cluster_n);
    params.b_rows = rows_of_copy(p.n, setting_.tile_n, setting_.cluster_m);
    params.stage_bytes = stage_bytes(view, params);
    return params;
  }

  // Of a tile of `tile` rows that `sharers` CTAs bring: the matrix may have fewer. Parts of several
  // are whole swizzle atoms.
  static int rows_of_copy(std::int64_t rows, int tile, int sharers) {
    if (rows >= tile) return tile / sharers;
    const std::int64_t each = std::max<std::int64_t>(1, tiles_of(rows, sharers));
    return static_cast<int>(sharers == 1 ? each : tiles_of(each, 8) * 8);
  }

  // That bulk copies bring.
  unsigned stage_bytes(const View& view, const HopperParams& params) const {
    const Setting& s = setting_;
    int lines = 0;
    if (view.load_a == Load::bulk) {
      lines += view.a_major_m ? s.tile_m : params.a_rows * s.cluster_n;
    }
    if (view.load_b == Load::bulk) {
      lines += view.b_major_n ? s.tile_n : params.b_rows * s.cluster_m;
    }
    return static_cast<unsigned>(lines * 128);
  }

  Setting setting_;
  cuda::LaunchShape shape_;  // but for the grid
  int clusters_ = 1;         // that the device holds at a time
};

}  // namespace

compile::Source kernel_source(const Problem& problem, const Setting& s, FactorSides sides) {
  if (s.swap) std::swap(sides.rows, sides.columns);
  // Bits as in kernels/cuda/epilogue_wgmma.cuh.
  const int factors = (sides.rows ? 1 : 0) + (sides.columns ? 2 : 0);
  const View view = view_of(problem, s.swap);
  const Problem& p = view.problem;
  const DataType c = p.c ? p.c->type : p.d.type;
  std::string preamble = "namespace gemwright_device {\n";
  preamble += fmt::format("constexpr int kInput = {}, kTypeD = {}, kStore = {};\n",
                          static_cast<int>(p.a.type), static_cast<int>(p.d.type),
                          static_cast<int>(view.store));
  preamble +=
      fmt::format("constexpr int kTypeC = {}, kBias = {}, kTypeBias = {};\n", static_cast<int>(c),
                  static_cast<int>(p.bias), static_cast<int>(p.bias_type));
  preamble += fmt::format("constexpr int kTileM = {}, kTileN = {}, kStages = {}, kSplit = {};\n",
                          s.tile_m, s.tile_n, s.stages, s.split);
  preamble += fmt::format("constexpr int kClusterM = {}, kClusterN = {}, kConsumers = {};\n",
                          s.cluster_m, s.cluster_n, s.consumers());
  preamble += fmt::format("constexpr int kBuffers = {}, kLoadA = {}, kLoadB = {};\n", kBuffers,
                          static_cast<int>(view.load_a), static_cast<int>(view.load_b));
  preamble += fmt::format(
      "constexpr bool kPingPong = {}, kStreamK = {}, kHasC = {}, kAMajorM = {}, kBMajorN = {};\n"
      "constexpr bool kScales = {}, kWarps = {};\nconstexpr int kFactors = {};\n}}\n",
      s.ping_pong, s.stream_k, p.c.has_value(), view.a_major_m, view.b_major_n, p.alpha != 1,
      s.warps, factors);
  return {.file = "gemm_hopper.cu",
          .preamble = std::move(preamble),
          .kernel_name = "gemm_hopper",
          .sm = 90,
          .arch_specific = true};
}

std::shared_ptr<const HopperProduct> build_kernel(const CudaFamily& family, const Problem& problem,
                                                  const Device& device,
                                                  const Configuration& configuration,
                                                  const Setting& setting) {
  return std::make_shared<HopperKernel>(family, problem, device, configuration, setting);
}

}  // namespace gemwright::cuda_hopper
