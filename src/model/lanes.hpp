// What the cost functions of GPU kernels compute with: the times of two candidates at once, by
// vector instructions of the baseline, without calls and branches. Lists have hundreds of them.
#pragma once

#include "model/estimate.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace gemwright::model {

/// The same number of two candidates. Arithmetic and ?: are element by element.
using Lanes = double __attribute__((vector_size(16)));

inline Lanes both(double x) {
  return Lanes{x, x};
}

inline Lanes least(Lanes a, Lanes b) {
  return a < b ? a : b;
}

inline Lanes most(Lanes a, Lanes b) {
  return a > b ? a : b;
}

inline Lanes square_root(Lanes x) {
#ifdef __SSE2__
  return _mm_sqrt_pd(x);
#else
  return Lanes{std::sqrt(x[0]), std::sqrt(x[1])};
#endif
}

/// The nearest whole number, below 2^51: adding 1.5 * 2^52 leaves no bits for a fraction.
inline Lanes nearest(Lanes x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

/// ceil(n / d) and floor(n / d) of whole numbers, given 1 / d. Exact while n is below 2^50: what is
/// rounded is half of 1 / d away from the next tie.
inline Lanes ceil_div(Lanes n, Lanes reciprocal) {
  return nearest((n - 0.5) * reciprocal + 0.5);
}
inline Lanes floor_div(Lanes n, Lanes reciprocal) {
  return nearest((n + 0.5) * reciprocal - 0.5);
}

inline Lanes fourth(Lanes x) {
  return (x * x) * (x * x);
}
inline Lanes fourth_root(Lanes x) {
  return square_root(square_root(x));
}

/// cbrt(a^3 + b^3) of numbers that are not negative, to 2e-15: the polynomial is x^(-1/3) on [1, 2]
/// to 4e-5, and one step of fourth order mends it.
inline Lanes cubic_sum(Lanes a, Lanes b) {
  const Lanes larger = most(most(a, b), both(1e-300));
  const Lanes ratio = least(a, b) / larger;
  const Lanes x = 1 + ratio * ratio * ratio;
  const Lanes guess =
      1.6692655079178251 +
      x * (-1.1707873352071125 +
           x * (0.6933115075226297 + x * (-0.22025639852989876 + x * 0.02842771972973974)));
  const Lanes miss = 1 - x * (guess * guess * guess);
  const Lanes root = guess * (1 + miss * (1.0 / 3 + miss * (2.0 / 9 + miss * (14.0 / 81))));
  return larger * (x * (root * root));
}

/// Estimates of two candidates.
struct Times {
  Lanes us;
  Lanes bound;  // see of_bound
};

inline Lanes of_bound(Bound bound) {
  return both(static_cast<double>(bound));
}

/// Fills in the estimate of every setting; `times` makes those of two.
template <typename Setting, typename Function>
void two_at_a_time(std::span<const Setting> settings, std::span<Estimate> estimates,
                   const Function& times) {
  for (std::size_t i = 0; i < settings.size(); i += 2) {
    const std::size_t second = i + 1 < settings.size() ? i + 1 : i;
    const Times both_times = times(settings[i], settings[second]);
    for (const std::size_t at : {i, second}) {
      const int lane = static_cast<int>(at - i);
      estimates[at] = {both_times.us[lane],
                       static_cast<Bound>(static_cast<int>(both_times.bound[lane]))};
    }
  }
}

}  // namespace gemwright::model
