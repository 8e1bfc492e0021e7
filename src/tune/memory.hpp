// Host memory for test operands.
#pragma once

#include <cstddef>

namespace gemwright::tune {

/// Bytes that this process may still take of the machine and of its control group: all that is left
/// but an eighth of the whole, at most 1 GiB and at most half of what is left.
std::size_t available_memory();

/// Whether there is memory for a CPU kernel's workspace; for a small one there always is.
bool workspace_fits(std::size_t bytes);

/// Pages of their own, zeroed, on huge pages where there are any. Throws OutOfMemory.
class Pages {
 public:
  Pages() = default;
  /// With `guard` the bytes end at a page that faults, but for what `alignment` leaves between.
  explicit Pages(std::size_t bytes, bool guard = false, std::size_t alignment = 64);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  /// Aligned to 4096, or with a guard page to `alignment`.
  std::byte* data() const { return data_; }

 private:
  void* map_ = nullptr;
  std::size_t map_bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace gemwright::tune
