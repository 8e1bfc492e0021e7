// Each format packed here in the words of its own definition, and read back.
#include "formats/import/import.hpp"

#include "formats/codebooks.hpp"
#include "formats/import/parts.hpp"
#include "numeric/minifloat.hpp"
#include <gemwright/errors.hpp>

#include <bit>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

std::vector<float> values_of(const CodedWeight& weight) {
  weight.check();
  std::vector<float> values(weight.codes.size());
  dequantise(weight, DataType::f32, values.data());
  return values;
}

std::vector<std::uint8_t> nibble_pairs(const std::vector<int>& codes, bool first_is_high) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < codes.size(); i += 2) {
    const int second = i + 1 < codes.size() ? codes[i + 1] : 0;
    bytes.push_back(
        static_cast<std::uint8_t>(first_is_high ? codes[i] << 4 | second : codes[i] | second << 4));
  }
  return bytes;
}

PartsMaker bitsandbytes(std::int64_t n, std::int64_t k, const std::vector<int>& codes,
                        const std::string& type, const std::string& more_state) {
  PartsMaker maker;
  const auto bytes = nibble_pairs(codes, true);
  maker.add("weight", "U8", {std::ssize(bytes), 1}, bytes);
  const std::string state = R"({"quant_type": ")" + type +
                            R"(", "blocksize": 64, "dtype": "bfloat16", "shape": [)" +
                            std::to_string(n) + ", " + std::to_string(k) + "]" + more_state + "}";
  maker.add("weight.quant_state.bitsandbytes__" + type, "U8", {std::ssize(state)},
            std::vector<std::uint8_t>(state.begin(), state.end()));
  const auto book = fixed_codebook(parse_weight_format(type));
  maker.add("weight.quant_map", "F32", {16}, std::vector<float>(book.begin(), book.end()));
  return maker;
}

TEST(Import, BitsandbytesFirstElementIsTheHighNibble) {
  for (const char* type : {"nf4", "fp4"}) {
    const auto codes = random_codes(7 * 50, 16);
    PartsMaker maker = bitsandbytes(7, 50, codes, type, "");
    const auto absmax = random_scales(6);
    maker.add("weight.absmax", "F32", {6}, absmax);
    const CodedWeight weight = import_bitsandbytes(maker.parts());
    EXPECT_EQ(key(weight.format), std::string(type) + ":flat64:f32");
    const auto book = fixed_codebook(parse_weight_format(type));
    const auto values = values_of(weight);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(values[i], book[at(codes[i])] * absmax[i / 64]);
    }
  }
}

TEST(Import, BitsandbytesDoubleQuantisation) {
  // 320 blocks: two of the second level.
  PartsMaker maker = bitsandbytes(8, 64 * 40, random_codes(8 * 64 * 40, 16), "nf4",
                                  R"(, "nested_blocksize": 256, "nested_offset": 0.0371)");
  const auto absmax = random_codes(320, 256);
  std::vector<float> map(256);
  for (std::size_t i = 0; i < 256; ++i) map[i] = static_cast<float>(i) / 255 * 1.7F - 0.8F;
  const std::vector<float> second{0.013F, 0.0211F};
  maker.add("weight.absmax", "U8", {320}, std::vector<std::uint8_t>(absmax.begin(), absmax.end()));
  maker.add("weight.nested_absmax", "F32", {2}, second);
  maker.add("weight.nested_quant_map", "F32", {256}, map);
  const CodedWeight weight = import_bitsandbytes(maker.parts());
  for (std::size_t i = 0; i < 320; ++i) {
    volatile float product = map[at(absmax[i])] * second[i / 256];
    EXPECT_EQ(std::bit_cast<float>(weight.scales[i]), product + 0.0371F);
  }
}

