// Where the codes of a plane stand in the words of a thread (docs/formats.md, "Packed weight").
#pragma once

#include <algorithm>

namespace gemwright::cpu_lowbit {

template <int kBits, bool kPaired>
struct PlanePlaces {
  /// Words of a thread; a panel's 8 groups of 4 threads have theirs one after the other. (Of eight
  /// bits four words, and 2048 bytes further the other four.)
  static constexpr int kWords = std::min(kBits, 4);
  /// Bytes of a panel's rows.
  static constexpr int kPanelBytes = 128 * kWords;
  /// Bits between the code of row g and that of row g + 8.
  static constexpr int kNextRow = kPaired ? 2 * kBits : kBits;

  /// Of column 16 step + 8 far + 2 thread + half: the word, and the bit of row g in it.
  static constexpr int word_of(int step, int far) { return (4 * step + 2 * far) / (16 / kBits); }
  static constexpr int shift_of(int step, int far, int half) {
    const int c = (4 * step + 2 * far) % (16 / kBits);
    return kPaired ? 2 * kBits * c + kBits * half : kBits * c + 16 * half;
  }
};

}  // namespace gemwright::cpu_lowbit
