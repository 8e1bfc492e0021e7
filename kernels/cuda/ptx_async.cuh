// cp.async (sm_80 and newer): copies from global to shared memory that no register waits for.
#pragma once

namespace gemwright_device {

/// Copies kBytes (4, 8 or 16, aligned); only the first `valid` bytes are read, the rest is zero.
template <int kBytes>
__device__ __forceinline__ void copy_async(unsigned shared, const void* global, int valid) {
  if constexpr (kBytes == 16) {
    // .cg: past the L1 cache, which a tile that is read once would only pollute.
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared),
                 "l"(global), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(kBytes), "r"(valid)
                 : "memory");
  }
}

/// As copy_async, all of it or zeros: cheaper, since the hardware takes a predicate but no length.
template <int kBytes>
__device__ __forceinline__ void copy_async_if(unsigned shared, const void* global, bool valid) {
  if constexpr (kBytes == 16) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n"
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, p;\n}" ::"r"(shared),
        "l"(global), "r"(static_cast<unsigned>(valid))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n"
        "cp.async.ca.shared.global [%0], [%1], %3, p;\n}" ::"r"(shared),
        "l"(global), "r"(static_cast<unsigned>(valid)), "n"(kBytes)
        : "memory");
  }
}

__device__ __forceinline__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most kPending of this thread's latest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace gemwright_device
