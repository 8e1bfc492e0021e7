// PTX that every architecture from sm_80 has: wide memory access, fences, atomics.
#pragma once

namespace gemwright_device {

/// Memory in registers.
template <int kBytes>
struct Words {
  unsigned w[kBytes / 4];
};

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// p + bytes, one sum at a time: left to itself, the compiler turns a chain of them into a product
/// for each, and loads the factors anew in every turn of a loop.
__device__ __forceinline__ const char* step(const char* p, long long bytes) {
  const char* next;
  asm("add.s64 %0, %1, %2;" : "=l"(next) : "l"(p), "l"(bytes));
  return next;
}

/// Reads 4, 8 or a multiple of 16 bytes, aligned to that or to 16.
template <int kBytes>
__device__ __forceinline__ Words<kBytes> load_global(const void* p) {
  Words<kBytes> x;
  if constexpr (kBytes == 4) {
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(x.w[0]) : "l"(p));
  } else if constexpr (kBytes == 8) {
    asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(x.w[0]), "=r"(x.w[1]) : "l"(p));
  } else {
#pragma unroll
    for (int i = 0; i < kBytes / 4; i += 4) {
      asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x.w[i]), "=r"(x.w[i + 1]), "=r"(x.w[i + 2]), "=r"(x.w[i + 3])
                   : "l"(static_cast<const char*>(p) + 4 * i));
    }
  }
  return x;
}

/// 16 aligned bytes that are read once: they leave no line in L1, and theirs is the first to be
/// evicted in L2, which is told to fetch the whole of it: halves that come from memory one by one
/// cost up to a fifth of its bandwidth.
__device__ __forceinline__ Words<16> load_once(const void* p) {
  constexpr unsigned long long kEvictFirst = 0x12F0000000000000ull;  // as createpolicy would give
  Words<16> x;
  asm volatile(
      "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
      : "l"(p), "l"(kEvictFirst));
  return x;
}

/// One element of 2 or 4 bytes, or 0 where it is not wanted: a predicate, no branch, which hundreds
/// of them would take long to compile.
template <int kBytes>
__device__ __forceinline__ unsigned load_element_if(const void* p, bool wanted) {
  const auto predicate = static_cast<unsigned>(wanted);
  if constexpr (kBytes == 4) {
    unsigned x;
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n"
        "@p ld.global.b32 %0, [%1];\n}"
        : "=&r"(x)
        : "l"(p), "r"(predicate));
    return x;
  } else {
    unsigned short x;
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b16 %0, 0;\n"
        "@p ld.global.b16 %0, [%1];\n}"
        : "=&h"(x)
        : "l"(p), "r"(predicate));
    return x;
  }
}

/// Writes one element of 2 or 4 bytes where that is wanted.
template <int kBytes>
__device__ __forceinline__ void store_element_if(void* p, unsigned x, bool wanted) {
  const auto predicate = static_cast<unsigned>(wanted);
  if constexpr (kBytes == 4) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p st.global.b32 [%0], %1;\n}" ::"l"(p),
                 "r"(x), "r"(predicate)
                 : "memory");
  } else {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p st.global.b16 [%0], %1;\n}" ::"l"(p),
                 "h"(static_cast<unsigned short>(x)), "r"(predicate)
                 : "memory");
  }
}

/// Writes 4, 8 or a multiple of 16 bytes, aligned to that or to 16.
template <int kBytes>
__device__ __forceinline__ void store_global(void* p, const Words<kBytes>& x) {
  if constexpr (kBytes == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(x.w[0]) : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(p), "r"(x.w[0]), "r"(x.w[1]) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < kBytes / 4; i += 4) {
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(static_cast<char*>(p) + 4 * i),
                   "r"(x.w[i]), "r"(x.w[i + 1]), "r"(x.w[i + 2]), "r"(x.w[i + 3])
                   : "memory");
    }
  }
}

/// Writes 16 aligned bytes of shared memory.
__device__ __forceinline__ void store_shared(unsigned address, const Words<16>& x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.w[0]), "r"(x.w[1]),
               "r"(x.w[2]), "r"(x.w[3])
               : "memory");
}

__device__ __forceinline__ void store_shared(unsigned address, int x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

__device__ __forceinline__ unsigned load_shared(unsigned address) {
  unsigned x;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address));
  return x;
}

__device__ __forceinline__ void store_shared(unsigned address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

/// Reads 1, 2 or a multiple of 4 floats, aligned to that or to 16 bytes.
template <int kCount>
__device__ __forceinline__ void load_shared_floats(float (&x)[kCount], unsigned address) {
  if constexpr (kCount == 1) {
    x[0] = __uint_as_float(load_shared(address));
  } else if constexpr (kCount == 2) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(x[0]), "=f"(x[1])
                 : "r"(address)
                 : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x[i]), "=f"(x[i + 1]), "=f"(x[i + 2]), "=f"(x[i + 3])
                   : "r"(address + 4 * i)
                   : "memory");
    }
  }
}

/// Four floats past the L1 cache, which may hold what another CTA has since overwritten.
__device__ __forceinline__ float4 load_partial(const float4* p) {
  float4 x;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(p)
               : "memory");
  return x;
}

__device__ __forceinline__ void store_partial(float4* p, float4 x) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z),
               "f"(x.w)
               : "memory");
}

/// Counts up to `last` and then starts again at 0; returns the value before. Orders memory of the
/// whole device on both sides.
__device__ __forceinline__ unsigned count_arrival(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("atom.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  return before;
}

}  // namespace gemwright_device
