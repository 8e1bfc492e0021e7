#include "device/cpu/cpuid.hpp"

#if defined(__x86_64__)

#include <array>
#include <cstdint>
#include <cstring>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gemwright::cpu {
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers query(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool bit(unsigned value, int index) {
  return (value >> index & 1U) != 0;
}

// Register states that the operating system saves at a context switch (XCR0).
std::uint64_t enabled_states() {
  if (!bit(query(1).ecx, 27)) return 0;  // OSXSAVE
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

// Linux gives the 8 KiB of tile state only to a process that has asked for it.
bool allowed_amx() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::string brand_string() {
  if (query(0x80000000U).eax < 0x80000004U) return {};
  std::array<char, 49> text{};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = query(0x80000002U + i);
    const std::array<unsigned, 4> words = {r.eax, r.ebx, r.ecx, r.edx};
    std::memcpy(text.data() + std::size_t{16} * i, words.data(), sizeof(words));
  }
  return text.data();
}

}  // namespace

Identity identity() {
  const Registers zero = query(0);
  const unsigned version = query(1).eax;
  std::array<char, 13> vendor{};
  std::memcpy(vendor.data(), &zero.ebx, 4);
  std::memcpy(vendor.data() + 4, &zero.edx, 4);
  std::memcpy(vendor.data() + 8, &zero.ecx, 4);
  const unsigned family = version >> 8 & 0xF;
  const unsigned model = (version >> 4 & 0xF) | (version >> 12 & 0xF0);
  Identity result;
  result.vendor = vendor.data();
  result.family = static_cast<int>(family == 0xF ? family + (version >> 20 & 0xFF) : family);
  result.model = static_cast<int>(model);
  result.stepping = static_cast<int>(version & 0xF);
  result.brand = brand_string();
  result.amx = bit(query(7).edx, 24);
  return result;
}

CpuFeatures features() {
  const Registers basic = query(1);
  const Registers extended = query(7);
  const Registers extended1 = query(7, 1);
  const std::uint64_t states = enabled_states();
  constexpr std::uint64_t kAvxState = 0x6;
  constexpr std::uint64_t kAvx512State = 0xE6;
  constexpr std::uint64_t kAmxState = 0x60000;
  const bool os_avx = (states & kAvxState) == kAvxState;
  const bool os_avx512 = (states & kAvx512State) == kAvx512State;

  CpuFeatures f;
  f.avx2_fma = os_avx && bit(basic.ecx, 12) && bit(extended.ebx, 5);
  f.f16c = os_avx && bit(basic.ecx, 29);
  f.avx512 = os_avx512 && f.avx2_fma && bit(extended.ebx, 16) && bit(extended.ebx, 17) &&
             bit(extended.ebx, 30) && bit(extended.ebx, 31);
  f.avx512_bf16 = f.avx512 && bit(extended1.eax, 5);
  f.avx512_fp16 = f.avx512 && bit(extended.edx, 23);
  f.avx512_vnni = f.avx512 && bit(extended.ecx, 11) && bit(extended.ecx, 1);
  f.amx_bf16 = f.avx512 && (states & kAmxState) == kAmxState && bit(extended.edx, 24) &&
               bit(extended.edx, 22) && allowed_amx();
  return f;
}

}  // namespace gemwright::cpu

#else

namespace gemwright::cpu {

Identity identity() {
  return {};
}

CpuFeatures features() {
  return {};
}

}  // namespace gemwright::cpu

#endif
