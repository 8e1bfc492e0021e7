#include "families/cpu_lowbit/kernel.hpp"

#include "device/cpu/thread_pool.hpp"
#include "families/cpu_packed/geometry.hpp"
#include "families/cpu_packed/kernel.hpp"
#include "formats/codebooks.hpp"
#include "formats/packed_header.hpp"
#include "numeric/convert.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace gemwright::cpu_lowbit {
namespace {

using formats::ceil_div;
using formats::kTile;
using formats::PackedHeader;

std::array<float, 256> entries_of(const WeightFormat& format, const formats::PackedLayout& layout,
                                  const std::byte* data, DataType type) {
  std::array<float, 256> entries{};
  if (format.codes == Codes::learned_per_row) return entries;
  const std::size_t count = std::size_t{1} << format.bits;
  if (!has_codebook(format)) {
    for (std::size_t code = 0; code < count; ++code) {
      entries[code] =
          static_cast<float>(formats::code_value(format, static_cast<std::uint8_t>(code)));
    }
    return entries;
  }
  std::memcpy(entries.data(), data + layout.table, count * 4);
  for (std::size_t code = 0; code < count; ++code) {
    std::uint32_t rounded = 0;
    numeric::store(type, &rounded, 0, static_cast<double>(entries[code]));
    entries[code] = static_cast<float>(numeric::load(type, &rounded, 0));
  }
  return entries;
}

Weight weight_of(const Problem& problem, const Operands& operands) {
  Weight weight;
  weight.format = *problem.weight;
  weight.layout = formats::packed_layout(weight.format, problem.n, problem.k);
  weight.n = problem.n;
  weight.k = problem.k;
  weight.entry_type = problem.b.type;
  if (problem.k == 0) return weight;
  weight.data = static_cast<const std::byte*>(operands.b);
  weight.entries = entries_of(weight.format, weight.layout, weight.data, problem.b.type);
  return weight;
}

float global_scale_of(const Weight& weight) {
  float scale = 1.0F;
  if (weight.format.global_scale && weight.data != nullptr) {
    std::memcpy(&scale, weight.data + offsetof(PackedHeader, global_scale), 4);
  }
  return scale;
}

// A thread's parts of the weight: some more than one, to even out what else it has to do.
constexpr std::int64_t kParts = 4;

// Codes stream past a few rows of A.
class Streaming {
 public:
  Streaming(const Problem& problem, const Operands& operands, int threads,
            const StreamKernels& kernels, std::byte* packed_a)
      : p_(problem),
        x_(operands),
        threads_(threads),
        kernels_(kernels),
        packed_a_(packed_a),
        weight_(weight_of(problem, operands)),
        epilogue_(*cpu_packed::kernels(cpu_packed::Isa::avx512)) {
    p_.alpha *= global_scale_of(weight_);
  }

  void all() {
    for (std::int64_t batch = 0; batch < p_.batch; ++batch) product(batch);
  }

 private:
  void product(std::int64_t batch) {
    cpu::ThreadPool& pool = cpu::ThreadPool::global();
    const std::int64_t row_bytes = weight_.layout.tiles_k * kTile * kernels_.a_bytes;
    pool.run(static_cast<int>(p_.m), p_.m > 1 ? threads_ : 1, [&](int row, int) {
      const std::int64_t at = batch * p_.a.batch_stride + row * p_.a.row_stride;
      kernels_.pack_row({.weight = &weight_,
                         .a = static_cast<const std::byte*>(x_.a) + at * size_bytes(p_.a.type),
                         .type = p_.a.type,
                         .stride = p_.a.col_stride,
                         .out = packed_a_ + row * row_bytes});
    });
    // Rows of tiles that follow each other in memory stay with one thread, which has asked for the
    // next one's codes when it gets there.
    const std::int64_t blocks = ceil_div(p_.m, kMostRows);
    const std::int64_t tasks = weight_.layout.tiles_n * blocks;
    const std::int64_t parts = std::min<std::int64_t>(tasks, kParts * threads_);
    pool.run(static_cast<int>(parts), threads_, [&](int part, int) {
      const std::int64_t end = cpu_packed::part(tasks, parts, part + 1);
      for (std::int64_t task = cpu_packed::part(tasks, parts, part); task < end; ++task) {
        multiply(batch, task / blocks, task % blocks * kMostRows, row_bytes);
      }
    });
  }

  void multiply(std::int64_t batch, std::int64_t tile_row, std::int64_t row,
                std::int64_t row_bytes) const {
    alignas(64) std::array<float, kMostRows * kTile> sums;
    const Task task{.weight = &weight_,
                    .tile_row = tile_row,
                    .a = packed_a_ + row * row_bytes,
                    .row_bytes = row_bytes,
                    .rows = static_cast<int>(std::min<std::int64_t>(kMostRows, p_.m - row)),
                    .sums = sums.data()};
    kernels_.multiply(task);
    cpu_packed::store_sums(epilogue_, p_, x_,
                           {.batch = batch,
                            .row = row,
                            .rows = task.rows,
                            .column = tile_row * kTile,
                            .columns = kTile,
                            .sums = sums.data(),
                            .stride = kTile});
  }

  Problem p_;
  const Operands& x_;
  int threads_;
  const StreamKernels& kernels_;
  std::byte* packed_a_;
  Weight weight_;
  const cpu_packed::KernelTable& epilogue_;
};

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

void run_panels(const Problem& problem, const Operands& operands, const cpu_packed::Setup& blocks,
                DecodePanel decode, std::byte* workspace) {
  const Weight weight = weight_of(problem, operands);
  Problem product = dense(problem);
  product.alpha *= global_scale_of(weight);
  Operands numbers = operands;
  if (problem.weight->ordered && problem.k > 0) {
    reorder(problem, weight, operands.a, blocks.threads, workspace);
    numbers.a = workspace;
    product.a.row_stride = problem.k;
    product.a.col_stride = 1;
    product.a.batch_stride = problem.m * problem.k;
  }
  cpu_packed::multiply(blocks, product, numbers, Panels(weight, decode),
                       workspace + reordered_bytes(problem));
}

class LowBitKernel final : public Kernel {
 public:
  LowBitKernel(const Problem& problem, const Setup& setup, const KernelTable& table)
      : format_(*problem.weight),
        format_key_(key(format_)),
        a_type_(problem.a.type),
        b_type_(problem.b.type),
        setup_(setup),
        table_(table) {
    cpu::ThreadPool::global().reserve(setup.blocks.threads);
  }

  // The instruction set was chosen by the types, and the path by whether flat blocks divide K.
  bool serves(const Problem& problem) const override {
    return problem.weight == format_ && problem.activations == Activations::as_given &&
           problem.a.type == a_type_ && problem.b.type == b_type_ &&
           (setup_.blocks.split_k == 1 || problem.batch == 1) &&
           (setup_.path == Path::panels || !formats::runs_across_rows(format_, problem.k));
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    if (setup_.path == Path::panels) {
      return reordered_bytes(problem) + cpu_packed::workspace_bytes(setup_.blocks, dense(problem));
    }
    const std::int64_t columns = ceil_div(problem.k, kTile) * kTile;
    return static_cast<std::size_t>(problem.m * columns * table_.stream.a_bytes);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream) const override {
    if (problem.k > 0) check_header(problem, operands.b);
    auto* memory = static_cast<std::byte*>(workspace);
    if (setup_.path == Path::panels) {
      return run_panels(problem, operands, setup_.blocks, table_.decode_panel, memory);
    }
    Streaming(problem, operands, setup_.blocks.threads, table_.stream, memory).all();
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
