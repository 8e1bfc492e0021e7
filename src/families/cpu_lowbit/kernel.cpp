#include "families/cpu_lowbit/kernel.hpp"

#include "device/cpu/thread_pool.hpp"
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

// One run.
class Run {
 public:
  Run(const Problem& problem, const Operands& operands, const Setup& setup,
      const KernelTable& table, std::byte* packed_a)
      : p_(problem), x_(operands), setup_(setup), table_(table), packed_a_(packed_a) {
    weight_.format = *problem.weight;
    weight_.layout = formats::packed_layout(weight_.format, p_.n, p_.k);
    weight_.n = p_.n;
    weight_.k = p_.k;
    weight_.entry_type = p_.b.type;
    if (p_.k == 0) return;
    weight_.data = static_cast<const std::byte*>(operands.b);
    weight_.entries = entries_of(weight_.format, weight_.layout, weight_.data, p_.b.type);
    if (weight_.format.global_scale) {
      std::memcpy(&global_scale_, weight_.data + offsetof(PackedHeader, global_scale), 4);
    }
  }

  void all() {
    for (std::int64_t batch = 0; batch < p_.batch; ++batch) product(batch);
  }

 private:
  void product(std::int64_t batch) {
    cpu::ThreadPool& pool = cpu::ThreadPool::global();
    const std::int64_t row_bytes = weight_.layout.tiles_k * kTile * table_.a_bytes;
    pool.run(static_cast<int>(p_.m), p_.m > 1 ? setup_.threads : 1, [&](int row, int) {
      const std::int64_t at = batch * p_.a.batch_stride + row * p_.a.row_stride;
      table_.pack_row({.weight = &weight_,
                       .a = static_cast<const std::byte*>(x_.a) + at * size_bytes(p_.a.type),
                       .type = p_.a.type,
                       .stride = p_.a.col_stride,
                       .out = packed_a_ + row * row_bytes});
    });
    const std::int64_t blocks = ceil_div(p_.m, kMostRows);
    pool.run(
        static_cast<int>(weight_.layout.tiles_n * blocks), setup_.threads, [&](int index, int) {
          alignas(64) std::array<float, kMostRows * kTile> sums;
          const std::int64_t row = index % blocks * kMostRows;
          const Task task{.weight = &weight_,
                          .tile_row = index / blocks,
                          .a = packed_a_ + row * row_bytes,
                          .row_bytes = row_bytes,
                          .rows = static_cast<int>(std::min<std::int64_t>(kMostRows, p_.m - row)),
                          .sums = sums.data()};
          table_.multiply(task);
          store(batch, row, task);
        });
  }

  void store(std::int64_t batch, std::int64_t first_row, const Task& task) const {
    const std::int64_t first = task.tile_row * kTile;
    const std::int64_t columns = std::min(kTile, p_.n - first);
    const double factor = static_cast<double>(p_.alpha) * static_cast<double>(global_scale_);
    for (int i = 0; i < task.rows; ++i) {
      const std::int64_t row = first_row + i;
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t col = first + j;
        double value = factor * static_cast<double>(task.sums[i * kTile + j]);
        if (p_.c && p_.beta != 0) {
          const std::int64_t c =
              batch * p_.c->batch_stride + row * p_.c->row_stride + col * p_.c->col_stride;
          value += static_cast<double>(p_.beta) * numeric::load(p_.c->type, x_.c, c);
        }
        if (p_.bias == Bias::per_row) value += numeric::load(p_.bias_type, x_.bias, row);
        if (p_.bias == Bias::per_column) value += numeric::load(p_.bias_type, x_.bias, col);
        const std::int64_t d =
            batch * p_.d.batch_stride + row * p_.d.row_stride + col * p_.d.col_stride;
        numeric::store(p_.d.type, x_.d, d, value);
      }
    }
  }

  const Problem& p_;
  const Operands& x_;
  Setup setup_;
  const KernelTable& table_;
  std::byte* packed_a_;
  Weight weight_;
  float global_scale_ = 1.0F;
};

class LowBitKernel final : public Kernel {
 public:
  LowBitKernel(const Problem& problem, const Setup& setup, const KernelTable& table)
      : format_(*problem.weight),
        format_key_(key(format_)),
        a_type_(problem.a.type),
        b_type_(problem.b.type),
        setup_(setup),
        table_(table) {
    cpu::ThreadPool::global().reserve(setup.threads);
  }

  // The instruction set was chosen by the types, and by whether flat blocks divide K.
  bool serves(const Problem& problem) const override {
    return problem.weight == format_ && problem.a.type == a_type_ && problem.b.type == b_type_ &&
           (format_.grouping != Grouping::flat || setup_.isa <= Isa::avx2 ||
            problem.k % format_.group == 0);
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    const std::int64_t columns = ceil_div(problem.k, kTile) * kTile;
    return static_cast<std::size_t>(problem.m * columns * table_.a_bytes);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream) const override {
    if (problem.k > 0) check_header(problem, operands.b);
    Run(problem, operands, setup_, table_, static_cast<std::byte*>(workspace)).all();
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
