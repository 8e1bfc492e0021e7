// The warpgroup matrix instruction (sm_90a) for every N, as functions.
//
// d[64 x N] (fp32, N/2 registers a thread) += A[64 x k] * B[k x N]; k is 32 bytes of K. Thread t of
// the warpgroup holds rows 16*(t/32) + (t%32)/4 (+8) and, for each block j of 8 columns, columns
// 8*j + 2*(t%4) (+1): d[4j], d[4j+1] in the first row, d[4j+2], d[4j+3] in the second.
#pragma once

namespace gemwright_device {

/// What an instruction multiplies: the text between "n<N>" and the registers, and after "p".
/// 16-bit types come from shared memory K-major or (Transposed) M- or N-major.
struct WgmmaBf16 {
  static constexpr char kText[] = "k16.f32.bf16.bf16";
};
struct WgmmaF16 {
  static constexpr char kText[] = "k16.f32.f16.f16";
};
struct WgmmaTf32 {
  static constexpr char kText[] = "k8.f32.tf32.tf32";
};
struct WgmmaE4m3 {
  static constexpr char kText[] = "k32.f32.e4m3.e4m3";
};

/// The last immediates: scales of +1, and the transposes where the type has them.
template <bool Has, bool A, bool B>
struct WgmmaTail;
template <>
struct WgmmaTail<false, false, false> {
  static constexpr char kShared[] = ", 1, 1";
  static constexpr char kRegisters[] = ", 1, 1";
};
template <>
struct WgmmaTail<true, false, false> {
  static constexpr char kShared[] = ", 1, 1, 0, 0";
  static constexpr char kRegisters[] = ", 1, 1, 0";
};
template <>
struct WgmmaTail<true, false, true> {
  static constexpr char kShared[] = ", 1, 1, 0, 1";
  static constexpr char kRegisters[] = ", 1, 1, 1";
};
template <>
struct WgmmaTail<true, true, false> {
  static constexpr char kShared[] = ", 1, 1, 1, 0";
};
template <>
struct WgmmaTail<true, true, true> {
  static constexpr char kShared[] = ", 1, 1, 1, 1";
};

/// Descriptor of a tile in shared memory with the 128-byte swizzle, without its address.
/// K-major: rows of 128 bytes, `stride` 1024 from 8 rows to the next 8, `leading` unused (16).
/// M- or N-major: boxes of 64 elements x k; `leading` bytes from box to box, `stride` (1024) from 8
/// of k to the next 8. Tiles start at multiples of 1024 bytes.
__host__ __device__ constexpr unsigned long long wgmma_layout(unsigned leading, unsigned stride) {
  return (1ull << 62) | (static_cast<unsigned long long>(stride >> 4) << 32) |
         (static_cast<unsigned long long>(leading >> 4) << 16);
}

/// A layout at a shared-memory address. Advance it by adding bytes / 16.
__device__ __forceinline__ unsigned long long wgmma_descriptor(unsigned long long layout,
                                                               unsigned address) {
  return layout | ((address & 0x3FFFFu) >> 4);
}

/// Before the first instruction that touches registers written by others, in all four warps.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `Pending` committed groups are still running.
template <int Pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Keeps the compiler from moving uses of accumulators across.
template <int Count>
__device__ __forceinline__ void wgmma_pin(float (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// wgmma_shared: A and B by descriptors. wgmma_registers: A from four registers a thread (K-major).
/// With `accumulate` 0, d is overwritten.
template <typename Type, typename Tail, int Registers>
struct Wgmma;

#define GW_LIST_4 "%0, %1, %2, %3"
#define GW_LIST_8 GW_LIST_4 ", %4, %5, %6, %7"
#define GW_LIST_12 GW_LIST_8 ", %8, %9, %10, %11"
#define GW_LIST_16 GW_LIST_12 ", %12, %13, %14, %15"
#define GW_LIST_20 GW_LIST_16 ", %16, %17, %18, %19"
#define GW_LIST_24 GW_LIST_20 ", %20, %21, %22, %23"
#define GW_LIST_28 GW_LIST_24 ", %24, %25, %26, %27"
#define GW_LIST_32 GW_LIST_28 ", %28, %29, %30, %31"
#define GW_LIST_36 GW_LIST_32 ", %32, %33, %34, %35"
#define GW_LIST_40 GW_LIST_36 ", %36, %37, %38, %39"
#define GW_LIST_44 GW_LIST_40 ", %40, %41, %42, %43"
#define GW_LIST_48 GW_LIST_44 ", %44, %45, %46, %47"
#define GW_LIST_52 GW_LIST_48 ", %48, %49, %50, %51"
#define GW_LIST_56 GW_LIST_52 ", %52, %53, %54, %55"
#define GW_LIST_60 GW_LIST_56 ", %56, %57, %58, %59"
#define GW_LIST_64 GW_LIST_60 ", %60, %61, %62, %63"
#define GW_LIST_68 GW_LIST_64 ", %64, %65, %66, %67"
#define GW_LIST_72 GW_LIST_68 ", %68, %69, %70, %71"
#define GW_LIST_76 GW_LIST_72 ", %72, %73, %74, %75"
#define GW_LIST_80 GW_LIST_76 ", %76, %77, %78, %79"
#define GW_LIST_84 GW_LIST_80 ", %80, %81, %82, %83"
#define GW_LIST_88 GW_LIST_84 ", %84, %85, %86, %87"
#define GW_LIST_92 GW_LIST_88 ", %88, %89, %90, %91"
#define GW_LIST_96 GW_LIST_92 ", %92, %93, %94, %95"
#define GW_LIST_100 GW_LIST_96 ", %96, %97, %98, %99"
#define GW_LIST_104 GW_LIST_100 ", %100, %101, %102, %103"
#define GW_LIST_108 GW_LIST_104 ", %104, %105, %106, %107"
#define GW_LIST_112 GW_LIST_108 ", %108, %109, %110, %111"
#define GW_LIST_116 GW_LIST_112 ", %112, %113, %114, %115"
#define GW_LIST_120 GW_LIST_116 ", %116, %117, %118, %119"
#define GW_LIST_124 GW_LIST_120 ", %120, %121, %122, %123"
#define GW_LIST_128 GW_LIST_124 ", %124, %125, %126, %127"
#define GW_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GW_OUT_4 GW_FOUR(0)
#define GW_OUT_8 GW_OUT_4, GW_FOUR(4)
#define GW_OUT_12 GW_OUT_8, GW_FOUR(8)
#define GW_OUT_16 GW_OUT_12, GW_FOUR(12)
#define GW_OUT_20 GW_OUT_16, GW_FOUR(16)
#define GW_OUT_24 GW_OUT_20, GW_FOUR(20)
#define GW_OUT_28 GW_OUT_24, GW_FOUR(24)
#define GW_OUT_32 GW_OUT_28, GW_FOUR(28)
#define GW_OUT_36 GW_OUT_32, GW_FOUR(32)
#define GW_OUT_40 GW_OUT_36, GW_FOUR(36)
#define GW_OUT_44 GW_OUT_40, GW_FOUR(40)
#define GW_OUT_48 GW_OUT_44, GW_FOUR(44)
#define GW_OUT_52 GW_OUT_48, GW_FOUR(48)
#define GW_OUT_56 GW_OUT_52, GW_FOUR(52)
#define GW_OUT_60 GW_OUT_56, GW_FOUR(56)
#define GW_OUT_64 GW_OUT_60, GW_FOUR(60)
#define GW_OUT_68 GW_OUT_64, GW_FOUR(64)
#define GW_OUT_72 GW_OUT_68, GW_FOUR(68)
#define GW_OUT_76 GW_OUT_72, GW_FOUR(72)
#define GW_OUT_80 GW_OUT_76, GW_FOUR(76)
#define GW_OUT_84 GW_OUT_80, GW_FOUR(80)
#define GW_OUT_88 GW_OUT_84, GW_FOUR(84)
#define GW_OUT_92 GW_OUT_88, GW_FOUR(88)
#define GW_OUT_96 GW_OUT_92, GW_FOUR(92)
#define GW_OUT_100 GW_OUT_96, GW_FOUR(96)
#define GW_OUT_104 GW_OUT_100, GW_FOUR(100)
#define GW_OUT_108 GW_OUT_104, GW_FOUR(104)
#define GW_OUT_112 GW_OUT_108, GW_FOUR(108)
#define GW_OUT_116 GW_OUT_112, GW_FOUR(112)
#define GW_OUT_120 GW_OUT_116, GW_FOUR(116)
#define GW_OUT_124 GW_OUT_120, GW_FOUR(120)
#define GW_OUT_128 GW_OUT_124, GW_FOUR(124)

// N, registers (N/2), and the operand numbers that follow them.
#define GW_WGMMA(N, R, R1, R2, R3, R4, R5, R6, R7)                                           \
  template <typename Type, typename Tail>                                                    \
  struct Wgmma<Type, Tail, R> {                                                              \
    static __device__ __forceinline__ void shared(float (&d)[R], unsigned long long a,       \
                                                  unsigned long long b, int accumulate) {    \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #R2                                  \
                   ", 0;\n"                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N "%" #R3 " {" GW_LIST_##R           \
                   "}, %" #R ", %" #R1 ", p%" #R4 ";\n}"                                     \
                   : GW_OUT_##R                                                              \
                   : "l"(a), "l"(b), "r"(accumulate), "C"(Type::kText), "C"(Tail::kShared)); \
    }                                                                                        \
    static __device__ __forceinline__ void registers(float (&d)[R], const unsigned (&a)[4],  \
                                                     unsigned long long b, int accumulate) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #R5                                  \
                   ", 0;\n"                                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N "%" #R6 " {" GW_LIST_##R           \
                   "}, {%" #R ", %" #R1 ", %" #R2 ", %" #R3 "}, %" #R4 ", p%" #R7 ";\n}"     \
                   : GW_OUT_##R                                                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate),    \
                     "C"(Type::kText), "C"(Tail::kRegisters));                               \
    }                                                                                        \
  };

