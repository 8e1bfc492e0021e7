#include "families/cuda_vendor/cublaslt.hpp"

#include "device/cuda/driver.hpp"
#include "files/shared_library.hpp"

#include <array>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace gemwright::cuda_vendor {
namespace {

struct Opened {
  CublasLt functions;
  std::string error;
};

Opened open() {
  constexpr std::array names{"libcublasLt.so.13", "libcublasLt.so.12"};
  Opened opened;
  const auto library = files::open_library("GEMWRIGHT_LIBCUBLASLT", names, "cublas");
  if (!library) {
    opened.error = fmt::format(
        "cuBLASLt is not there: {}. Install the CUDA toolkit (12 or 13) or the pip package "
        "nvidia-cublas to have it among the candidates",
        library.error);
    return opened;
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library.symbol(name));
    if (function == nullptr && opened.error.empty()) {
      opened.error =
          fmt::format("{} lacks {}: it is not the cuBLASLt of CUDA 12 or 13", library.path, name);
    }
  };
  auto& f = opened.functions;
  find("cublasLtCreate", f.create);
  find("cublasLtGetStatusName", f.status_name);
  find("cublasLtMatmulDescInit_internal", f.desc_init);
  find("cublasLtMatmulDescSetAttribute", f.desc_set);
  find("cublasLtMatrixLayoutInit_internal", f.layout_init);
  find("cublasLtMatrixLayoutSetAttribute", f.layout_set);
  find("cublasLtMatmulPreferenceInit_internal", f.preference_init);
  find("cublasLtMatmulPreferenceSetAttribute", f.preference_set);
  find("cublasLtMatmulAlgoGetHeuristic", f.heuristic);
  find("cublasLtMatmulAlgoInit", f.algo_init);
  find("cublasLtMatmulAlgoCheck", f.algo_check);
  find("cublasLtMatmulAlgoConfigGetAttribute", f.algo_get);
  find("cublasLtMatmulAlgoConfigSetAttribute", f.algo_set);
  find("cublasLtMatmul", f.matmul);
  return opened;
}

const Opened& library() {
  static const Opened opened = open();
  return opened;
}

}  // namespace

const CublasLt* find_cublaslt(std::string* why) {
  if (library().error.empty()) return &library().functions;
  if (why != nullptr) *why = library().error;
  return nullptr;
}

cublasLtHandle_t handle(int ordinal) {
  static std::mutex mutex;
  static auto& handles = *new std::map<int, cublasLtHandle_t>;
  const CublasLt* lt = find_cublaslt();
  if (lt == nullptr) throw DeviceError(library().error);
  const std::lock_guard lock(mutex);
  auto& made = handles[ordinal];
  if (made == nullptr) {
    const cuda::CurrentContext current(ordinal);
    check(lt->create(&made), "cublasLtCreate");
  }
  return made;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("{}: {}", what, library().functions.status_name(status)));
}

}  // namespace gemwright::cuda_vendor
