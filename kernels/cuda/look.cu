// Looks through what a kernel left in D, where it lies.
// Preamble: kWordBytes (of an element), kInfinity (its bits; magnitudes above them are NaN).

template <int Bytes>
struct WordOf {
  using Type = unsigned;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
using Word = WordOf<kWordBytes>::Type;

struct Counts {
  unsigned nan = 0, ones = 0;

  __device__ void add(unsigned word) {
    constexpr unsigned kOnes = static_cast<Word>(~0U);
    nan += (word & (kOnes >> 1)) > kInfinity;
    ones += word == kOnes;
  }
  __device__ void add_four_bytes(unsigned bytes) {
    if (kWordBytes == 4) {
      add(bytes);
    } else {
      add(bytes & 0xFFFF);
      add(bytes >> 16);
    }
  }
};

__device__ unsigned sum_of_warp(unsigned x) {
  for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(0xFFFFFFFFU, x, i);
  return x;
}

/// Adds to totals[0] how many of the words are NaN, to totals[1] how many have all bits set.
extern "C" __global__ void __launch_bounds__(256)
    count_kernel(const Word* words, long long count, unsigned long long* totals) {
  const long long step = gridDim.x * 256LL;
  const long long first = blockIdx.x * 256LL + threadIdx.x;
  // Vectors of 16 bytes, but for the words before the first and after the last whole one.
  constexpr int kEach = 16 / kWordBytes;
  const auto offset = static_cast<int>(reinterpret_cast<unsigned long long>(words) % 16);
  const long long wanted = (16 - offset) % 16 / kWordBytes;
  const long long before = wanted < count ? wanted : count;
  const long long vectors = (count - before) / kEach;
  const long long after = before + vectors * kEach;
  Counts counts;
  const auto* body = reinterpret_cast<const uint4*>(words + before);
#pragma unroll 1  // ptxas takes a third of the time
  for (long long i = first; i < vectors; i += step) {
    const uint4 v = body[i];
    counts.add_four_bytes(v.x);
    counts.add_four_bytes(v.y);
    counts.add_four_bytes(v.z);
    counts.add_four_bytes(v.w);
  }
  if (first < before) counts.add(words[first]);
  if (after + first < count) counts.add(words[after + first]);
  const unsigned nan = sum_of_warp(counts.nan), ones = sum_of_warp(counts.ones);
  if (threadIdx.x % 32 != 0) return;
  if (nan != 0) atomicAdd(totals, static_cast<unsigned long long>(nan));
  if (ones != 0) atomicAdd(totals + 1, static_cast<unsigned long long>(ones));
}

/// out[i] = words[at[i]].
extern "C" __global__ void __launch_bounds__(256)
    gather_kernel(const Word* words, const long long* at, long long count, Word* out) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < count) out[i] = words[at[i]];
}
