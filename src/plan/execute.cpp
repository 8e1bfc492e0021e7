#include "plan/execute.hpp"

#include "plan/pack.hpp"
#include "problem/extent.hpp"
#include <gemwright/errors.hpp>

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace gemwright {
namespace {

void check_pointer(const char* name, const void* pointer, std::int64_t alignment) {
  if (pointer == nullptr) {
    throw InvalidArgument(std::string("operands.") + name, "null", "a pointer to the operand");
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(alignment) != 0) {
    throw InvalidArgument(
        std::string("operands.") + name, fmt::format("{}", fmt::ptr(pointer)),
        fmt::format("a multiple of {} bytes, as the problem promises", alignment));
  }
}

struct Extent {
  std::intptr_t begin;
  std::intptr_t end;
  // Bytes between lines, rows or columns of adjacent elements; 0 when the operand is neither.
  std::int64_t pitch;
  std::int64_t width;  // bytes of a line
};

Extent extent(const void* pointer, Operand operand, std::int64_t rows, std::int64_t cols,
              std::int64_t batch) {
  const std::int64_t size = size_bytes(operand.type);
  const auto begin = reinterpret_cast<std::intptr_t>(pointer);
  Extent extent{.begin = begin,
                .end = begin + span_elements(operand, rows, cols, batch) * size,
                .pitch = 0,
                .width = 0};
  normalise_strides(operand, rows, cols, batch);
  const bool by_rows = operand.col_stride == 1;
  if (!by_rows && operand.row_stride != 1) return extent;
  extent.pitch = (by_rows ? operand.row_stride : operand.col_stride) * size;
  extent.width = (by_rows ? cols : rows) * size;
  const std::int64_t step = operand.batch_stride * size;
  if (batch > 1 && (by_rows ? rows : cols) <= 1) {
    extent.pitch = step;
  } else if (extent.pitch > 0 && step % extent.pitch != 0) {
    extent.width += (batch - 1) * step;  // entries side by side, such as heads: one wide line
  }
  return extent;
}

// Slices of one buffer interleave without sharing an element.
bool interleaved(const Extent& a, const Extent& b) {
  if (a.pitch == 0 || a.pitch != b.pitch || a.width + b.width > a.pitch) return false;
  const std::int64_t shift = ((b.begin - a.begin) % a.pitch + a.pitch) % a.pitch;
  return shift >= a.width && shift + b.width <= a.pitch;
}

void check_apart(const char* name, const Extent& input, const Extent& output) {
  const bool apart = input.end <= output.begin || output.end <= input.begin;
  if (apart || interleaved(input, output)) return;
  throw InvalidArgument("operands.d", std::string("memory that overlaps ") + name,
                        "memory of its own (only C may be D, in the same type and strides)");
}

Extent weight_extent(const Problem& p, const void* pointer) {
  if (!p.b.packed) return extent(pointer, p.b, p.k, p.n, p.batch);
  const auto begin = reinterpret_cast<std::intptr_t>(pointer);
  return {.begin = begin,
          .end = begin + static_cast<std::intptr_t>(packed_bytes(p)),
          .pitch = 0,
          .width = 0};
}

Extent bias_extent(const Problem& p, const void* pointer) {
  const Operand vector{.type = p.bias_type, .row_stride = 0, .col_stride = 1};
  return extent(pointer, vector, 1, p.bias == Bias::per_row ? p.m : p.n, 1);
}

// Each element of C lies where the element of D does that it is added to.
bool same_places(const Problem& p, const Operands& operands) {
  const auto same = [](std::int64_t size, std::int64_t c_stride, std::int64_t d_stride) {
    return size == 1 || c_stride == d_stride;
  };
  return operands.c == operands.d && p.c->type == p.d.type &&
         same(p.m, p.c->row_stride, p.d.row_stride) && same(p.n, p.c->col_stride, p.d.col_stride) &&
         same(p.batch, p.c->batch_stride, p.d.batch_stride);
}

void check_absent(const char* name, const void* pointer) {
  if (pointer == nullptr) return;
  throw InvalidArgument(std::string("operands.") + name, "a pointer",
                        fmt::format("null: the problem has no {}", name));
}

void check_operands(const Problem& p, const Operands& operands) {
  check_pointer("d", operands.d, p.d.alignment);
  const Extent d = extent(operands.d, p.d, p.m, p.n, p.batch);
  if (p.k > 0) {
    check_pointer("a", operands.a, p.a.alignment);
    check_pointer("b", operands.b, p.b.packed ? 64 : p.b.alignment);
    check_apart("A", extent(operands.a, p.a, p.m, p.k, p.batch), d);
    check_apart("B", weight_extent(p, operands.b), d);
  }
  if (!p.c) check_absent("c", operands.c);
  if (p.c && p.beta != 0) {
    check_pointer("c", operands.c, p.c->alignment);
    if (!same_places(p, operands)) {
      check_apart("C", extent(operands.c, *p.c, p.m, p.n, p.batch), d);
    }
  }
  if (p.bias == Bias::none) {
    check_absent("bias", operands.bias);
  } else {
    check_pointer("bias", operands.bias, size_bytes(p.bias_type));
    check_apart("bias", bias_extent(p, operands.bias), d);
  }
}

// Takes a workspace from the pool for the length of a run.
class Lease {
 public:
  Lease(WorkspacePool& pool, Stream stream) : pool_(pool), data_(pool.take(stream)) {}
  ~Lease() { pool_.give_back(data_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  void* data() const { return data_; }

 private:
  WorkspacePool& pool_;
  void* data_;
};

void check_workspace(const Workspace& workspace, std::size_t needed) {
  if (workspace.bytes < needed) {
    throw InvalidArgument("workspace.bytes", std::to_string(workspace.bytes),
                          fmt::format("{} or more (Plan::workspace_bytes)", needed));
  }
  check_pointer("workspace", workspace.data, 256);
}

}  // namespace

void execute(const Problem& given, const Canonical& form, const Kernel& kernel,
             const Operands& operands, Stream stream, Workspace workspace, WorkspacePool& pool) {
  if (has_empty_result(given)) return;
  if (!pool.device().present()) {
    throw DeviceError("nothing can run on " + pool.device().name() + ": it is only described here");
  }
  check_operands(given, operands);
  const Operands mapped = form.swapped ? operands.transposed() : operands;
  if (workspace.data != nullptr) {
    check_workspace(workspace, kernel.workspace_bytes(form.problem));
    kernel.run(form.problem, mapped, workspace.data, stream);
    return;
  }
  if (pool.bytes() < kernel.workspace_bytes(form.problem)) {
    throw DeviceError("the plan's workspace is too small for " + key(form.problem));
  }
  const Lease lease(pool, stream);
  kernel.run(form.problem, mapped, lease.data(), stream);
}

}  // namespace gemwright
