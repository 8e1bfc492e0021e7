#include "families/cpu_packed/kernel.hpp"

#include "device/cpu/thread_pool.hpp"
#include "families/cpu_packed/geometry.hpp"

#include <algorithm>

namespace gemwright::cpu_packed {
namespace {

// Packing less than this is not worth a parallel region.
constexpr std::int64_t kSerialPacking = 1 << 16;
constexpr int kStoreColumns = kMaxPanels * kPanel;
constexpr std::int64_t kLine = 64;
// Bytes ahead in a stream: beyond what the hardware's prefetcher covers by itself.
constexpr std::int64_t kFurther = 2048;

const char* element(const void* base, const Operand& operand, std::int64_t batch, std::int64_t row,
                    std::int64_t column) {
  return static_cast<const char*>(base) +
         (batch * operand.batch_stride + row * operand.row_stride + column * operand.col_stride) *
             size_bytes(operand.type);
}

// One run: the problem, the operands, and where in the workspace everything lies.
class Run {
 public:
  Run(const Setup& setup, Loader loader, const KernelTable& table, const Problem& problem,
      const Operands& operands, void* workspace, const PanelSource* source = nullptr,
      const float* row_scales = nullptr)
      : setup_(setup),
        loader_(loader),
        table_(table),
        source_(source),
        row_scales_(row_scales),
        p_(problem),
        x_(operands),
        g_(setup, loader, problem),
        packed_a_(static_cast<char*>(workspace)),
        privates_(packed_a_ + g_.a_areas * g_.a_bytes),
        partial_sums_(reinterpret_cast<float*>(privates_ + static_cast<std::size_t>(g_.threads) *
                                                               g_.private_bytes)) {}

  void all() {
    for (row_begin_ = 0; row_begin_ < p_.m; row_begin_ += g_.rows_block) {
      rows_ = std::min(g_.rows_block, p_.m - row_begin_);
      tiles_ = g_.tiles(rows_);
      block();
    }
  }

 private:
  void block() {
    cpu::ThreadPool& pool = cpu::ThreadPool::global();
    const bool shared_a = g_.batch == 1;
    if (shared_a) {
      const int parts = rows_ * p_.k < kSerialPacking ? 1 : g_.threads;
      pool.run(parts, parts, [&](int index, int) {
        pack_a(0, part(tiles_, parts, index), part(tiles_, parts, index + 1), packed_a_);
      });
    }
    pool.run(static_cast<int>(g_.cells), g_.threads, [&](int index, int participant) {
      const Cell cell = g_.cell(index, tiles_);
      char* a = packed_a_;
      if (!shared_a) {
        a += static_cast<std::size_t>(participant) * g_.a_bytes;
        pack_a(cell.batch, cell.tile_begin, cell.tile_end, a);
      }
      char* own = privates_ + static_cast<std::size_t>(participant) * g_.private_bytes;
      auto* tiles = reinterpret_cast<float*>(own + g_.b_bytes);
      if (g_.split > 1) tiles = partial_sums_ + cell.split * split_elements();
      if (setup_.path == Path::dot) {
        dot_cell(cell, a, tiles);
      } else {
        for_each_block(cell, [&](std::int64_t begin, std::int64_t end, bool pack) {
          columns(cell, begin, end, a, pack, own, tiles);
        });
      }
    });
    if (g_.split > 1) {
      const auto cells = static_cast<int>(g_.cells / g_.split);
      pool.run(cells, g_.threads, [&](int index, int) { add_splits(g_.cell(index, tiles_)); });
    }
  }

  std::int64_t tile_row(std::int64_t tile) const { return part(rows_, tiles_, tile); }
  std::int64_t split_elements() const { return g_.rows_block * g_.panels * kPanel; }

