// A weight's rows of tiles, dealt to threads.
#pragma once

#include "device/cpu/thread_pool.hpp"
#include "families/cpu_packed/geometry.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <cstdint>

namespace gemwright::cpu_lowbit {

/// What stays in a core's cache while the other goes by: a row of tiles, or a block of A's rows.
enum class Keeps : std::uint8_t { tiles, rows };

/// Calls body(row of tiles, first row of A, rows) for each row of tiles with each block of at most
/// `most` of A's m rows. Rows of tiles that follow each other in memory stay with one thread, which
/// has asked for the next one's codes when it gets there.
template <typename Body>
void for_tile_rows(std::int64_t tile_rows, std::int64_t m, std::int64_t most, Keeps keeps,
                   int threads, const Body& body) {
  // A thread's parts: some more than one, to even out what else it has to do.
  constexpr std::int64_t kParts = 4;
  const std::int64_t blocks = formats::ceil_div(m, most);
  const std::int64_t tasks = tile_rows * blocks;
  const std::int64_t parts = std::min<std::int64_t>(tasks, kParts * threads);
  cpu::ThreadPool::global().run(static_cast<int>(parts), threads, [&](int part, int) {
    const std::int64_t end = cpu_packed::part(tasks, parts, part + 1);
    for (std::int64_t task = cpu_packed::part(tasks, parts, part); task < end; ++task) {
      const bool tiles = keeps == Keeps::tiles;
      const std::int64_t row = (tiles ? task % blocks : task / tile_rows) * most;
      body(tiles ? task / blocks : task % tile_rows, row, std::min(most, m - row));
    }
  });
}

}  // namespace gemwright::cpu_lowbit
