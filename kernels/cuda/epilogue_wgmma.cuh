// From the accumulators of a warpgroup to D: by way of shared memory and bulk stores, a chunk of
// columns at a time, so that the next tile's products run while the copies are under way; or
// straight from the registers where D has no layout for bulk stores.
#pragma once

#include "epilogue.cuh"
#include "ptx_hopper.cuh"

namespace gemwright_device {

/// How D is stored: element by element, or by bulk copies of rows or of columns that are
/// contiguous.
constexpr int kStoreDirect = 0;
constexpr int kStoreRows = 1;
constexpr int kStoreColumns = 2;

/// Which factors, beside alpha, A B is multiplied by: bits.
constexpr int kRowFactors = 1;
constexpr int kColumnFactors = 2;

/// What one warpgroup stores at a time: 64 rows x kColumns of its kWidth. In shared memory that is
/// rows of kSpan bytes (columns, if kStore says so) under the swizzle of that span. The last chunk
/// overlaps the one before where kWidth is no multiple; with kExact there is no overlap.
template <int kStore, int kTypeD, int kWidth, bool kExact>
struct Chunk {
  static constexpr int kBytes = kTypeD == kF32 ? 4 : 2;
  static __host__ __device__ constexpr int columns() {
    int most = kTypeD == kF32 ? 32 : 64;
    while (most > kWidth || (kExact && kWidth % most != 0)) most /= 2;
    return most;
  }
  static constexpr int kColumns = columns();
  static constexpr int kCount = (kWidth + kColumns - 1) / kColumns;
  static __host__ __device__ constexpr int start(int chunk) {
    return chunk + 1 < kCount ? chunk * kColumns : kWidth - kColumns;
  }
  static constexpr int kSpan = kStore == kStoreColumns ? 128 : kColumns * kBytes;
  static constexpr int kBufferBytes = 64 * kColumns * kBytes;
};

/// The place of `offset` under the bulk copies' swizzle of rows of `Span` bytes.
template <int Span>
__device__ __forceinline__ unsigned swizzled(unsigned offset) {
  return offset ^ (((offset >> 7) & (Span / 16 - 1)) << 4);
}

/// One warpgroup's part of the epilogue. `buffers` is kBuffers chunks, 1024-byte aligned. What
/// kScales leaves out (alpha is 1) counts: in a short product this code runs once, from cold
/// caches.
template <int kStore, int kBuffers, int kTypeD, bool kHasC, int kTypeC, int kBias, int kTypeBias,
          bool kScales = true, int kFactors = 0>
struct WarpgroupEpilogue {
  /// A copy of the code for each block of rows and each chunk would then be most of the kernel.
  /// With one, which C and direct stores have for chunks and all of these for blocks, accumulators
  /// move instead, which is nothing beside the loads of C and the stores.
  static constexpr bool kLong = kStore == kStoreDirect || kHasC || kBias != kNoBias;

  const GemmParams& p;
  const TensorMap* d_map;
  char* buffers;
  int barrier;  // id for this warpgroup's 128 threads
  int next = 0;

