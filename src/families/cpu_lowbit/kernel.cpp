#include "families/cpu_lowbit/kernel.hpp"

#include "device/cpu/thread_pool.hpp"
#include "families/cpu_lowbit/integers.hpp"
#include "families/cpu_lowbit/rounded.hpp"
#include "families/cpu_lowbit/streaming.hpp"
#include "families/cpu_lowbit/weight.hpp"
#include "families/cpu_packed/kernel.hpp"
#include "formats/packed_header.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace gemwright::cpu_lowbit {
namespace {

using formats::ceil_div;
using formats::kTile;
using formats::PackedHeader;

// Panels for cpu_packed, decoded as it asks for them.
class Panels final : public cpu_packed::PanelSource {
 public:
  Panels(const Weight& weight, DecodePanel decode) : weight_(weight), decode_(decode) {}

  void fill(std::int64_t panel, std::int64_t k, std::int64_t depth, float* out) const override {
    const std::int64_t end = k + depth;
    for (std::int64_t at = k; at < end;) {
      const std::int64_t tile = at / kTile;
      const std::int64_t first = at % kTile;
      float* here = out + (at - k) * kPanelRows;
      if (first == 0 && end - at >= kTile) {
        const std::int64_t tiles = (end - at) / kTile;
        decode_(weight_, panel, tile, tile + tiles, here);
        at += tiles * kTile;
        continue;
      }
      // A part of a tile: where K ends, or is split.
      alignas(64) std::array<float, kTile * kPanelRows> whole;
      decode_(weight_, panel, tile, tile + 1, whole.data());
      const std::int64_t count = std::min(kTile - first, end - at);
      std::memcpy(here, whole.data() + first * kPanelRows,
                  static_cast<std::size_t>(count * kPanelRows) * sizeof(float));
      at += count;
    }
  }

  cpu_packed::Region reads(std::int64_t begin, std::int64_t end, std::int64_t k,
                           std::int64_t depth) const override {
    if (depth == 0) return {};  // K = 0: there need be no weight
    // The tiles of a row of tiles lie one after the other.
    constexpr std::int64_t kPanels = kTile / kPanelRows;
    const std::int64_t row_bytes = weight_.layout.tiles_k * weight_.layout.tile_bytes;
    const std::byte* first = weight_.data + weight_.layout.codes + begin / kPanels * row_bytes +
                             k / kTile * weight_.layout.tile_bytes;
    return {reinterpret_cast<const char*>(first), row_bytes,
            ceil_div(end, kPanels) - begin / kPanels,
            ceil_div(depth, kTile) * weight_.layout.tile_bytes};
  }

 private:
  const Weight& weight_;
  DecodePanel decode_;
};

// A's columns in the order of the packed weight's, row after row: [batch][m][k] of A's type.
void reorder(const Problem& problem, const Weight& weight, const void* a, int threads,
             std::byte* out) {
  const int size = size_bytes(problem.a.type);
  const auto rows = static_cast<int>(problem.batch * problem.m);
  cpu::ThreadPool::global().run(rows, threads, [&](int index, int) {
    const std::int64_t at =
        index / problem.m * problem.a.batch_stride + index % problem.m * problem.a.row_stride;
    std::byte* to = out + index * problem.k * size;
    for (std::int64_t k = 0; k < problem.k; ++k) {
      std::int32_t column = 0;
      std::memcpy(&column, weight.data + weight.layout.order + k * 4, 4);
      std::memcpy(to + k * size,
                  static_cast<const std::byte*>(a) + (at + column * problem.a.col_stride) * size,
                  static_cast<std::size_t>(size));
    }
  });
}

std::size_t reordered_bytes(const Problem& problem) {
  if (!problem.weight->ordered) return 0;
  const std::int64_t bytes = problem.batch * problem.m * problem.k * size_bytes(problem.a.type);
  return static_cast<std::size_t>(ceil_div(bytes, 256) * 256);
}

// A as cpu_packed is to take it, laid out as dense() says.
struct Rows {
  const void* data = nullptr;
  const float* scales = nullptr;
};

std::size_t rows_bytes(const Problem& problem) {
  if (!rounds(problem)) return reordered_bytes(problem);
  const std::int64_t bytes = problem.batch * problem.m * problem.k * std::int64_t{sizeof(float)};
  return static_cast<std::size_t>(ceil_div(bytes, 256) * 256) + row_scale_bytes(problem);
}

Rows rows_of(const Problem& problem, const Weight& weight, const void* a, int threads,
             std::byte* workspace) {
  Rows rows{a};
  if (problem.k == 0) return rows;
  if (rounds(problem)) {
    auto* scales = reinterpret_cast<float*>(workspace);
    auto* codes = reinterpret_cast<float*>(workspace + row_scale_bytes(problem));
    const auto count = static_cast<int>(problem.batch * problem.m);
    cpu::ThreadPool::global().run(count, threads, [&](int index, int) {
      scales[index] = round_row(problem, weight, a, index / problem.m, index % problem.m,
                                codes + index * problem.k);
    });
    rows.data = codes;
    rows.scales = scales;
  } else if (problem.weight->ordered) {
    reorder(problem, weight, a, threads, workspace);
    rows.data = workspace;
  }
  return rows;
}

void run_panels(const Problem& problem, const Operands& operands, const cpu_packed::Setup& blocks,
                DecodePanel decode, std::byte* workspace) {
  const Weight weight = weight_of(problem, operands);
  Problem product = dense(problem);
  product.alpha *= global_scale_of(weight);
  const Rows rows = rows_of(problem, weight, operands.a, blocks.threads, workspace);
  Operands numbers = operands;
  numbers.a = rows.data;
  cpu_packed::multiply(blocks, product, numbers, Panels(weight, decode), rows.scales,
                       workspace + rows_bytes(problem));
}

class LowBitKernel final : public Kernel {
 public:
  LowBitKernel(const Problem& problem, const Setup& setup, const KernelTable& table)
      : format_(*problem.weight),
        format_key_(key(format_)),
        activations_(problem.activations),
        a_type_(problem.a.type),
        b_type_(problem.b.type),
        setup_(setup),
        table_(table) {
    cpu::ThreadPool::global().reserve(setup.blocks.threads);
  }

