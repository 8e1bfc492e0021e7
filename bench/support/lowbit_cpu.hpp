// Low-bit weights on a CPU beside dense products of the same shape.
#pragma once

#include "support/report.hpp"
#include "support/shapes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gemwright::bench {

struct LowBitCpuArguments {
  std::vector<Shape> shapes;
  std::vector<std::int64_t> m;
  std::vector<std::string> formats;
  Activations activations = Activations::as_given;  ///< of the own low-bit kernels
  int own = 5;  ///< own configurations of each kind, the best predicted
  double seconds = 120;
};

/// A row for every shape, M and format: own low-bit kernels ("own"), own dense bf16 ("own_bf16"),
/// oneDNN in bf16 and fp32 ("onednn_bf16", "onednn_f32"), OpenBLAS in fp32, all with cold weights;
/// "read" is a plain read of the packed weight's bytes at the rate of that moment, and "floor" the
/// later of it and the arithmetic.
void measure_lowbit_cpu(const LowBitCpuArguments& arguments, const Device& device, Report& report);

}  // namespace gemwright::bench
