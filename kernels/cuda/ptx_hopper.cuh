// Hopper's (sm_90, sm_90a) instructions as functions: barriers in shared memory, bulk tensor
// copies, clusters, stmatrix, register reallocation, dependent launch. The matrix instruction is in
// ptx_wgmma.cuh.
#pragma once

#include "ptx.cuh"

namespace gemwright_device {

/// A bulk-copy descriptor, encoded by the host and passed as a const __grid_constant__ parameter.
struct alignas(64) TensorMap {
  char bytes[128];
};

/// L2 policies of bulk copies, as createpolicy would make them for the whole range.
constexpr unsigned long long kEvictNormal = 0x1000000000000000ull;
constexpr unsigned long long kEvictFirst = 0x12F0000000000000ull;
constexpr unsigned long long kEvictLast = 0x14F0000000000000ull;

// ---- Threads, warps, registers -----------------------------------------------------------------

/// True in one lane of a converged warp.
__device__ __forceinline__ bool elect_one() {
  int elected = 0;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
}

/// Makes a value that is equal in all lanes known as such to the compiler.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

template <int Registers>
__device__ __forceinline__ void register_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

template <int Registers>
__device__ __forceinline__ void register_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Counts as arrived at barrier `id` without waiting; named_barrier in the others.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Barrier `id` (1 to 15; 0 is __syncthreads) among `threads` threads of the CTA.
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Whether `x` is true in any of the 128 threads that meet at barrier `id`.
__device__ __forceinline__ bool any_in_warpgroup(int id, bool x) {
  unsigned any;
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.ne.u32 p, %2, 0;\nbar.red.or.pred q, %1, 128, p;\n"
      "selp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(id), "r"(static_cast<unsigned>(x))
      : "memory");
  return any != 0;
}

// ---- Barriers in shared memory ------------------------------------------------------------------

using Barrier = unsigned long long;

__device__ __forceinline__ void barrier_init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}

/// Makes initialised barriers visible to the copy engine and to the other CTAs of the cluster;
/// followed by a CTA or cluster barrier.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_arrive(Barrier* barrier) {
  barrier_arrive(shared_address(barrier));
}

/// Arrives, and adds to the bytes that the phase waits for.
__device__ __forceinline__ void barrier_arrive_expect(Barrier* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

/// Arrives at the barrier at the same place in CTA `rank` of the cluster. Orders no memory between
/// CTAs (that costs a fence of the whole device): enough to say that bulk copies may overwrite what
/// wgmma has read.
__device__ __forceinline__ void barrier_arrive_remote(Barrier* barrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// Waits until the phase of that parity (0 for the first) has completed.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra WAIT;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void barrier_wait(Barrier* barrier, unsigned parity) {
  barrier_wait(shared_address(barrier), parity);
}

// ---- Bulk copies --------------------------------------------------------------------------------

__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Box at (x, y, z), innermost first, to shared memory; its bytes complete on `barrier`.
__device__ __forceinline__ void copy_in(void* to, const TensorMap* map, Barrier* barrier, int x,
                                        int y, int z, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

/// As copy_in, to the same place (and barrier) of every CTA of the cluster whose bit is set.
__device__ __forceinline__ void copy_in_multicast(void* to, const TensorMap* map, Barrier* barrier,
                                                  int x, int y, int z, unsigned long long policy,
                                                  unsigned short mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(
          shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "h"(mask), "l"(policy)
      : "memory");
}

/// `bytes` of contiguous memory, a multiple of 16 as are both addresses; they complete on
/// `barrier`.
__device__ __forceinline__ void copy_line(unsigned to, const void* from, int bytes,
                                          Barrier* barrier, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], "
      "%2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

/// Brings a box into L2 only. Safe before griddepcontrol.wait: L2 is where writers meet.
__device__ __forceinline__ void prefetch_box(const TensorMap* map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(map),
               "r"(x), "r"(y), "r"(z)
               : "memory");
}

/// Box from shared memory to (x, y, z); what lies outside the tensor is not written.
__device__ __forceinline__ void copy_out(const TensorMap* map, const void* from, int x, int y,
                                         int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void copy_out_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most `Pending` of this thread's committed stores still read shared memory.
template <int Pending>
__device__ __forceinline__ void copy_out_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

/// Waits until all of this thread's committed stores are complete.
__device__ __forceinline__ void copy_out_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Orders this thread's plain shared-memory writes before later reads by wgmma or bulk copies.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- Clusters -----------------------------------------------------------------------------------

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// As cluster_arrive, where no writes need to be seen by the other CTAs.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Address, in the cluster's shared window, of what lies at `pointer` in CTA `rank`.
__device__ __forceinline__ unsigned remote_address(const void* pointer, unsigned rank) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(pointer)), "r"(rank));
  return address;
}

__device__ __forceinline__ float4 load_remote(unsigned address) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

/// Four floats to an address of remote_address; their 16 bytes complete on the barrier at `barrier`
/// (also of remote_address) in the same CTA, whose waiters then see them.
__device__ __forceinline__ void store_remote(unsigned address, const float* v, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(address),
      "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(barrier)
      : "memory");
}

// ---- Matrices of registers to shared memory -----------------------------------------------------

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrix(unsigned address, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

/// As store_matrix, each matrix transposed.
__device__ __forceinline__ void store_matrix_transposed(unsigned address, const unsigned (&r)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}

// ---- Dependent launch ---------------------------------------------------------------------------

/// Waits until the kernels before this one in the stream have ended and their writes are visible;
/// returns at once when this one was not launched as dependent.
__device__ __forceinline__ void wait_for_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets a dependent kernel start while this one runs on.
__device__ __forceinline__ void launch_next_kernel() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace gemwright_device