  void pack_a(std::int64_t batch, std::int64_t tile_begin, std::int64_t tile_end, char* out) const {
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
      const std::int64_t first = tile_row(tile);
      const std::int64_t last = tile_row(tile + 1);
      char* target = out + first * g_.k_padded * g_.a_element;
      const char* source = element(x_.a, p_.a, batch, row_begin_ + first, 0);
      if (g_.a_by_rows) {
        pack_a_rows(source, last - first, target);
        continue;
      }
      PackArgs args{.source = source,
                    .type = p_.a.type,
                    .rows = static_cast<int>(last - first),
                    .row_stride = p_.a.row_stride,
                    .k = p_.k,
                    .k_stride = p_.a.col_stride,
                    .out = target,
                    .out_rows = static_cast<int>(last - first)};
      if (loader_ == Loader::bf16_dot) {
        table_.pack_pairs(args);
        continue;
      }
      table_.pack_f32(args);
      // B's pairs read one more row of k than there is when K is odd.
      if (p_.k % 2 != 0) {
        auto* end = reinterpret_cast<float*>(target) + p_.k * args.rows;
        std::fill(end, end + args.rows, 0.0F);
      }
    }
  }

  void pack_a_rows(const char* source, std::int64_t rows, char* target) const {
    const PackRows pack = loader_ == Loader::bf16_dot     ? table_.pack_rows_bf16
                          : loader_ == Loader::bf16_pairs ? table_.pack_rows_split
                                                          : table_.pack_rows_f32;
    for (std::int64_t row = 0; row < rows; ++row) {
      pack({.source = source + row * p_.a.row_stride * size_bytes(p_.a.type),
            .type = p_.a.type,
            .k = p_.k,
            .k_stride = p_.a.col_stride,
            .out = target + row * g_.k_padded * g_.a_element});
    }
  }

  // Panels [begin, end) at depth k, as the micro-kernels read them.
  struct Panels {
    const char* address = nullptr;
    std::ptrdiff_t panel_bytes = 0;
    std::ptrdiff_t step_bytes = 0;
    Loader loader = Loader::f32;
  };

  Panels packed_panels(const Cell& cell, std::int64_t begin, std::int64_t end, std::int64_t k,
                       std::int64_t depth, char* out) const {
    const bool pairs = loader_ == Loader::bf16_dot;
    const std::int64_t units = pairs ? ceil_div(depth, 2) : depth;
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t column = panel * kPanel;
      char* target = out + (panel - begin) * units * kPanel * 4;
      if (source_ != nullptr) {
        source_->fill(panel, k, depth, reinterpret_cast<float*>(target));
        continue;
      }
      const PackArgs args{.source = element(x_.b, p_.b, cell.batch, k, column),
                          .type = p_.b.type,
                          .rows = static_cast<int>(std::min<std::int64_t>(kPanel, p_.n - column)),
                          .row_stride = p_.b.col_stride,
                          .k = depth,
                          .k_stride = p_.b.row_stride,
                          .out = target,
                          .out_rows = kPanel};
      if (pairs) {
        table_.pack_pairs(args);
      } else {
        table_.pack_f32(args);
      }
    }
    return {out, units * kPanel * 4, kPanel * 4, pairs ? loader_ : Loader::f32};
  }

  Panels direct_panels(const Cell& cell, std::int64_t begin, std::int64_t k) const {
    if (p_.b.packed) {
      const int depth = size_bytes(p_.b.type) == 4 ? 1 : 2;
      const std::int64_t units = ceil_div(p_.k, depth);
      return {static_cast<const char*>(x_.b) + (begin * units + k / depth) * kPanel * 4,
              units * kPanel * 4, kPanel * 4, loader_};
    }
    const int size = size_bytes(p_.b.type);
    return {element(x_.b, p_.b, cell.batch, k, begin * kPanel), kPanel * size,
            p_.b.row_stride * size, loader_};
  }

  // Blocks of columns of a cell; body(begin, end, pack).
  template <typename Body>
  void for_each_block(const Cell& cell, Body body) const {
    // In place, only whole panels may be read.
    const bool in_place = setup_.path == Path::direct && !p_.b.packed;
    const std::int64_t whole = in_place ? std::min(cell.panel_end, p_.n / kPanel) : cell.panel_end;
    for (std::int64_t begin = cell.panel_begin; begin < whole; begin += g_.panels_block) {
      body(begin, std::min(whole, begin + g_.panels_block), setup_.path == Path::pack);
    }
    if (whole < cell.panel_end) body(std::max(whole, cell.panel_begin), cell.panel_end, true);
  }

