// Groups along K as GPTQ, AWQ and compressed-tensors leave them to be found out.
#pragma once

#include "formats/import/import.hpp"

namespace gemwright::formats {

/// Sets grouping and group so that K columns make `groups` groups: of options.group columns, else
/// of the power of two that fits, else one a row. Throws InvalidArgument naming `place`.
void set_groups(WeightFormat& format, std::int64_t k, std::int64_t groups,
                const ImportOptions& options, const std::string& place);

/// Brings codes [N][K] into the order in which g_idx rises, and keeps that order, unless it is
/// that of the columns already. Throws InvalidArgument where groups are not of one size.
void apply_order(CodedWeight& weight, const RawTensor& g_idx);

/// Drops integer zero points that are all 2^(bits-1).
void simplify_zeros(CodedWeight& weight);

}  // namespace gemwright::formats
