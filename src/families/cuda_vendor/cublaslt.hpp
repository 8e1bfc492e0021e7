// cuBLASLt, opened at run time.
#pragma once

#include <gemwright/errors.hpp>

#include <string>

#include <cublasLt.h>

namespace gemwright::cuda_vendor {

/// What is used of the library; one instance for the process.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusName) status_name = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) desc_init = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) layout_init = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) preference_init = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoInit) algo_init = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) algo_check = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get = nullptr;
  decltype(&cublasLtMatmulAlgoConfigSetAttribute) algo_set = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
};

/// Null when it is not there; `why` (may be null) then gets the reason.
const CublasLt* find_cublaslt(std::string* why = nullptr);

/// The library's handle for a device, made on first use in the device's primary context and kept
/// for the process's life. Throws DeviceError.
cublasLtHandle_t handle(int ordinal);

/// Throws DeviceError, "<what>: CUBLAS_STATUS_...", unless the call succeeded.
void check(cublasStatus_t status, const char* what);

}  // namespace gemwright::cuda_vendor
