#include "families/cpu_lowbit/kernels/decode.hpp"
#include "families/cpu_lowbit/kernels/integers.hpp"

namespace gemwright::cpu_lowbit {
namespace {

void multiply_row(const CodeBlock& block, const std::int8_t* a, const std::int32_t* minus_sums,
                  float* sums) {
  for_segments(block, [&](std::int64_t first, std::int64_t places, std::int64_t segment) {
    const std::size_t numbers = static_cast<std::size_t>(segment * kTile);
    const std::uint8_t* codes = block.codes.data() + first * kTile * 4;
    std::array<std::int32_t, kTile> products;
    for (std::size_t row = 0; row < kTile; ++row) {
      products[row] = block.zeros[numbers + row] * minus_sums[segment];
    }
    for (std::int64_t place = first; place < first + places; ++place) {
      for (std::size_t row = 0; row < kTile; ++row, codes += 4) {
        for (std::int64_t i = 0; i < 4; ++i) products[row] += codes[i] * a[4 * place + i];
      }
    }
    for (std::size_t row = 0; row < kTile; ++row) {
      sums[row] += block.scales[numbers + row] * static_cast<float>(products[row]);
    }
  });
}

void multiply(const IntegerTask& task) {
  for (int row = 0; row < task.rows; ++row) {
    const std::int64_t at = row * task.row_bytes;
    multiply_row(*task.block, task.a + at, task.minus_sums + at / 4, task.sums + row * kTile);
  }
}

}  // namespace

const KernelTable* scalar_kernels() {
  static constexpr KernelTable table{decode_any, {}, {round_row, decode_block, multiply}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
