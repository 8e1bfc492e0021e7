#include "families/cuda_vendor/matmul.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace gemwright::cuda_vendor {
namespace {

const CublasLt& lt() {
  static const CublasLt& functions = *find_cublaslt();
  return functions;
}

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return CUDA_R_16F;
    case DataType::bf16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// The casts that the library's own types ask for.
auto* as_desc(const Opaque& opaque) {
  return reinterpret_cast<cublasLtMatmulDesc_t>(const_cast<std::uint64_t*>(opaque.data()));
}
auto* as_layout(const Opaque& opaque) {
  return reinterpret_cast<cublasLtMatrixLayout_t>(const_cast<std::uint64_t*>(opaque.data()));
}
auto* as_preference(const Opaque& opaque) {
  return reinterpret_cast<cublasLtMatmulPreference_t>(const_cast<std::uint64_t*>(opaque.data()));
}

template <typename T>
void set(const Opaque& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(lt().desc_set(as_desc(desc), attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void set(const Opaque& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  check(lt().preference_set(as_preference(preference), attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

std::optional<std::string> refuse_operand(const char* name, const Operand& operand,
                                          std::int64_t rows, std::int64_t cols) {
  if (operand.packed) return fmt::format("{} is packed, which cuBLASLt does not read", name);
  if (layout_of(operand, rows, cols)) return std::nullopt;
  return fmt::format(
      "cuBLASLt needs {} contiguous along a row or a column and without overlap; its strides are "
      "{} and {}. A contiguous copy would be taken",
      name, operand.row_stride, operand.col_stride);
}

std::optional<std::string> refuse_types(const Problem& p) {
  if (p.a.type != p.b.type) {
    return fmt::format("cuBLASLt takes A and B of one type, not {} and {}", name(p.a.type),
                       name(p.b.type));
  }
  if (p.d.type != p.a.type && p.d.type != DataType::f32) {
    return fmt::format("cuBLASLt writes {} or f32 from {} inputs, not {}", name(p.a.type),
                       name(p.a.type), name(p.d.type));
  }
  if (p.c && p.beta != 0 && p.c->type != p.d.type) {
    return fmt::format("cuBLASLt takes C of D's type ({}), not {}", name(p.d.type),
                       name(p.c->type));
  }
  if (p.bias == Bias::per_row) return "cuBLASLt adds a bias by column of D, not by row";
  if (p.bias != Bias::none && p.bias_type != p.d.type) {
    return fmt::format("cuBLASLt takes a bias of D's type ({}), not {}", name(p.d.type),
                       name(p.bias_type));
  }
  return std::nullopt;
}

bool reads_c(const Problem& problem) {
  return problem.c && problem.beta != 0;
}

}  // namespace

std::optional<Layout> layout_of(const Operand& operand, std::int64_t rows, std::int64_t cols) {
  if (operand.col_stride == 1 && operand.row_stride >= cols) {
    return Layout{.transposed = false, .rows = cols, .cols = rows, .ld = operand.row_stride};
  }
  if (operand.row_stride == 1 && operand.col_stride >= rows) {
    return Layout{.transposed = true, .rows = rows, .cols = cols, .ld = operand.col_stride};
  }
  return std::nullopt;
}

std::optional<std::string> refuse(const Problem& p) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (p.k == 0) return "cuBLASLt does not take K = 0";
  if (std::max({p.m, p.n, p.k, p.batch}) > kMost) {
    return fmt::format("cuBLASLt takes sizes up to {}", kMost);
  }
  if (auto why = refuse_types(p)) return why;
  if (auto why = refuse_operand("A", p.a, p.m, p.k)) return why;
  if (auto why = refuse_operand("B", p.b, p.k, p.n)) return why;
  const auto row_major = [](const Operand& operand, std::int64_t rows, std::int64_t cols) {
    const auto layout = layout_of(operand, rows, cols);
    return layout && !layout->transposed;
  };
  if (!row_major(p.d, p.m, p.n)) return "cuBLASLt writes D with contiguous rows only";
  if (reads_c(p) && !row_major(*p.c, p.m, p.n)) {
    return "cuBLASLt reads C with contiguous rows that do not overlap only";
  }
  return std::nullopt;
}

Matmul::Matmul(const Problem& problem, std::uintptr_t bias_alignment)
    : problem_(problem),
      compute_type_(problem.a.type == DataType::f32 && problem.allow_tf32
                        ? CUBLAS_COMPUTE_32F_FAST_TF32
                        : CUBLAS_COMPUTE_32F),
      input_type_(cuda_type(problem.a.type)),
      output_type_(cuda_type(problem.d.type)) {
  check(lt().desc_init(as_desc(desc_), sizeof(desc_), compute_type_, CUDA_R_32F),
        "cublasLtMatmulDescInit");
  const auto operation = [](const Operand& operand, std::int64_t rows, std::int64_t cols) {
    return layout_of(operand, rows, cols)->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, operation(problem.b, problem.k, problem.n));
  set(desc_, CUBLASLT_MATMUL_DESC_TRANSB, operation(problem.a, problem.m, problem.k));
  if (problem.bias != Bias::none) {
    set(desc_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    // Stands for the pointers of the runs.
    set(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(bias_alignment));
  }
  set_layout(a_, problem.a, problem.m, problem.k);
  set_layout(b_, problem.b, problem.k, problem.n);
  set_layout(d_, problem.d, problem.m, problem.n);
  set_layout(c_, reads_c(problem) ? *problem.c : problem.d, problem.m, problem.n);
}

void Matmul::set_layout(Opaque& to, const Operand& operand, std::int64_t rows,
                        std::int64_t cols) const {
  const Layout layout = *layout_of(operand, rows, cols);
  check(lt().layout_init(as_layout(to), sizeof(to), cuda_type(operand.type),
                         static_cast<std::uint64_t>(layout.rows),
                         static_cast<std::uint64_t>(layout.cols), layout.ld),
        "cublasLtMatrixLayoutInit");
  if (problem_.batch == 1) return;
  const auto set_attribute = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    check(lt().layout_set(as_layout(to), attribute, &value, sizeof(value)),
          "cublasLtMatrixLayoutSetAttribute");
  };
  set_attribute(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(problem_.batch));
  set_attribute(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.batch_stride);
}

std::vector<cublasLtMatmulHeuristicResult_t> Matmul::heuristics(cublasLtHandle_t handle,
                                                                int count) const {
  Opaque preference;
  check(lt().preference_init(as_preference(preference), sizeof(preference)),
        "cublasLtMatmulPreferenceInit");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_MASK &
                                 ~CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  const auto alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                             const Operand& operand) {
    set(preference, attribute, static_cast<std::uint32_t>(operand.alignment));
  };
  alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem_.b);
  alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem_.a);
  alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            reads_c(problem_) ? *problem_.c : problem_.d);
  alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem_.d);