TEST(Import, BitsandbytesWithAnotherMapIsLearned) {
  PartsMaker maker = bitsandbytes(4, 64, random_codes(256, 16), "nf4", "");
  std::vector<float> map(16);
  std::iota(map.begin(), map.end(), -8.0F);
  maker.add("weight.quant_map", "F32", {16}, map);
  maker.add("weight.absmax", "F32", {4}, random_scales(4));
  const CodedWeight weight = import_bitsandbytes(maker.parts());
  EXPECT_EQ(weight.format.codes, Codes::learned);
  EXPECT_EQ(weight.table, map);
}

// Codes of a row of W follow each other along K in the words of a column of qweight, bit after bit.
struct Gptq {
  int bits;
  std::int64_t n, k, groups;
  std::vector<int> codes, zeros;  // [N][K], [N][G]
  std::vector<float> scales;      // [N][G]
  PartsMaker maker;

  Gptq(int b, std::int64_t rows, std::int64_t columns, std::int64_t group, bool version_2)
      : bits(b), n(rows), k(columns), groups(columns / group) {
    codes = random_codes(n * k, 1 << bits);
    zeros = random_codes(n * groups, (1 << bits) - 1, 9);
    for (int& zero : zeros) ++zero;  // version 1 cannot say 0
    scales = random_scales(n * groups);
    std::vector<std::uint32_t> qweight(at(k * bits / 32 * n));
    for (std::int64_t row = 0; row < n; ++row) {
      const auto words = stream({codes.begin() + row * k, codes.begin() + (row + 1) * k}, bits);
      for (std::size_t i = 0; i < words.size(); ++i) qweight[i * at(n) + at(row)] = words[i];
    }
    std::vector<std::uint32_t> qzeros;
    std::vector<float> scale_lines;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::vector<int> line;
      for (std::int64_t row = 0; row < n; ++row) {
        line.push_back(zeros[at(row * groups + g)] - (version_2 ? 0 : 1));
        scale_lines.push_back(scales[at(row * groups + g)]);
      }
      const auto words = stream(line, bits);
      qzeros.insert(qzeros.end(), words.begin(), words.end());
    }
    maker.add("qweight", "I32", {k * bits / 32, n}, qweight);
    maker.add("qzeros", "I32", {groups, n * bits / 32}, qzeros);
    maker.add_f16("scales", {groups, n}, scale_lines);
  }

  float value(std::int64_t row, std::int64_t column, std::int64_t group) const {
    const std::size_t g = at(row * groups + group);
    return static_cast<float>(codes[at(row * k + column)] - zeros[g]) * scales[g];
  }
};

TEST(Import, GptqOfEveryWidthAndVersion) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool version_2 : {false, true}) {
      const Gptq gptq(bits, 64, 256, 64, version_2);
      const CodedWeight weight = import_gptq(gptq.maker.parts(), {.bits = bits}, version_2);
      EXPECT_EQ(key(weight.format), "int" + std::to_string(bits) + "z:g64:f16");
      const auto values = values_of(weight);
      for (std::int64_t i = 0; i < 64 * 256; ++i) {
        ASSERT_EQ(values[at(i)], gptq.value(i / 256, i % 256, i % 256 / 64));
      }
    }
  }
}

TEST(Import, GptqZeroPointOfVersion1Wraps) {
  Gptq gptq(4, 32, 64, 32, false);
  gptq.maker.add("qzeros", "I32", {2, 4}, std::vector<std::uint32_t>(8, 0xFFFFFFFFU));
  for (const std::uint32_t zero : import_gptq(gptq.maker.parts(), {}, false).zeros) {
    EXPECT_EQ(zero, 0U);
  }
}

TEST(Import, GptqWithTheMiddleAsZeroIsSymmetric) {
  Gptq gptq(4, 32, 64, 32, false);
  gptq.maker.add("qzeros", "I32", {2, 4}, std::vector<std::uint32_t>(8, 0x77777777U));
  EXPECT_EQ(key(import_gptq(gptq.maker.parts(), {}, false).format), "int4:g32:f16");
}