  /// Stores 64 rows at `row` and kWidth columns at `column`.
  template <int kWidth>
  __device__ __forceinline__ void store(const float (&acc)[kWidth / 2], int row, int column,
                                        int batch) {
    const int thread = threadIdx.x % 128;
    const int lane = thread % 32;
    const int first = row + thread / 32 * 16 + lane / 4;
    // C may be D: what is stored twice would be read back the second time.
    constexpr bool kExact = kHasC || kStore == kStoreDirect;
    using C = Chunk<kStore, kTypeD, kWidth, kExact>;
    // Two of 256 columns: with one ptxas spills in wide low-bit kernels.
    constexpr int kCopies = !kExact ? C::kCount : kWidth == 256 ? 2 : 1;
    float rest[kWidth / 2];
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) rest[i] = acc[i];
#pragma unroll kCopies
    for (int chunk = 0; chunk < C::kCount; ++chunk) {
      float x[C::kColumns / 2];
#pragma unroll
      for (int i = 0; i < C::kColumns / 2; ++i) x[i] = rest[i];
      const int taken = kExact ? C::kColumns : C::start(chunk + 1) - C::start(chunk);
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) {
        if (i + taken / 2 < kWidth / 2) rest[i] = rest[i + taken / 2];
      }
      const int at = column + C::start(chunk);
      finish<C::kColumns>(x, first, at + lane % 4 * 2, batch);
      if constexpr (kStore == kStoreDirect) {
        put<C::kColumns>(x, first, at + lane % 4 * 2, batch, 0);
        put<C::kColumns>(x, first + 8, at + lane % 4 * 2, batch, 2);
      } else {
        char* buffer = buffers + next * C::kBufferBytes;
        next = next + 1 == kBuffers ? 0 : next + 1;
        if (thread == 0) copy_out_wait_read<kBuffers - 1>();
        named_barrier(barrier, 128);
        write<C>(x, shared_address(buffer), thread);
        fence_async_proxy();
        named_barrier(barrier, 128);
        if (thread == 0) send<C>(buffer, row, at, batch);
      }
    }
  }

  /// Before the warpgroup ends: shared memory must outlive the copies out of it.
  __device__ __forceinline__ void finish_stores() const {
    if (kStore != kStoreDirect && threadIdx.x % 128 == 0) copy_out_wait_read<0>();
  }

 private:
  /// alpha * x + beta * C + bias, where this thread's first element is (row, column): of each 8
  /// columns it has two neighbours, in rows `row` and `row` + 8. Loads are predicated, not branched
  /// around, which takes a third of the code.
  template <int kColumns>
  __device__ __forceinline__ void finish(float (&x)[kColumns / 2], int row, int column,
                                         int batch) const {
    // Accumulators that are stored one by one as they are make ptxas serialise wgmma (C7514).
    constexpr bool kMultiplies = kScales || kStore == kStoreDirect;
    if constexpr (kFactors != 0) {
      multiply_factors<kColumns>(x, row, column);
    } else {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) x[i] = kMultiplies ? p.alpha * x[i] : x[i];
    }
    if constexpr (kHasC) {
      add_c<kColumns>(x, row, column, batch, 0);
      add_c<kColumns>(x, row + 8, column, batch, 2);
    }
    if constexpr (kBias != kNoBias) add_bias<kColumns>(x, row, column);
  }

  /// alpha and factors times x.
  template <int kColumns>
  __device__ __forceinline__ void multiply_factors(float (&x)[kColumns / 2], int row,
                                                   int column) const {
    const auto entry = [](const float* factors, int at, int end) {
      return load_float_if<kF32>(factors + at, at < end);
    };
    float rows[2] = {p.alpha, p.alpha};
    if constexpr ((kFactors & kRowFactors) != 0) {
      rows[0] *= entry(p.row_factors, row, p.m);
      rows[1] *= entry(p.row_factors, row + 8, p.m);
    }
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      float columns[2] = {1, 1};
      if constexpr ((kFactors & kColumnFactors) != 0) {
        columns[0] = entry(p.column_factors, column + 8 * j, p.n);
        columns[1] = entry(p.column_factors, column + 8 * j + 1, p.n);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) x[4 * j + i] *= rows[i / 2] * columns[i % 2];
    }
  }

  /// To the elements of one row, from `first` on.
  template <int kColumns>
  __device__ __forceinline__ void add_c(float (&x)[kColumns / 2], int row, int column, int batch,
                                        int first) const {
    const auto* c = static_cast<const Element<kTypeC>*>(p.c) + batch * p.c_batch + row * p.c_row +
                    column * p.c_col;
    const int columns = row < p.m ? p.n - column : 0;  // that there are, from ours on
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      float* at = x + 4 * j + first;
      at[0] = fmaf(p.beta, load_float_if<kTypeC>(c, 8 * j < columns), at[0]);
      at[1] = fmaf(p.beta, load_float_if<kTypeC>(c + p.c_col, 8 * j + 1 < columns), at[1]);
      c += 8 * p.c_col;
    }
  }

  /// Stores the elements of one row, from `first` on.
  template <int kColumns>
  __device__ __forceinline__ void put(const float (&x)[kColumns / 2], int row, int column,
                                      int batch, int first) const {
    auto* d =
        static_cast<Element<kTypeD>*>(p.d) + batch * p.d_batch + row * p.d_row + column * p.d_col;
    const int columns = row < p.m ? p.n - column : 0;
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const float* at = x + 4 * j + first;
      store_element_if<sizeof(*d)>(d, bits_of<kTypeD>(at[0]), 8 * j < columns);
      store_element_if<sizeof(*d)>(d + p.d_col, bits_of<kTypeD>(at[1]), 8 * j + 1 < columns);
      d += 8 * p.d_col;
    }
  }

  template <int kColumns>
  __device__ __forceinline__ void add_bias(float (&x)[kColumns / 2], int row, int column) const {
    const auto entry = [&](int at, int end) {
      return load_float_if<kTypeBias>(static_cast<const Element<kTypeBias>*>(p.bias) + at,
                                      at < end);
    };
    float of[2];
    if constexpr (kBias == kBiasPerRow) {
      of[0] = entry(row, p.m);
      of[1] = entry(row + 8, p.m);
    }
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      if constexpr (kBias == kBiasPerColumn) {
        of[0] = entry(column + 8 * j, p.n);
        of[1] = entry(column + 8 * j + 1, p.n);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) x[4 * j + i] += of[kBias == kBiasPerRow ? i / 2 : i % 2];
    }
  }

  template <int kType>
  static __device__ __forceinline__ float load_float_if(const Element<kType>* from, bool wanted) {
    const unsigned bits = load_element_if<sizeof(*from)>(from, wanted);
    if constexpr (kType == kF32) {
      return __uint_as_float(bits);
    } else {
      return to_float<kType>(static_cast<unsigned short>(bits));
    }
  }

  template <int kType>
  static __device__ __forceinline__ unsigned bits_of(float x) {
    if constexpr (kType == kF32) {
      return __float_as_uint(x);
    } else {
      return from_float<kType>(x);
    }
  }

  template <typename C>
  static __device__ __forceinline__ void write(const float (&x)[C::kColumns / 2], unsigned buffer,
                                               int thread) {
    const int warp = thread / 32, lane = thread % 32;
    if constexpr (kTypeD == kF32) {
#pragma unroll
      for (int i = 0; i < C::kColumns / 2; i += 2) {
        const int m = warp * 16 + lane / 4 + i % 4 / 2 * 8;
        const int n = i / 4 * 8 + lane % 4 * 2;
        if constexpr (kStore == kStoreRows) {
          store_pair(buffer + swizzled<C::kSpan>(m * C::kSpan + n * 4), x[i], x[i + 1]);
        } else {  // two boxes of 32 rows
          const unsigned box = buffer + m / 32 * (C::kColumns * 128);
          store_one(box + swizzled<128>(n * 128 + m % 32 * 4), x[i]);
          store_one(box + swizzled<128>((n + 1) * 128 + m % 32 * 4), x[i + 1]);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < C::kColumns / 2; i += 8) {  // 16 rows x 16 columns of the warp
        unsigned words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) words[j] = pack<kTypeD>(x[i + 2 * j], x[i + 2 * j + 1]);
        const int n = i / 8 * 16 + lane / 16 * 8;
        if constexpr (kStore == kStoreRows) {
          const int m = warp * 16 + lane % 16;
          store_matrix(buffer + swizzled<C::kSpan>(m * C::kSpan + n * 2), words);
        } else {
          const int m = warp * 16 + lane / 8 % 2 * 8;
          store_matrix_transposed(buffer + swizzled<128>((n + lane % 8) * 128 + m * 2), words);
        }
      }
    }
  }

  template <typename C>
  __device__ __forceinline__ void send(const char* buffer, int row, int column, int batch) const {
    if constexpr (kStore == kStoreRows) {
      copy_out(d_map, buffer, column, row, batch);
    } else {
      copy_out(d_map, buffer, row, column, batch);
      if constexpr (kTypeD == kF32) {
        copy_out(d_map, buffer + C::kColumns * 128, row + 32, column, batch);
      }
    }
    copy_out_commit();
  }

  static __device__ __forceinline__ void store_pair(unsigned address, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
  }
  static __device__ __forceinline__ void store_one(unsigned address, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
  }
};

}  // namespace gemwright_device
