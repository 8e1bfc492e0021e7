#include "device/cpu/measure.hpp"

#include "device/cpu/helpers.hpp"
#include "device/cpu/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gemwright::cpu {
namespace {

// Results go here, so that no loop is dropped as useless.
std::atomic<float> float_sink;
std::atomic<std::uint64_t> word_sink;

constexpr int kChains = 12;  // covers latency 4-6 x 2 units
constexpr long kSteps = 200000;
constexpr int kTrials = 5;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double math_avx512() {
  __m512 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.5F);
  for (long step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_fmadd_ps(sum[i], x, x);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float_sink = sum[0][0];
  return 2.0 * 16 * kChains * kSteps;
}

__attribute__((target("avx512f,avx512bf16,avx512bw"))) double math_avx512_bf16() {
  __m512 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3E00));  // 0.125
  for (long step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float_sink = sum[0][0];
  return 2.0 * 32 * kChains * kSteps;
}

__attribute__((target("avx2,fma"))) double math_avx2() {
  __m256 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.5F);
  for (long step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = _mm256_fmadd_ps(sum[i], x, x);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  float_sink = sum[0][0];
  return 2.0 * 8 * kChains * kSteps;
}

__attribute__((target("avx512f"))) std::uint64_t read_avx512(const std::byte* at,
                                                             std::size_t bytes) {
  __m512i seen[8];
  for (__m512i& part : seen) part = _mm512_setzero_si512();
  for (std::size_t i = 0; i + 512 <= bytes; i += 512) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      seen[j] = _mm512_or_si512(seen[j], _mm512_loadu_si512(at + i + 64 * j));
    }
  }
  for (int j = 1; j < 8; ++j) seen[0] = _mm512_or_si512(seen[0], seen[j]);
  std::uint64_t words[8];
  _mm512_storeu_si512(words, seen[0]);
  return words[0] ^ words[7];
}

__attribute__((target("avx2"))) std::uint64_t read_avx2(const std::byte* at, std::size_t bytes) {
  __m256i seen[8];
  for (__m256i& part : seen) part = _mm256_setzero_si256();
  for (std::size_t i = 0; i + 256 <= bytes; i += 256) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const auto* lane = reinterpret_cast<const __m256i*>(at + i + 32 * j);
      seen[j] = _mm256_or_si256(seen[j], _mm256_loadu_si256(lane));
    }
  }
  for (int j = 1; j < 8; ++j) seen[0] = _mm256_or_si256(seen[0], seen[j]);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(seen[0], 0));
}

__attribute__((target("clflushopt"))) void flush_unordered(const std::byte* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) _mm_clflushopt(const_cast<std::byte*>(at + i));
  _mm_mfence();
}

void flush(const CpuFeatures& features, const std::byte* at, std::size_t bytes) {
  // Every CPU with AVX-512 has it; one line after the other takes five times as long.
  if (features.avx512) return flush_unordered(at, bytes);
  for (std::size_t i = 0; i < bytes; i += 64) _mm_clflush(at + i);
  _mm_mfence();
}

#else

void flush(const CpuFeatures&, const std::byte*, std::size_t) {}

#endif

using Vector4 = float __attribute__((vector_size(16)));

double math_scalar() {
  Vector4 sum[kChains] = {};
  const Vector4 x = {0.5F, 0.5F, 0.5F, 0.5F};
  for (long step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * x + x;
  }
  for (int i = 1; i < kChains; ++i) sum[0] += sum[i];
  float_sink = sum[0][0];
  return 2.0 * 4 * kChains * kSteps;
}

std::uint64_t read_words(const std::byte* at, std::size_t bytes) {
  std::uint64_t seen[8] = {};
  for (std::size_t i = 0; i + 64 <= bytes; i += 64) {
    std::uint64_t words[8];
    std::memcpy(words, at + i, sizeof(words));
    for (int j = 0; j < 8; ++j) seen[j] |= words[j];
  }
  return seen[0] | seen[1] | seen[2] | seen[3] | seen[4] | seen[5] | seen[6] | seen[7];
}

using MathLoop = double (*)();
using ReadLoop = std::uint64_t (*)(const std::byte*, std::size_t);

MathLoop math_loop(const CpuFeatures& features, bool bf16) {
#if defined(__x86_64__)
  if (bf16 && features.avx512_bf16) return math_avx512_bf16;
  if (features.avx512) return math_avx512;
  if (features.avx2_fma) return math_avx2;
#endif
  (void)features;
  (void)bf16;
  return math_scalar;
}