TEST(Import, GptqActivationOrder) {
  Gptq gptq(4, 32, 128, 32, false);
  std::vector<std::int32_t> g_idx(128);
  for (std::size_t k = 0; k < 128; ++k) g_idx[k] = static_cast<std::int32_t>(k * 37 % 128 / 32);
  gptq.maker.add("g_idx", "I32", {128}, g_idx);
  const CodedWeight weight = import_gptq(gptq.maker.parts(), {}, false);
  EXPECT_EQ(key(weight.format), "int4z:g32:f16:order");
  const auto values = values_of(weight);
  for (std::int64_t i = 0; i < 32 * 128; ++i) {
    ASSERT_EQ(values[at(i)], gptq.value(i / 128, i % 128, g_idx[at(i % 128)]));
  }
  for (std::size_t k = 0; k < 128; ++k) g_idx[k] = static_cast<std::int32_t>(k / 32);
  gptq.maker.add("g_idx", "I32", {128}, g_idx);
  EXPECT_EQ(key(import_gptq(gptq.maker.parts(), {}, false).format), "int4z:g32:f16");
  g_idx[0] = 3;  // groups of unequal size
  gptq.maker.add("g_idx", "I32", {128}, g_idx);
  EXPECT_THROW(import_gptq(gptq.maker.parts(), {}, false), InvalidArgument);
}

TEST(Import, AwqColumnsAreInterleaved) {
  constexpr std::int64_t kN = 32;
  constexpr std::int64_t kK = 128;
  constexpr int kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto codes = random_codes(kN * kK, 16);    // [K][N]
  const auto zeros = random_codes(kN * 2, 16, 7);  // [G][N]
  const auto scales = random_scales(kN * 2);
  const auto packed = [&](const std::vector<int>& fields) {
    std::vector<std::uint32_t> words(fields.size() / 8);
    for (std::size_t word = 0; word < words.size(); ++word) {
      for (std::size_t slot = 0; slot < 8; ++slot) {
        words[word] |= static_cast<std::uint32_t>(fields[word * 8 + at(kOrder[slot])])
                       << (4 * slot);
      }
    }
    return words;
  };
  PartsMaker maker;
  maker.add("qweight", "I32", {kK, kN / 8}, packed(codes));
  maker.add("qzeros", "I32", {2, kN / 8}, packed(zeros));
  maker.add_f16("scales", {2, kN}, scales);
  const auto values = values_of(import_awq(maker.parts()));
  for (std::int64_t n = 0; n < kN; ++n) {
    for (std::int64_t k = 0; k < kK; ++k) {
      const std::size_t g = at(k / 64 * kN + n);
      ASSERT_EQ(values[at(n * kK + k)],
                static_cast<float>(codes[at(k * kN + n)] - zeros[g]) * scales[g]);
    }
  }
}

std::vector<std::uint32_t> row_streams(const std::vector<int>& codes, std::int64_t k, int bits) {
  std::vector<std::uint32_t> words;
  for (std::int64_t first = 0; first < std::ssize(codes); first += k) {
    const auto line = stream({codes.begin() + first, codes.begin() + first + k}, bits);
    words.insert(words.end(), line.begin(), line.end());
  }
  return words;
}

TEST(Import, CompressedTensorsPacksAlongK) {
  for (const int bits : {4, 8, 3}) {
    const auto codes = random_codes(16 * 96, 1 << bits);
    const auto scales = random_scales(16 * 3);
    PartsMaker maker;
    maker.add("weight_packed", "I32", {16, 3 * bits}, row_streams(codes, 96, bits));
    maker.add_f16("weight_scale", {16, 3}, scales);
    maker.add("weight_shape", "I64", {2}, std::vector<std::int64_t>{16, 96});
    const auto values = values_of(import_pack_quantized(maker.parts(), {.group = 32}));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int signed_code = codes[i] - (1 << (bits - 1));
      ASSERT_EQ(values[i], static_cast<float>(signed_code) * scales[i / 32]);
    }
  }
}

