#include "formats/packed_reader.hpp"

#include "formats/random_weight.hpp"
#include "formats/row_decoder.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

// What a kernel sees in the packed weight is what the coded weight means.
TEST(PackedReader, ReadsWhatRowDecoderDecodes) {
  for (const std::string_view format : kManyFormats) {
    const CodedWeight weight = random_coded(format, 70, 200);
    std::vector<std::byte> memory(packed_weights_bytes(weight.format, 70, 200) + 64);
    std::byte* packed =
        memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    pack_weights(weight, packed);
    for (const DataType entries : {DataType::f32, DataType::bf16}) {
      const RowDecoder decoder(weight, entries);
      const PackedReader reader(packed, weight.format, 70, 200, entries);
      std::vector<double> line(200);
      for (std::int64_t row = 0; row < 70; ++row) {
        decoder.decode(row, line.data());
        for (std::int64_t column = 0; column < 200; ++column) {
          const double want = line[static_cast<std::size_t>(reader.column_of(column))];
          const double got = reader.value(row, column);
          ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
              << format << " " << row << " " << column << ": " << got << " " << want;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gemwright::formats
