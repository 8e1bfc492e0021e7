#include "families/cuda_common/operand_map.hpp"

#include <algorithm>

namespace gemwright::cuda_layout {

cuda::TensorMapShape operand_map(const Operand& x, const Plane& plane, std::int64_t batch,
                                 int ordinal) {
  const auto stride_bytes = [&](std::int64_t stride, bool used) {
    return static_cast<std::uint64_t>(used ? stride * size_bytes(x.type) : 16);
  };
  const auto extent = [](std::int64_t size) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
  };
  const bool batched = batch > 1 && x.batch_stride != 0;
  return {.ordinal = ordinal,
          .rank = 3,
          .type = x.type,
          .size = {extent(plane.inner), extent(plane.outer), batched ? extent(batch) : 1},
          .stride_bytes = {0, stride_bytes(plane.outer_stride, plane.outer > 1),
                           stride_bytes(x.batch_stride, batched)},
          .box = {static_cast<std::uint32_t>(plane.box_inner),
                  static_cast<std::uint32_t>(plane.box_outer), 1}};
}

}  // namespace gemwright::cuda_layout
