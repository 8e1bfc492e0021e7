#include "families/family.hpp"

#include <array>

namespace gemwright::families {

// One line a family, each defined in its own folder.
const Family& cpu_lowbit();
const Family& cpu_packed();
const Family& cpu_reference();
#ifdef GEMWRIGHT_ONEDNN
const Family& cpu_vendor();
#endif
#ifdef GEMWRIGHT_CUDA
const Family& cuda_hopper();
const Family& cuda_lowbit();
const Family& cuda_lowbit_a8();
const Family& cuda_lowbit_decoded();
const Family& cuda_lowbit_decoded_mma();
const Family& cuda_lowbit_mma();
const Family& cuda_lowbit_rounded();
const Family& cuda_lowbit_simt();
const Family& cuda_lowbit_wide();
const Family& cuda_mma();
const Family& cuda_simt();
const Family& cuda_stream();
const Family& cuda_vendor();
#endif

std::span<const Family* const> all() {
  static const std::array families = {
      &cpu_lowbit(),
      &cpu_packed(),
      &cpu_reference(),
#ifdef GEMWRIGHT_ONEDNN
      &cpu_vendor(),
#endif
#ifdef GEMWRIGHT_CUDA
      &cuda_hopper(),
      &cuda_lowbit(),
      &cuda_lowbit_a8(),
      &cuda_lowbit_decoded(),
      &cuda_lowbit_decoded_mma(),
      &cuda_lowbit_mma(),
      &cuda_lowbit_rounded(),
      &cuda_lowbit_simt(),
      &cuda_lowbit_wide(),
      &cuda_mma(),
      &cuda_simt(),
      &cuda_stream(),
      &cuda_vendor(),
#endif
  };
  return families;
}

const Family* find(std::string_view name) {
  for (const Family* family : all()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

}  // namespace gemwright::families
