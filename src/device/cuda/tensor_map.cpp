#include "device/cuda/driver.hpp"
#include "device/cuda/launch.hpp"

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

CUtensorMapDataType element_type(const TensorMapShape& shape) {
  switch (shape.type) {
    case DataType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
      return shape.tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

CUtensorMapSwizzle swizzle(int bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

CUtensorMapL2promotion promotion(int bytes) {
  switch (bytes) {
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

}  // namespace

void encode(TensorMap& map, const TensorMapShape& shape, const void* base) {
  static const Driver& api = driver();
  constexpr std::array<cuuint32_t, 5> kElementStrides{1, 1, 1, 1, 1};
  const auto attempt = [&] {
    return api.tensor_map_encode_tiled(
        reinterpret_cast<CUtensorMap*>(map.bytes.data()), element_type(shape),
        static_cast<cuuint32_t>(shape.rank), const_cast<void*>(base), shape.size.data(),
        shape.stride_bytes.data() + 1, shape.box.data(), kElementStrides.data(),
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle(shape.swizzle_bytes),
        promotion(shape.l2_promotion_bytes), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CUresult result = attempt();
  if (result == CUDA_ERROR_INVALID_CONTEXT) {
    // The driver wants some current context, which a thread that only launches on created streams
    // may not have.
    const CurrentContext current(shape.ordinal);
    result = attempt();
  }
  if (result != CUDA_SUCCESS) {
    check(result,
          fmt::format("cuTensorMapEncodeTiled of {} (rank {}, size {}x{}, stride {} bytes, box "
                      "{}x{}, swizzle {})",
                      base, shape.rank, shape.size[0], shape.size[1], shape.stride_bytes[1],
                      shape.box[0], shape.box[1], shape.swizzle_bytes)
              .c_str());
  }
}

}  // namespace gemwright::cuda
