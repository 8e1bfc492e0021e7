#include "families/cuda_common/hopper_output.hpp"

#include "families/cuda_common/operand_map.hpp"

namespace gemwright {

unsigned long long copy_policy(int readers) {
  constexpr unsigned long long kEvictFirst = 0x12F0000000000000ULL;
  return readers <= 2 ? kEvictFirst : kEvictNormal;
}

int chunk_columns(DataType type, int width, bool exact) {
  int columns = type == DataType::f32 ? 32 : 64;
  while (columns > width || (exact && width % columns != 0)) columns /= 2;
  return columns;
}

bool stores_transposed(const Problem& p) {
  return p.d.col_stride == 1 && p.d.alignment % 16 == 0 &&
         (p.m <= 1 || (p.d.row_stride > 0 && p.d.row_stride * size_bytes(p.d.type) % 16 == 0));
}

void encode_transposed(cuda::TensorMap& map, const Problem& p, int columns, int ordinal,
                       const void* d) {
  const int line = 128 / size_bytes(p.d.type);
  cuda::encode(
      map, cuda_layout::operand_map(p.d, {p.n, p.m, p.d.row_stride, line, columns}, 1, ordinal), d);
}

}  // namespace gemwright
