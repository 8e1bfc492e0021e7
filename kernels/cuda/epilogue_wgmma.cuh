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
          bool kScales = true>
struct WarpgroupEpilogue {
  using Direct = Epilogue<kTypeD, 1, kHasC, kTypeC, kBias, kTypeBias>;

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
    if constexpr (kStore == kStoreDirect) {
#pragma unroll
      for (int j = 0; j < kWidth / 8; ++j) {
        const int at = column + 8 * j + lane % 4 * 2;
        Direct::template store<2>(p, batch, first, at, {acc[4 * j], acc[4 * j + 1]});
        Direct::template store<2>(p, batch, first + 8, at, {acc[4 * j + 2], acc[4 * j + 3]});
      }
    } else {
      // C may be D: what is stored twice would be read back the second time.
      using C = Chunk<kStore, kTypeD, kWidth, kHasC>;
#pragma unroll
      for (int chunk = 0; chunk < C::kCount; ++chunk) {
        float x[C::kColumns / 2];
#pragma unroll
        for (int i = 0; i < C::kColumns / 2; ++i) x[i] = acc[C::start(chunk) / 2 + i];
        const int at = column + C::start(chunk);
        finish<C::kColumns>(x, first, at + lane % 4 * 2, batch);
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
  /// alpha * x + beta * C + bias, where this thread's first element is (row, column).
  template <int kColumns>
  __device__ __forceinline__ void finish(float (&x)[kColumns / 2], int row, int column,
                                         int batch) const {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      const int m = row + i % 4 / 2 * 8;
      const int n = column + i / 4 * 8 + i % 2;
      float y = kScales ? p.alpha * x[i] : x[i];
      if constexpr (kHasC || kBias != kNoBias) {
        if (m < p.m && n < p.n) {
          if constexpr (kHasC) {
            const auto* c = static_cast<const Element<kTypeC>*>(p.c);
            y = fmaf(p.beta, to_float<kTypeC>(c[batch * p.c_batch + m * p.c_row + n * p.c_col]), y);
          }
          if constexpr (kBias != kNoBias) {
            const auto* bias = static_cast<const Element<kTypeBias>*>(p.bias);
            y += to_float<kTypeBias>(bias[kBias == kBiasPerRow ? m : n]);
          }
        }
      }
      x[i] = y;
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
