// Rounds activations to codes that are kept as bf16 numbers, for kernels that multiply those
// (src/families/cuda_lowbit/cuda_lowbit_rounded.cpp). Needs sm_90.
#include "quantise_rows.cuh"