  // All of the cell's K for a block of columns.
  void columns(const Cell& cell, std::int64_t begin, std::int64_t end, const char* a, bool pack,
               char* own, float* tiles) const {
    std::int64_t k = cell.k_begin;
    do {
      const std::int64_t k_end = std::min(cell.k_end, k + g_.depth_block);
      const bool deeper = k_end < cell.k_end;
      const Panels panels =
          pack ? packed_panels(cell, begin, end, k, k_end - k, own) : direct_panels(cell, begin, k);
      const Region next =
          pack ? next_source(cell, deeper ? begin : end, deeper ? k_end : cell.k_begin)
               : next_panels(panels, cell, begin, end, k, k_end);
      micro_tiles(cell, begin, end, a, panels, next, k, k_end, tiles);
      k = k_end;
    } while (k < cell.k_end);
  }

  // What the next block is packed from, where columns of B are contiguous along K. Rows of B are
  // left to the hardware's prefetcher.
  Region next_source(const Cell& cell, std::int64_t panel, std::int64_t k) const {
    if (panel >= cell.panel_end) return {};
    const std::int64_t last = std::min(cell.panel_end, panel + g_.panels_block);
    const std::int64_t depth = std::min(g_.depth_block, cell.k_end - k);
    if (source_ != nullptr) return source_->reads(panel, last, k, depth);
    if (p_.b.row_stride != 1) return {};
    const int size = size_bytes(p_.b.type);
    return {element(x_.b, p_.b, cell.batch, k, panel * kPanel), p_.b.col_stride * size,
            std::min(p_.n, last * kPanel) - panel * kPanel, depth * size};
  }

  // The first packed panels after a block's. In place there are too many short rows.
  Region next_panels(const Panels& panels, const Cell& cell, std::int64_t begin, std::int64_t end,
                     std::int64_t k, std::int64_t k_end) const {
    if (!p_.b.packed) return {};
    const bool deeper = k_end < cell.k_end;
    if (!deeper && end >= cell.panel_end) return {};
    const Panels next = direct_panels(cell, deeper ? begin : end, deeper ? k_end : cell.k_begin);
    const std::int64_t width = std::min<std::int64_t>(setup_.panels, cell.panel_end - begin);
    return {next.address, panels.panel_bytes, width,
            ceil_div(k_end - k, step_depth(panels.loader)) * panels.step_bytes};
  }

  // The part of a region that call `call` of `calls` micro-kernels of so many steps prefetches.
  static Prefetch share(const Region& region, std::int64_t call, std::int64_t calls,
                        std::int64_t steps) {
    const std::int64_t rounds = steps / 4;
    if (region.rows == 0 || rounds == 0) return {};
    const std::int64_t first = part(region.rows, calls, call);
    const std::int64_t streams = part(region.rows, calls, call + 1) - first;
    std::int64_t bytes = region.row_bytes;
    const char* address = region.address + first * region.stride;
    if (region.rows < calls) {
      // Several calls share a row.
      const std::int64_t row = call * region.rows / calls;
      const std::int64_t begin = ceil_div(row * calls, region.rows);
      const std::int64_t end = ceil_div((row + 1) * calls, region.rows);
      bytes = ceil_div(bytes, end - begin);
      address = region.address + row * region.stride + (call - begin) * bytes;
    }
    const std::int64_t advance = ceil_div(bytes, rounds);
    return {address, region.stride, advance, static_cast<int>(std::max<std::int64_t>(streams, 1)),
            static_cast<int>(ceil_div(advance, kLine))};
  }

  // With one row of tiles there is no later call to do it: what this call itself reads next.
  Prefetch further(const Panels& panels, const char* b, std::int64_t width) const {
    if (p_.b.packed) {
      return {b + kFurther, panels.panel_bytes, 4 * panels.step_bytes, static_cast<int>(width),
              static_cast<int>(4 * panels.step_bytes / kLine)};
    }
    const std::int64_t bytes = width * panels.panel_bytes;
    return {b + 4 * bytes, panels.step_bytes, 4 * panels.step_bytes, 4,
            static_cast<int>(ceil_div(bytes, kLine))};
  }

