// What a device is: the facts and calibrated constants that families and the model decide by.
#pragma once

#include <gemwright/device.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gemwright {

/// Instruction sets of an x86-64 CPU that kernels care for.
struct CpuFeatures {
  bool avx2_fma = false;
  bool f16c = false;
  bool avx512 = false;  // F, BW, VL, DQ
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool avx512_vnni = false;  // and VBMI: all but the first two that have the one have the other
  bool amx_bf16 = false;
};

/// Facts of a CPU, and constants measured once by the calibration (see docs/performance.md).
struct CpuProfile {
  CpuFeatures features;
  int cores = 1;    // that this process may use
  int threads = 1;  // that plans use at most
  std::size_t l1_bytes = 32 << 10;
  std::size_t l2_bytes = 1 << 20;
  std::size_t l3_bytes = 32 << 20;
  // Calibrated. Rates are per core in flop/s (fma = 2) of the widest instructions this CPU has.
  double f32_flops = 50e9;
  double bf16_flops = 50e9;            // dot products of pairs; may be slower than fp32 (Intel)
  double dram_bytes_per_s_1 = 10e9;    // read, one thread
  double dram_bytes_per_s_all = 20e9;  // read, all threads
  double l3_bytes_per_s = 30e9;        // read, per core
  double l2_bytes_per_s = 80e9;        // read, per core
  double fork_join_s = 3e-6;           // one parallel region on all threads
  bool calibrated = false;
};

/// Facts of an NVIDIA GPU; peak rates are dense, at the clock it sustains.
struct CudaProfile {
  int sm = 0;  // 80, 86, 89, 90
  int multiprocessors = 0;
  double clock_ghz = 0;
  double memory_bytes_per_s = 0;  // attainable read rate
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_per_sm = 0;
  std::size_t shared_per_block = 0;  // opt-in maximum
  double f32_flops = 0;
  double tf32_flops = 0;
  double f16_flops = 0;  // bf16 too
  double f8_flops = 0;   // 0: none
  double int8_ops = 0;
  // Of a kernel inside a graph, begin to begin, when it does nothing; as an H200 where not
  // measured.
  double launch_s = 0.7e-6;
  bool calibrated = false;
};

struct DeviceProfile {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;
  std::string slug;
  std::string driver;  // driver or OS version, for the record
  CpuProfile cpu;
  CudaProfile cuda;
};

}  // namespace gemwright
