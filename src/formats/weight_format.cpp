#include <gemwright/errors.hpp>
#include <gemwright/weight_format.hpp>

#include <bit>
#include <string>

namespace gemwright {
namespace {

void refuse(const char* field, std::int32_t given, const std::string& allowed) {
  throw InvalidArgument(std::string("format.") + field, std::to_string(given), allowed);
}

void check_bits(const WeightFormat& format) {
  const std::int32_t bits = format.bits;
  const bool any = bits == 2 || bits == 3 || bits == 4 || bits == 8;
  switch (format.codes) {
    case Codes::normal_float:
      if (bits < 2 || bits > 4) refuse("bits", bits, "2, 3 or 4 with the NF codebooks");
      return;
    case Codes::fp4:
    case Codes::e2m1:
      if (bits != 4) refuse("bits", bits, "4 with 4-bit floats");
      return;
    case Codes::e4m3:
    case Codes::e5m2:
      if (bits != 8) refuse("bits", bits, "8 with 8-bit floats");
      return;
    case Codes::integer:
    case Codes::learned:
    case Codes::learned_per_row:
      if (!any) refuse("bits", bits, "2, 3, 4 or 8");
      return;
  }
}

void check_group(const WeightFormat& format) {
  const std::int32_t group = format.group;
  const auto within = [group](std::int32_t least, std::int32_t most) {
    return group >= least && group <= most && std::has_single_bit(static_cast<unsigned>(group));
  };
  switch (format.grouping) {
    case Grouping::along_k:
      if (!within(16, 256)) refuse("group", group, "16, 32, 64, 128 or 256");
      return;
    case Grouping::flat:
      if (!within(16, 4096)) refuse("group", group, "a power of two from 16 to 4096");
      return;
    case Grouping::block:
      if (!within(64, 128)) refuse("group", group, "64 or 128 for square blocks");
      return;
    case Grouping::row:
    case Grouping::tensor:
      if (group != 0) refuse("group", group, "0 where a row or the tensor is the group");
      return;
  }
}

}  // namespace

void WeightFormat::check() const {
  check_bits(*this);
  check_group(*this);
  if (zero != Zero::symmetric && codes != Codes::integer) {
    throw InvalidArgument("format.zero", "a zero point", "none with codes that are no integers");
  }
  const bool float_scale =
      scale == ScaleType::f32 || scale == ScaleType::f16 || scale == ScaleType::bf16;
  if (zero == Zero::real && !float_scale) {
    throw InvalidArgument("format.zero", "real, with scales of 8 bits",
                          "real zero points with scales of type f32, f16 or bf16");
  }
  const bool one_row = grouping != Grouping::flat && grouping != Grouping::block;
  if (codes == Codes::learned_per_row && !one_row) {
    throw InvalidArgument("format.grouping", "blocks over several rows",
                          "groups inside a row, where each row has its own codebook");
  }
  if (has_codebook(*this) && grouping == Grouping::block) {
    throw InvalidArgument("format.grouping", "square blocks",
                          "groups along K or flat blocks with a codebook");
  }
  if (ordered && !one_row) {
    throw InvalidArgument("format.ordered", "true, with blocks over several rows",
                          "an order of columns with groups along K");
  }
}

bool has_codebook(const WeightFormat& format) {
  switch (format.codes) {
    case Codes::normal_float:
    case Codes::fp4:
    case Codes::learned:
    case Codes::learned_per_row:
      return true;
    case Codes::integer:
    case Codes::e2m1:
    case Codes::e4m3:
    case Codes::e5m2:
      return false;
  }
  return false;
}

}  // namespace gemwright