  // The instruction set was chosen by the types, and the path by whether flat blocks divide K.
  bool serves(const Problem& problem) const override {
    return problem.weight == format_ && problem.activations == activations_ &&
           problem.a.type == a_type_ && problem.b.type == b_type_ &&
           (setup_.blocks.split_k == 1 || problem.batch == 1) &&
           (setup_.path == Path::panels || !formats::runs_across_rows(format_, problem.k));
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    switch (setup_.path) {
      case Path::stream:
        return streaming_bytes(problem, table_.stream, setup_.blocks.threads);
      case Path::integers:
        return integers_bytes(problem, setup_.blocks.threads);
      case Path::panels:
        break;
    }
    return rows_bytes(problem) + cpu_packed::workspace_bytes(setup_.blocks, dense(problem));
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream) const override {
    if (problem.k > 0) check_header(problem, operands.b);
    auto* memory = static_cast<std::byte*>(workspace);
    switch (setup_.path) {
      case Path::stream:
        return run_streaming(problem, operands, table_.stream, setup_.blocks.threads, memory);
      case Path::integers:
        return run_integers(problem, operands, table_.integers, packed_isa(setup_.isa),
                            setup_.blocks.threads, memory);
      case Path::panels:
        return run_panels(problem, operands, setup_.blocks, table_.decode_panel, memory);
    }
  }

 private:
  void check_header(const Problem& problem, const void* packed) const {
    PackedHeader header;
    std::memcpy(&header, packed, sizeof header);
    const bool same = header.magic == PackedHeader{}.magic &&
                      header.version == formats::kPackedVersion && header.n == problem.n &&
                      header.k == problem.k;
    if (same && fits(header)) return;
    throw InvalidArgument("operands.b", "memory that begins with another header",
                          "a weight packed as " + format_key_ + " of N = " +
                              std::to_string(problem.n) + ", K = " + std::to_string(problem.k));
  }

  // Flat blocks that divide K are groups along K to a problem, and keep their name when packed.
  bool fits(const PackedHeader& header) const {
    const std::size_t most = header.format.size();
    if (std::strncmp(header.format.data(), format_key_.c_str(), most) == 0) return true;
    return formats::resolved(formats::format_of(header), header.k) == format_;
  }

  WeightFormat format_;
  std::string format_key_;
  Activations activations_;
  DataType a_type_;
  DataType b_type_;
  Setup setup_;
  const KernelTable& table_;
};

}  // namespace

std::shared_ptr<const Kernel> make_kernel(const Problem& problem, const Setup& setup,
                                          const KernelTable& table) {
  return std::make_shared<LowBitKernel>(problem, setup, table);
}

}  // namespace gemwright::cpu_lowbit
