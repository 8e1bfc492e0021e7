// Weights as other programs store them, into coded weights: codes, scales and zero points are taken
// bit by bit. docs/formats.md defines each. All throw InvalidArgument naming the tensor at fault.
#pragma once

#include "formats/import/raw_tensor.hpp"
#include <gemwright/weights.hpp>

namespace gemwright::formats {

/// What tensors alone do not say.
struct ImportOptions {
  /// Bits of a code; 0: as the shapes say, else 4.
  int bits = 0;
  /// Columns of a group; 0: as the shapes say.
  int group = 0;
  /// FLUTE's tileP of the template that packed the weight: 32 or 64.
  int flute_tile = 0;
};

/// weight, weight.absmax, weight.quant_map, weight.quant_state.bitsandbytes__nf4 (or fp4), and
/// weight.nested_absmax, weight.nested_quant_map of double quantisation, whose scales become fp32.
CodedWeight import_bitsandbytes(const Parts& parts);

/// qweight, qzeros, scales, g_idx; version 1 stores zero points less one.
CodedWeight import_gptq(const Parts& parts, const ImportOptions& options, bool version_2);

/// qweight, qzeros, scales.
CodedWeight import_awq(const Parts& parts);

/// weight_packed, weight_scale, weight_shape, weight_zero_point, weight_g_idx (pack-quantized).
CodedWeight import_pack_quantized(const Parts& parts, const ImportOptions& options);

/// weight (I8 or F8_E4M3) and weight_scale: of the tensor, of rows or of groups.
CodedWeight import_scaled_bytes(const Parts& parts);

/// weight (F8_E4M3) and weight_scale_inv: squares of 128 by 128 (DeepSeek).
CodedWeight import_square_blocks(const Parts& parts);

/// W_q, scale, zero, shape; groups along axis 1.
CodedWeight import_hqq(const Parts& parts, const ImportOptions& options);

/// blocks [N, K/32, 16] and scales [N, K/32], of one expert (gpt-oss).
CodedWeight import_mxfp4(const Parts& parts);

/// weight, weight_scale, weight_scale_2 (ModelOpt), or weight_packed, weight_scale,
/// weight_global_scale, which divides (compressed-tensors; its reciprocal is rounded to fp32, as
/// serving programs do).
CodedWeight import_nvfp4(const Parts& parts);

/// weight (I16), scales, tables.
CodedWeight import_flute(const Parts& parts, const ImportOptions& options);

}  // namespace gemwright::formats