TEST(Import, CompressedTensorsZeroPointsArePackedAlongN) {
  const auto codes = random_codes(16 * 64, 16);
  const auto zeros = random_codes(16 * 2, 16, 3);  // [N][G]
  std::vector<std::uint32_t> packed_zeros(2 * 2);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t group = 0; group < 2; ++group) {
      packed_zeros[row / 8 * 2 + group] |= static_cast<std::uint32_t>(zeros[row * 2 + group])
                                           << (4 * (row % 8));
    }
  }
  const auto scales = random_scales(32);
  PartsMaker maker;
  maker.add("weight_packed", "I32", {16, 8}, row_streams(codes, 64, 4));
  maker.add_f16("weight_scale", {16, 2}, scales);
  maker.add("weight_shape", "I64", {2}, std::vector<std::int64_t>{16, 64});
  maker.add("weight_zero_point", "I32", {2, 2}, packed_zeros);
  const auto values = values_of(import_pack_quantized(maker.parts(), {}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<float>(codes[i] - zeros[i / 32]) * scales[i / 32]);
  }
}

TEST(Import, ScaledBytesOfRowsAndTensors) {
  PartsMaker maker;
  std::vector<std::int8_t> bytes;
  for (const int code : random_codes(4 * 32, 256)) bytes.push_back(static_cast<std::int8_t>(code));
  const auto scales = random_scales(4);
  maker.add("weight", "I8", {4, 32}, bytes);
  maker.add("weight_scale", "F32", {4, 1}, scales);
  const auto integers = values_of(import_scaled_bytes(maker.parts()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(integers[i], static_cast<float>(bytes[i]) * scales[i / 32]);
  }
  maker.add("weight", "F8_E4M3", {4, 32}, std::vector<std::uint8_t>(128, 0x38));
  maker.add("weight_scale", "F32", {1}, std::vector<float>{2.5F});
  const CodedWeight floats = import_scaled_bytes(maker.parts());
  EXPECT_EQ(key(floats.format), "e4m3:tensor:f32");
  for (const float value : values_of(floats)) EXPECT_EQ(value, 2.5F);
}

TEST(Import, SquareBlocksOfFp8) {
  const auto codes = random_codes(200 * 300, 127);
  PartsMaker maker;
  maker.add("weight", "F8_E4M3", {200, 300}, std::vector<std::uint8_t>(codes.begin(), codes.end()));
  const auto scales = random_scales(6);
  maker.add("weight_scale_inv", "F32", {2, 3}, scales);
  const auto values = values_of(import_square_blocks(maker.parts()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = scales[i / 300 / 128 * 3 + i % 300 / 128];
    ASSERT_EQ(values[i], numeric::from_e4m3(static_cast<std::uint8_t>(codes[i])) * scale);
  }
}

TEST(Import, HqqSplitsItsGroupsIntoParts) {
  constexpr std::int64_t kGroups = 8 * 3;  // N = 8, K = 192
  const auto scales = random_scales(kGroups);
  const auto zeros = random_scales(kGroups, 11);
  for (const int bits : {2, 3, 4, 8}) {
    const auto codes = random_codes(kGroups * 64, 1 << bits);
    const std::int64_t per_word = bits == 3 ? 10 : 8 / bits;
    const std::int64_t step = (kGroups + per_word - 1) / per_word;
    std::vector<std::uint32_t> words(at(step * 64));
    for (std::int64_t row = 0; row < kGroups; ++row) {
      for (std::int64_t column = 0; column < 64; ++column) {
        words[at(row % step * 64 + column)] |=
            static_cast<std::uint32_t>(codes[at(row * 64 + column)])
            << (bits * (per_word - 1 - row / step));
      }
    }
    PartsMaker maker;
    if (bits == 3) {
      maker.add("W_q", "I32", {step, 64}, words);
    } else {
      maker.add("W_q", "U8", {step, 64}, std::vector<std::uint8_t>(words.begin(), words.end()));
    }
    maker.add_f16("scale", {kGroups, 1}, scales);
    maker.add_f16("zero", {kGroups, 1}, zeros);
    maker.add("shape", "I64", {2}, std::vector<std::int64_t>{8, 192});
    const CodedWeight weight = import_hqq(maker.parts(), {});
    EXPECT_EQ(key(weight.format), "int" + std::to_string(bits) + "r:g64:f16");
    const auto values = values_of(weight);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], (static_cast<float>(codes[i]) - zeros[i / 64]) * scales[i / 64]);
    }
  }
}