GW_WGMMA(8, 4, 5, 6, 7, 8, 9, 10, 11)
GW_WGMMA(16, 8, 9, 10, 11, 12, 13, 14, 15)
GW_WGMMA(24, 12, 13, 14, 15, 16, 17, 18, 19)
GW_WGMMA(32, 16, 17, 18, 19, 20, 21, 22, 23)
GW_WGMMA(40, 20, 21, 22, 23, 24, 25, 26, 27)
GW_WGMMA(48, 24, 25, 26, 27, 28, 29, 30, 31)
GW_WGMMA(56, 28, 29, 30, 31, 32, 33, 34, 35)
GW_WGMMA(64, 32, 33, 34, 35, 36, 37, 38, 39)
GW_WGMMA(72, 36, 37, 38, 39, 40, 41, 42, 43)
GW_WGMMA(80, 40, 41, 42, 43, 44, 45, 46, 47)
GW_WGMMA(88, 44, 45, 46, 47, 48, 49, 50, 51)
GW_WGMMA(96, 48, 49, 50, 51, 52, 53, 54, 55)
GW_WGMMA(104, 52, 53, 54, 55, 56, 57, 58, 59)
GW_WGMMA(112, 56, 57, 58, 59, 60, 61, 62, 63)
GW_WGMMA(120, 60, 61, 62, 63, 64, 65, 66, 67)
GW_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, 71)
GW_WGMMA(136, 68, 69, 70, 71, 72, 73, 74, 75)
GW_WGMMA(144, 72, 73, 74, 75, 76, 77, 78, 79)
GW_WGMMA(152, 76, 77, 78, 79, 80, 81, 82, 83)
GW_WGMMA(160, 80, 81, 82, 83, 84, 85, 86, 87)
GW_WGMMA(168, 84, 85, 86, 87, 88, 89, 90, 91)
GW_WGMMA(176, 88, 89, 90, 91, 92, 93, 94, 95)
GW_WGMMA(184, 92, 93, 94, 95, 96, 97, 98, 99)
GW_WGMMA(192, 96, 97, 98, 99, 100, 101, 102, 103)
GW_WGMMA(200, 100, 101, 102, 103, 104, 105, 106, 107)
GW_WGMMA(208, 104, 105, 106, 107, 108, 109, 110, 111)
GW_WGMMA(216, 108, 109, 110, 111, 112, 113, 114, 115)
GW_WGMMA(224, 112, 113, 114, 115, 116, 117, 118, 119)
GW_WGMMA(232, 116, 117, 118, 119, 120, 121, 122, 123)
GW_WGMMA(240, 120, 121, 122, 123, 124, 125, 126, 127)
GW_WGMMA(248, 124, 125, 126, 127, 128, 129, 130, 131)
GW_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, 135)

#undef GW_WGMMA
#undef GW_FOUR

}  // namespace gemwright_device