  // A micro-tile of D, and where its accumulators are kept.
  struct Tile {
    std::int64_t row = 0;  // within the block of M
    std::int64_t rows = 0;
    std::int64_t panel = 0;
    std::int64_t panels = 0;
  };

  // Columns outside, so that a micro-panel of B stays in L1 while rows of tiles pass by.
  template <typename Body>
  void for_each_tile(const Cell& cell, std::int64_t begin, std::int64_t end, Body body) const {
    const std::int64_t groups = ceil_div(end - begin, setup_.panels);
    std::int64_t next = begin;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t panel = next;
      next = begin + part(end - begin, groups, group + 1);
      std::int64_t row = tile_row(cell.tile_begin);
      for (std::int64_t tile = cell.tile_begin; tile < cell.tile_end; ++tile) {
        const std::int64_t row_end = tile_row(tile + 1);
        body(Tile{row, row_end - row, panel, next - panel});
        row = row_end;
      }
    }
  }

  void micro_tiles(const Cell& cell, std::int64_t begin, std::int64_t end, const char* a,
                   const Panels& panels, const Region& next, std::int64_t k, std::int64_t k_end,
                   float* tiles) const {
    const auto loader = static_cast<std::size_t>(panels.loader);
    const std::int64_t steps = ceil_div(k_end - k, step_depth(panels.loader));
    const bool last = k_end == cell.k_end && g_.split == 1;
    const bool one_depth = k == cell.k_begin && last;
    const bool direct = setup_.path == Path::direct && panels.loader == loader_;
    const std::int64_t rows_of_tiles = cell.tile_end - cell.tile_begin;
    const std::int64_t calls = ceil_div(end - begin, setup_.panels) * rows_of_tiles;
    std::int64_t call = 0;
    for_each_tile(cell, begin, end, [&](const Tile& tile) {
      PanelArgs args;
      const std::int64_t depth_stride = g_.a_by_rows ? 1 : tile.rows;
      args.a = a + (tile.row * g_.k_padded + k * depth_stride) * g_.a_element;
      args.a_row_bytes = g_.k_padded * g_.a_element;
      args.b = panels.address + (tile.panel - begin) * panels.panel_bytes;
      args.b_panel_bytes = panels.panel_bytes;
      args.b_step_bytes = panels.step_bytes;
      args.steps = steps;
      args.tile = one_depth ? tiles : tiles + tile_offset(begin, tile);
      args.accumulate = k > cell.k_begin;
      if (!direct) {
        args.prefetch = share(next, call, calls, steps);
      } else if (rows_of_tiles == 1) {
        args.prefetch = further(panels, static_cast<const char*>(args.b), tile.panels);
      } else if (p_.b.packed) {
        Region region = next;
        const std::int64_t after = tile.panel + tile.panels;
        if (after < end) {
          region = {panels.address + (after - begin) * panels.panel_bytes, panels.panel_bytes,
                    std::min<std::int64_t>(tile.panels, end - after), steps * panels.step_bytes};
        }
        args.prefetch = share(region, call % rows_of_tiles, rows_of_tiles, steps);
      }
      table_.panel[loader][tile.panels][tile.rows](args);
      if (last) store_tile(cell.batch, tile, args.tile);
      ++call;
    });
  }

  // Tiles follow each other by columns, then rows; a split keeps those of all N.
  std::int64_t tile_offset(std::int64_t begin, const Tile& tile) const {
    const std::int64_t first = g_.split > 1 ? tile.panel : tile.panel - begin;
    return (first * rows_ + tile.row * tile.panels) * kPanel;
  }

  void store_tile(std::int64_t batch, const Tile& tile, const float* sums) const {
    const std::int64_t columns = tile.panels * kPanel;
    store(batch, tile.row, tile.rows, tile.panel * kPanel, columns, sums, columns);
  }

  void store(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
             std::int64_t columns, const float* tile, std::int64_t tile_stride) const {
    store_sums(table_, p_, x_,
               {.batch = batch,
                .row = row_begin_ + row,
                .rows = rows,
                .column = column,
                .columns = columns,
                .sums = tile,
                .stride = tile_stride,
                .row_scales = row_scales_});
  }

  void dot_cell(const Cell& cell, const char* a, float* tiles) const {
    for_each_strip(cell, [&](std::int64_t column, std::int64_t columns) {
      // Partial sums of a split are kept for all columns.
      float* sums = g_.split > 1 ? tiles + column * rows_ : tiles;
      dot_strip(cell, a, column, columns, sums);
      if (g_.split == 1) store_strip(cell, column, columns, sums);
    });
  }

  // Strips of columns of a cell, stored at once: [row of the block][column].
  template <typename Body>
  void for_each_strip(const Cell& cell, Body body) const {
    const std::int64_t last = std::min(p_.n, cell.panel_end * kPanel);
    const int widest = table_.dot_columns[static_cast<std::size_t>(loader_)][setup_.rows];
    const std::int64_t strip = kStoreColumns / widest * widest;
    for (std::int64_t column = cell.panel_begin * kPanel; column < last; column += strip) {
      body(column, std::min(strip, last - column));
    }
  }

  void store_strip(const Cell& cell, std::int64_t column, std::int64_t columns,
                   const float* sums) const {
    const std::int64_t row = tile_row(cell.tile_begin);
    store(cell.batch, row, tile_row(cell.tile_end) - row, column, columns, sums + row * columns,
          columns);
  }

  void dot_strip(const Cell& cell, const char* a, std::int64_t column, std::int64_t columns,
                 float* sums) const {
    const auto& kernels_of = table_.dot[static_cast<std::size_t>(loader_)];
    const int widest = table_.dot_columns[static_cast<std::size_t>(loader_)][setup_.rows];
    const std::int64_t rows_of_tiles = cell.tile_end - cell.tile_begin;
    const std::int64_t column_bytes = (cell.k_end - cell.k_begin) * size_bytes(p_.b.type);
    DotArgs args;
    args.a_row_bytes = g_.k_padded * g_.a_element;
    args.b_column_bytes = p_.b.col_stride * size_bytes(p_.b.type);
    args.k = cell.k_end - cell.k_begin;
    args.tile_stride = columns;
    for (std::int64_t done = 0; done < columns;) {
      const int width = columns - done >= widest ? widest : 1;
      args.b = element(x_.b, p_.b, cell.batch, cell.k_begin, column + done);
      const char* here = static_cast<const char*>(args.b);
      const std::int64_t after = column + done + width;
      const char* next =
          after < p_.n ? element(x_.b, p_.b, cell.batch, cell.k_begin, after) : nullptr;
      for (std::int64_t tile = cell.tile_begin; tile < cell.tile_end; ++tile) {
        const std::int64_t row = tile_row(tile);
        const std::int64_t rows = tile_row(tile + 1) - row;
        args.a = a + (row * g_.k_padded + cell.k_begin) * g_.a_element;
        args.tile = sums + row * columns + done;
        if (rows_of_tiles == 1 || next == nullptr) {
          args.ahead = here + kDotAhead;
          args.ahead_parts = 1;
          args.next = next;
        } else {
          // Every pass over these columns fetches a part of the next ones.
          args.ahead = next + part(column_bytes, rows_of_tiles, tile - cell.tile_begin);
          args.ahead_parts = static_cast<int>(rows_of_tiles);
          args.next = nullptr;
        }
        dot_tile(kernels_of[rows], args, width);
      }
      done += width;
    }
  }

  static void dot_tile(const DotKernel (&kernels_of)[kMaxDotColumns + 1], DotArgs args, int width) {
    if (kernels_of[width] != nullptr) return kernels_of[width](args);
    for (int column = 0; column < width; ++column) {
      kernels_of[1](args);
      args.b = static_cast<const char*>(args.b) + args.b_column_bytes;
      ++args.tile;
    }
  }

  // Adds the partial sums of a cell, in the order of K, and stores them.
  void add_splits(const Cell& cell) const {
    const auto add = [&](std::int64_t offset, std::int64_t count) {
      float* sums = partial_sums_ + offset;
      for (std::int64_t split = 1; split < g_.split; ++split) {
        const float* more = sums + split * split_elements();
        for (std::int64_t i = 0; i < count; ++i) sums[i] += more[i];
      }
      return sums;
    };
    if (setup_.path == Path::dot) {
      for_each_strip(cell, [&](std::int64_t column, std::int64_t columns) {
        const std::int64_t row = tile_row(cell.tile_begin);
        const std::int64_t rows = tile_row(cell.tile_end) - row;
        add(column * rows_ + row * columns, rows * columns);
        store_strip(cell, column, columns, partial_sums_ + column * rows_);
      });
      return;
    }
    for_each_block(cell, [&](std::int64_t begin, std::int64_t end, bool) {
      for_each_tile(cell, begin, end, [&](const Tile& tile) {
        const std::int64_t count = tile.rows * tile.panels * kPanel;
        store_tile(cell.batch, tile, add(tile_offset(begin, tile), count));
      });
    });
  }

  const Setup& setup_;
  const Loader loader_;
  const KernelTable& table_;
  const PanelSource* source_;
  const float* row_scales_;
  const Problem& p_;
  const Operands& x_;
  const Geometry g_;
  char* packed_a_;
  char* privates_;
  float* partial_sums_;
  std::int64_t row_begin_ = 0;  // of the block of M in progress
  std::int64_t rows_ = 0;
  std::int64_t tiles_ = 0;
};