TEST(Import, Mxfp4EvenElementIsTheLowNibble) {
  constexpr float kValues[16] = {0,   0.5F,  1,  1.5F,  2,  3,  4,  6,
                                 -0., -0.5F, -1, -1.5F, -2, -3, -4, -6};
  const auto codes = random_codes(4 * 96, 16);
  std::vector<std::uint8_t> scales;
  for (const int e : random_codes(12, 20)) scales.push_back(static_cast<std::uint8_t>(e + 117));
  PartsMaker maker;
  maker.add("blocks", "U8", {4, 3, 16}, nibble_pairs(codes, false));
  maker.add("scales", "U8", {4, 3}, scales);
  const auto values = values_of(import_mxfp4(maker.parts()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], std::ldexp(kValues[at(codes[i])], scales[i / 32] - 127));
  }
}

TEST(Import, Nvfp4GlobalScaleMultipliesOrDivides) {
  const auto codes = random_codes(4 * 64, 16);
  const auto scale_codes = random_codes(16, 0x7F);
  const std::vector<std::uint8_t> scales(scale_codes.begin(), scale_codes.end());
  PartsMaker maker;
  maker.add("weight", "U8", {4, 32}, nibble_pairs(codes, false));
  maker.add("weight_scale", "F8_E4M3", {4, 4}, scales);
  maker.add("weight_scale_2", "F32", {}, std::vector<float>{0.00123F});
  const auto modelopt = import_nvfp4(maker.parts());
  const auto values = values_of(modelopt);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact =
        static_cast<double>(numeric::from_e2m1(static_cast<std::uint8_t>(codes[i]))) *
        static_cast<double>(numeric::from_e4m3(scales[i / 16])) * static_cast<double>(0.00123F);
    ASSERT_EQ(values[i], static_cast<float>(exact));
  }
  PartsMaker other;
  other.add("weight_packed", "U8", {4, 32}, nibble_pairs(codes, false));
  other.add("weight_scale", "F8_E4M3", {4, 4}, scales);
  other.add("weight_global_scale", "F32", {1}, std::vector<float>{813.0F});
  const auto divided = import_nvfp4(other.parts());
  EXPECT_EQ(divided.global_scale, 1 / 813.0F);
  EXPECT_EQ(divided.codes, modelopt.codes);
}

TEST(Import, NamesTheTensorAtFault) {
  const auto refused = [](const auto& import, const std::string& argument) {
    try {
      import();
      FAIL() << argument;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.argument(), argument);
    }
  };
  Gptq gptq(4, 32, 128, 32, false);
  const auto import = [&] { import_gptq(gptq.maker.parts(), {}, false); };
  gptq.maker.add("qzeros", "I32", {4, 3}, std::vector<std::uint32_t>(12));
  refused(import, "layer.qzeros.shape");
  gptq.maker.add("qzeros", "I32", {4, 4}, std::vector<std::uint32_t>(15));
  refused(import, "layer.qzeros");
  gptq.maker.add("qzeros", "F32", {4, 4}, std::vector<std::uint32_t>(16));
  refused(import, "layer.qzeros.dtype");
  gptq.maker.remove("qzeros");
  refused(import, "layer.qzeros");
  PartsMaker maker = bitsandbytes(4, 64, random_codes(256, 16), "nf4", "");
  maker.add("weight.absmax", "F32", {3}, random_scales(3));
  refused([&] { import_bitsandbytes(maker.parts()); }, "layer.weight.absmax.shape");
  maker.add("weight.quant_state.bitsandbytes__nf4", "U8", {2}, std::vector<std::uint8_t>{'{', '"'});
  refused([&] { import_bitsandbytes(maker.parts()); },
          "layer.weight.quant_state.bitsandbytes__nf4");
}

}  // namespace
}  // namespace gemwright::formats
