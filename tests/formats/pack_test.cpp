#include "formats/packed_layout.hpp"
#include "formats/random_weight.hpp"
#include "numeric/minifloat.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

// Memory of the packed weight's alignment, full of ones.
class Memory {
 public:
  explicit Memory(const CodedWeight& weight)
      : bytes_(packed_weights_bytes(weight.format, weight.n, weight.k)),
        storage_(bytes_ + 64, std::byte{0xFF}) {
    pack_weights(weight, data());
  }
  std::byte* data() {
    return storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) % 64;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> storage_;
};

class PackFormats : public testing::TestWithParam<std::string_view> {};

TEST_P(PackFormats, UnpacksExactly) {
  const std::int64_t sizes[][2] = {{1, 1},   {1, 64},    {64, 1},    {63, 65}, {65, 63},
                                   {64, 64}, {128, 257}, {130, 100}, {3, 1000}};
  for (const auto& [n, k] : sizes) {
    const CodedWeight weight = random_coded(GetParam(), n, k);
    Memory memory(weight);
    EXPECT_EQ(unpack_weights(memory.data(), memory.bytes()), weight) << n << " x " << k;
  }
}

TEST_P(PackFormats, TakesEmptyWeights) {
  for (const auto& [n, k] : {std::pair{0, 64}, {64, 0}, {0, 0}}) {
    const CodedWeight weight = random_coded(GetParam(), n, k);
    Memory memory(weight);
    EXPECT_EQ(unpack_weights(memory.data(), memory.bytes()), weight);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PackFormats, testing::ValuesIn(kManyFormats),
                         [](const auto& format) {
                           std::string name(format.param);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

// Read as a kernel reads it: a 16-byte vector a thread and tile, a scale a row and group.
TEST(Pack, FourBitCodesAreWhereAThreadLooks) {
  const CodedWeight weight = random_coded("int4:g64:f16", 100, 150);
  Memory memory(weight);
  const auto layout = formats::packed_layout(weight.format, weight.n, weight.k);
  for (std::int64_t row = 0; row < 128; ++row) {
    for (std::int64_t column = 0; column < 192; ++column) {
      const std::int64_t thread = 32 * (row % 64 / 16) + 4 * (row % 8) + column % 8 / 2;
      const std::int64_t i = row % 16 / 8 + 2 * (column % 16 / 8);
      std::uint32_t word = 0;
      std::memcpy(&word,
                  memory.data() + layout.codes + ((row / 64) * 3 + column / 64) * 2048 +
                      16 * thread + 4 * (column % 64 / 16),
                  4);
      const std::uint32_t code = (word >> (8 * i + 4 * (column % 2))) & 15U;
      const bool inside = row < 100 && column < 150;
      EXPECT_EQ(code, inside ? weight.codes[static_cast<std::size_t>(row * 150 + column)] : 0U);
    }
    std::uint16_t scale = 0;
    std::memcpy(&scale,
                memory.data() + layout.scales +
                    ((row / 64 * 3 + 2) * 64 + row % 64 / 16 * 16 + row % 8 * 2 + row % 16 / 8) * 2,
                2);
    EXPECT_EQ(scale, row < 100 ? weight.scales[static_cast<std::size_t>(row * 3 + 2)] : 0U);
  }
}

TEST(Pack, EveryByteIsWritten) {
  // Past N, past K and between sections there are zeros, whatever was there before.
  CodedWeight weight = random_coded("int3z:g64:bf16:order", 65, 65);
  std::fill(weight.codes.begin(), weight.codes.end(), std::uint8_t{0});
  std::fill(weight.scales.begin(), weight.scales.end(), 0U);
  std::fill(weight.zeros.begin(), weight.zeros.end(), 0U);
  Memory memory(weight);
  const auto layout = formats::packed_layout(weight.format, weight.n, weight.k);
  for (std::int64_t at = 256; at < layout.order; ++at) {
    ASSERT_EQ(memory.data()[at], std::byte{0}) << at;
  }
  std::int32_t past = 0;
  std::memcpy(&past, memory.data() + layout.order + 65 * 4, 4);
  EXPECT_EQ(past, -1);
}

TEST(Pack, RefusesWhatItDidNotWrite) {
  const CodedWeight weight = random_coded("nf4:g64:bf16", 64, 64);
  Memory memory(weight);
  EXPECT_THROW(unpack_weights(memory.data(), memory.bytes() - 1), InvalidArgument);
  EXPECT_THROW(unpack_weights(memory.data(), 100), InvalidArgument);
  EXPECT_THROW(unpack_weights(nullptr, 0), InvalidArgument);
  const auto refuses = [&](std::size_t at, std::byte value) {
    std::vector<std::byte> copy(memory.data(), memory.data() + memory.bytes());
    copy[at] = value;
    EXPECT_THROW(unpack_weights(copy.data(), copy.size()), Error) << at;
  };
  refuses(0, std::byte{'X'});
  refuses(8, std::byte{9});      // version
  refuses(22, std::byte{0x7F});  // N
  refuses(32, std::byte{'X'});   // format
}

TEST(Pack, NamesTheFieldThatDoesNotFit) {
  const auto refused = [](const auto& change, const std::string& field) {
    CodedWeight weight = random_coded("int3z:g64:bf16:order", 4, 100);
    change(weight);
    try {
      weight.check();
      FAIL() << field;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.argument(), field);
    }
  };
  refused([](CodedWeight& w) { w.codes.pop_back(); }, "weight.codes");
  refused([](CodedWeight& w) { w.codes[5] = 8; }, "weight.codes");
  refused([](CodedWeight& w) { w.scales.push_back(0); }, "weight.scales");
  refused([](CodedWeight& w) { w.zeros.clear(); }, "weight.zeros");
  refused([](CodedWeight& w) { w.zeros[1] = 9; }, "weight.zeros");
  refused([](CodedWeight& w) { w.order[1] = w.order[0]; }, "weight.order");
  refused([](CodedWeight& w) { w.order[1] = 100; }, "weight.order");
  refused([](CodedWeight& w) { w.table.push_back(0); }, "weight.table");
  refused([](CodedWeight& w) { w.n = -1; }, "weight.n");
}

}  // namespace
}  // namespace gemwright