class PackedKernel final : public Kernel {
 public:
  PackedKernel(const Setup& setup, Loader loader)
      : setup_(setup), loader_(loader), table_(*kernels(setup.isa)) {
    cpu::ThreadPool::global().reserve(setup.threads);
  }

  bool serves(const Problem& problem) const override {
    return loader_of(setup_.isa, setup_.path, problem) == loader_ &&
           (setup_.split_k == 1 || problem.batch == 1);
  }
  std::size_t workspace_bytes(const Problem& problem) const override {
    return Geometry(setup_, loader_, problem).workspace_bytes();
  }
  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream) const override {
    Run(setup_, loader_, table_, problem, operands, workspace).all();
  }

 private:
  const Setup setup_;
  const Loader loader_;
  const KernelTable& table_;
};

}  // namespace

std::shared_ptr<const Kernel> make_kernel(const Setup& setup, Loader loader) {
  return std::make_shared<PackedKernel>(setup, loader);
}

void store_sums(const KernelTable& table, const Problem& p, const Operands& x, const Sums& sums) {
  StoreArgs args;
  if (sums.row_scales != nullptr) args.row_scales = sums.row_scales + sums.batch * p.m + sums.row;
  args.tile = sums.sums;
  args.tile_stride = sums.stride;
  args.rows = static_cast<int>(sums.rows);
  args.columns = static_cast<int>(std::min(sums.columns, p.n - sums.column));
  args.alpha = p.alpha;
  args.beta = p.beta;
  args.d_type = p.d.type;
  args.d = const_cast<char*>(element(x.d, p.d, sums.batch, sums.row, sums.column));
  args.d_row_stride = p.d.row_stride;
  args.d_column_stride = p.d.col_stride;
  if (p.c && p.beta != 0) {
    args.c_type = p.c->type;
    args.c = element(x.c, *p.c, sums.batch, sums.row, sums.column);
    args.c_row_stride = p.c->row_stride;
    args.c_column_stride = p.c->col_stride;
  }
  args.bias_type = p.bias_type;
  const auto* bias = static_cast<const char*>(x.bias);
  if (p.bias == Bias::per_row) args.row_bias = bias + sums.row * size_bytes(p.bias_type);
  if (p.bias == Bias::per_column) {
    args.column_bias = bias + sums.column * size_bytes(p.bias_type);
  }
  table.store(args);
}

std::size_t workspace_bytes(const Setup& setup, const Problem& problem) {
  return Geometry(setup, Loader::f32, problem).workspace_bytes();
}

void multiply(const Setup& setup, const Problem& problem, const Operands& operands,
              const PanelSource& source, const float* row_scales, void* workspace) {
  Run(setup, Loader::f32, *kernels(setup.isa), problem, operands, workspace, &source, row_scales)
      .all();
}

}  // namespace gemwright::cpu_packed
