#include "families/cpu_lowbit/kernels/table.hpp"

#ifdef __AVX512BF16__
#include "families/cpu_lowbit/kernels/lookup.hpp"
#include "families/cpu_lowbit/kernels/pack_a.hpp"
#include "numeric/convert.hpp"

namespace gemwright::cpu_lowbit {
namespace {

// bf16 entries, in both halves of a register: a permute of words reads 5 bits of each, of which the
// fifth is then of no consequence. A is bf16: [near, far][16 lanes][pair].
class Pairs {
 public:
  static constexpr std::int64_t kTileBytes = 2 * 64;
  struct Entries {
    __m512bh near, far;
  };

  explicit Pairs(const Weight& weight) {
    alignas(64) std::array<std::uint16_t, 32> words;
    for (std::size_t i = 0; i < 32; ++i) words[i] = numeric::to_bf16(weight.entries[i % 16]);
    table_ = _mm512_load_si512(words.data());
  }

  // The codes of a pair are adjacent: the first comes to the lower word of a dword, the second to
  // the upper one.
  Entries entries(__m512i codes, int row) const {
    if (row == 0) return {lookup<0, 12>(codes), lookup<16, -4>(codes)};
    return {lookup<8, 4>(codes), lookup<24, -12>(codes)};
  }

  struct Columns {
    __m512bh near, far;
  };
  static Columns load(const std::byte* tile) {
    const auto vector = [](const std::byte* from) {
      return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
    };
    return {vector(tile), vector(tile + 64)};
  }

  static __m512 dot(const Entries& w, const Columns& a) {
    return _mm512_dpbf16_ps(_mm512_dpbf16_ps(_mm512_setzero_ps(), w.near, a.near), w.far, a.far);
  }

 private:
  template <int kRight, int kLeft>
  __m512bh lookup(__m512i codes) const {
    constexpr __mmask32 kUpperWords = 0xAAAAAAAAU;
    const __m512i lower = _mm512_srli_epi32(codes, kRight);
    __m512i upper;
    if constexpr (kLeft >= 0) {
      upper = _mm512_slli_epi32(codes, kLeft);
    } else {
      upper = _mm512_srli_epi32(codes, -kLeft);
    }
    const __m512i indices = _mm512_mask_blend_epi16(kUpperWords, lower, upper);
    return reinterpret_cast<__m512bh>(_mm512_permutexvar_epi16(indices, table_));
  }

  __m512i table_;
};

void pack_row(const Row& row) {
  auto* out = reinterpret_cast<std::uint16_t*>(row.out);
  for_tiles(row, [out](std::int64_t tile, const std::array<float, 64>& values) {
    for (std::size_t k = 0; k < 64; ++k) {
      const std::size_t lane = 4 * (k % 8 / 2) + k / 16;
      // They are bf16 already.
      out[static_cast<std::size_t>(tile) * 64 + 32 * (k % 16 / 8) + 2 * lane + k % 2] =
          numeric::to_bf16(values[k]);
    }
  });
}

}  // namespace

const KernelTable* avx512_bf16_kernels() {
  static constexpr KernelTable table{nullptr, {pack_row, multiply_looked_up<Pairs>, 2}, {}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
#else
namespace gemwright::cpu_lowbit {
const KernelTable* avx512_bf16_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_lowbit
#endif