  std::vector<cublasLtMatmulHeuristicResult_t> results(count);
  int found = 0;
  const auto status =
      lt().heuristic(handle, as_desc(desc_), as_layout(b_), as_layout(a_), as_layout(c_),
                     as_layout(d_), as_preference(preference), count, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) found = 0;
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
  results.resize(found);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

std::optional<std::size_t> Matmul::workspace_bytes(cublasLtHandle_t handle,
                                                   const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  if (lt().algo_check(handle, as_desc(desc_), as_layout(b_), as_layout(a_), as_layout(c_),
                      as_layout(d_), &algorithm, &result) != CUBLAS_STATUS_SUCCESS) {
    return std::nullopt;
  }
  return result.workspaceSize;
}

void Matmul::run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                 const Operands& operands, void* workspace, std::size_t workspace_bytes,
                 Stream stream) const {
  const Opaque* desc = &desc_;
  Opaque with_bias;
  if (problem_.bias != Bias::none) {
    with_bias = desc_;
    set(with_bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
    desc = &with_bias;
  }
  const float beta = reads_c(problem_) ? problem_.beta : 0.0F;
  check(lt().matmul(handle, as_desc(*desc), &problem_.alpha, operands.b, as_layout(b_), operands.a,
                    as_layout(a_), &beta, reads_c(problem_) ? operands.c : operands.d,
                    as_layout(c_), operands.d, as_layout(d_), &algorithm, workspace,
                    workspace_bytes, static_cast<cudaStream_t>(stream.handle)),
        "cublasLtMatmul");
}

}  // namespace gemwright::cuda_vendor