ReadLoop read_loop(const CpuFeatures& features) {
#if defined(__x86_64__)
  if (features.avx512) return read_avx512;
  if (features.avx2_fma) return read_avx2;
#endif
  (void)features;
  return read_words;
}

// Seconds of a core that this thread has had: what other programs take meanwhile does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Runs the body on threads that begin together; the seconds of the one that took longest.
double timed(int threads, const std::function<void(int)>& body) {
  std::atomic<int> waiting{threads};
  std::vector<double> took(static_cast<std::size_t>(threads));
  const auto work = [&](int index) {
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    const double begin = thread_seconds();
    body(index);
    took[static_cast<std::size_t>(index)] = thread_seconds() - begin;
  };
  {
    std::atomic<int> next{1};
    const auto help = [&] { work(next.fetch_add(1)); };
    const auto others = start_helpers(static_cast<std::size_t>(threads - 1), help);
    waiting.fetch_sub(threads - 1 - static_cast<int>(others.size()));  // nobody waits for the rest
    work(0);
  }
  return *std::max_element(took.begin(), took.end());
}

class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : bytes_(bytes), storage_(std::make_unique<std::byte[]>(bytes + 64)) {
    // Written, because pages never written all map to one page of zeros.
    std::memset(storage_.get(), 1, bytes + 64);
  }
  const std::byte* data() const {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
    return storage_.get() + (64 - address % 64) % 64;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> storage_;
};

std::vector<std::unique_ptr<Buffer>> buffers(std::size_t bytes_each, int threads) {
  std::vector<std::unique_ptr<Buffer>> made(static_cast<std::size_t>(threads));
  // Each by the thread that will read it, so that its memory is near that thread's core.
  timed(threads,
        [&](int i) { made[static_cast<std::size_t>(i)] = std::make_unique<Buffer>(bytes_each); });
  return made;
}

}  // namespace

double math_rate(const CpuFeatures& features, bool bf16, int threads) {
  const MathLoop loop = math_loop(features, bf16);
  double flops = 0;
  double best = 1e30;
  for (int trial = 0; trial < kTrials; ++trial) {
    best = std::min(best, timed(threads, [&](int i) {
                      const double done = loop();
                      if (i == 0) flops = done;
                    }));
  }
  return flops / best;
}

double cached_read_rate(const CpuFeatures& features, std::size_t bytes_each, int threads) {
  const ReadLoop loop = read_loop(features);
  const auto made = buffers(bytes_each, threads);
  const auto passes = std::max<std::size_t>(2, (std::size_t{16} << 20) / bytes_each);
  double best = 1e30;
  for (int trial = 0; trial < kTrials; ++trial) {
    best = std::min(best, timed(threads, [&](int i) {
                      const Buffer& buffer = *made[static_cast<std::size_t>(i)];
                      for (std::size_t pass = 0; pass < passes; ++pass) {
                        word_sink.store(loop(buffer.data(), buffer.bytes()),
                                        std::memory_order_relaxed);
                      }
                    }));
  }
  return static_cast<double>(bytes_each * passes) * threads / best;
}

void read_bytes(const CpuFeatures& features, const std::byte* data, std::size_t bytes) {
  const ReadLoop loop = read_loop(features);
  // Four streams at once: one alone does not keep all of a core's line buffers busy.
  constexpr std::size_t kPiece = 4096;
  const std::size_t quarter = bytes / 4 / kPiece * kPiece;
  for (std::size_t at = 0; at < quarter; at += kPiece) {
    for (std::size_t stream = 0; stream < 4; ++stream) {
      word_sink.store(loop(data + stream * quarter + at, kPiece), std::memory_order_relaxed);
    }
  }
  word_sink.store(loop(data + 4 * quarter, bytes - 4 * quarter), std::memory_order_relaxed);
}

double memory_read_rate(const CpuFeatures& features, std::size_t bytes_each, int threads) {
  const auto made = buffers(bytes_each, threads);
  double best = 1e30;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (const auto& buffer : made) flush(features, buffer->data(), buffer->bytes());
    best = std::min(best, timed(threads, [&](int i) {
                      const Buffer& buffer = *made[static_cast<std::size_t>(i)];
                      read_bytes(features, buffer.data(), buffer.bytes());
                    }));
  }
  return static_cast<double>(bytes_each) * threads / best;
}

double fork_join_seconds(int threads) {
  constexpr int kRegions = 400;
  ThreadPool& pool = ThreadPool::global();
  std::vector<double> took;
  for (int i = 0; i < kRegions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pool.run(threads, threads, [](int, int) {});
    took.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(took.begin(), took.begin() + kRegions / 2, took.end());
  return took[kRegions / 2];
}

}  // namespace gemwright::cpu
