// Problem lists written by hand or by other programs: CSV or JSON.
#pragma once

#include "lists/entry.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gemwright::lists {

/// CSV with a header line, or a JSON array of objects with the same names:
///   m, n, k    sizes; m may be left out, the options' then apply
///   dtype      the options', else bf16
///   batch      1
///   layout     linear (weight W[N,K], the default) or mm (B[K,N])
///   bias       none (the default), row or column
///   problem    a problem's key, instead of all of the above
///   model, role, count
/// A mark of UTF-8 in front is passed over. An item of a JSON array may be a key alone. Throws
/// InvalidArgument with the line (CSV) or item (JSON) and the column, and for options that no row
/// would read.
std::vector<Entry> from_table(std::string_view text, const Options& options);

}  // namespace gemwright::lists
