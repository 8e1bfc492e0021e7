#include "families/cpu_lowbit/kernels/table.hpp"

#ifdef __AVX512F__
#include "families/cpu_lowbit/kernels/avx512_panels.hpp"
#include "families/cpu_lowbit/kernels/lookup.hpp"
#include "families/cpu_lowbit/kernels/pack_a.hpp"

namespace gemwright::cpu_lowbit {
namespace {

// fp32 entries, 16 in a register; A is fp32: [near, far][first, second of the pair][16 lanes].
class Floats {
 public:
  static constexpr std::int64_t kTileBytes = 4 * 64;
  struct Entries {
    __m512 near_first, near_second, far_first, far_second;
  };

  explicit Floats(const Weight& weight) : table_(_mm512_loadu_ps(weight.entries.data())) {}

  // Of row n, or of n + 8. Permutes read the lowest 4 bits alone.
  Entries entries(__m512i codes, int row) const {
    const auto lookup = [&](int shift) {
      const auto count = static_cast<unsigned>(shift + 8 * row);
      return _mm512_permutexvar_ps(_mm512_srli_epi32(codes, count), table_);
    };
    return {lookup(0), lookup(4), lookup(16), lookup(20)};
  }

  struct Columns {
    __m512 near_first, near_second, far_first, far_second;
  };
  static Columns load(const std::byte* tile) {
    const auto* a = reinterpret_cast<const float*>(tile);
    return {_mm512_loadu_ps(a), _mm512_loadu_ps(a + 16), _mm512_loadu_ps(a + 32),
            _mm512_loadu_ps(a + 48)};
  }

  static __m512 dot(const Entries& w, const Columns& a) {
    __m512 sum = _mm512_mul_ps(w.near_first, a.near_first);
    sum = _mm512_fmadd_ps(w.near_second, a.near_second, sum);
    sum = _mm512_fmadd_ps(w.far_first, a.far_first, sum);
    return _mm512_fmadd_ps(w.far_second, a.far_second, sum);
  }

 private:
  __m512 table_;
};

void pack_row(const Row& row) {
  auto* out = reinterpret_cast<float*>(row.out);
  for_tiles(row, [out](std::int64_t tile, const std::array<float, 64>& values) {
    for (std::size_t k = 0; k < 64; ++k) {
      const std::size_t lane = 4 * (k % 8 / 2) + k / 16;
      out[static_cast<std::size_t>(tile) * 64 + 32 * (k % 16 / 8) + 16 * (k % 2) + lane] =
          values[k];
    }
  });
}

}  // namespace

const KernelTable* avx512_kernels() {
  static constexpr KernelTable table{decode_panel, {pack_row, multiply_looked_up<Floats>, 4}, {}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
#else
namespace gemwright::cpu_lowbit {
const KernelTable* avx512_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_lowbit
#endif
