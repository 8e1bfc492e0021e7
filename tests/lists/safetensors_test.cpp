#include "lists/safetensors.hpp"

#include "support/folder_fixture.hpp"
#include <gemwright/errors.hpp>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace gemwright::lists {
namespace {

namespace fs = std::filesystem;

class Safetensors : public test::FolderFixture {
 protected:
  // `claimed` stands in the length field; there is no data.
  fs::path write(const std::string& name, const std::string& header, std::uint64_t claimed) const {
    std::ofstream out(folder_ / name, std::ios::binary);
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(claimed >> (8 * i)));
    out << header;
    return folder_ / name;
  }
  // One tensor's data after the other: "<BYTES>" in the header becomes its offsets.
  fs::path write(const std::string& name, std::string header) const {
    std::uint64_t at = 0;
    for (auto from = header.find('<'); from != std::string::npos; from = header.find('<')) {
      const auto to = header.find('>');
      const std::uint64_t end = at + std::stoull(header.substr(from + 1, to - from - 1));
      header.replace(from, to - from + 1,
                     "[" + std::to_string(at) + "," + std::to_string(end) + "]");
      at = end;
    }
    const fs::path path = write(name, header, header.size());
    fs::resize_file(path, 8 + header.size() + at);
    return path;
  }

  std::string refusal(const fs::path& path, const Options& options = {}) const {
    try {
      from_safetensors(path, options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "taken";
  }
};

std::string tensor(const std::string& name, const std::string& type, const std::string& shape,
                   int bytes) {
  return '"' + name + R"(": {"dtype": ")" + type + R"(", "shape": )" + shape +
         R"(, "data_offsets": <)" + std::to_string(bytes) + ">}";
}

std::string block(int layer) {
  const std::string prefix = "model.layers." + std::to_string(layer);
  return tensor(prefix + ".mlp.down_proj.weight", "BF16", "[64, 128]", 16384) + "," +
         tensor(prefix + ".mlp.up_proj.weight", "BF16", "[128, 64]", 16384) + "," +
         tensor(prefix + ".norm.weight", "BF16", "[64]", 128);
}

TEST_F(Safetensors, TakesTheLinearLayersOfAStackTogether) {
  const auto file = write("a.safetensors",
                          "{" + tensor("model.embed_tokens.weight", "BF16", "[1000, 64]", 128000) +
                              "," + block(0) + "," + block(1) + R"(, "__metadata__": {"a": "b"}})");
  Options options;
  options.m = {1, 8};
  const auto selection = from_safetensors(file, options);
  const auto& entries = selection.entries;
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].role, "model.layers.*.mlp.down_proj");
  EXPECT_EQ(entries[0].count, 2);
  EXPECT_EQ(entries[0].model, folder_.filename().string());
  EXPECT_EQ(entries[1].problem, Problem::linear(8, 64, 128, DataType::bf16));
}

TEST_F(Safetensors, SaysWhatItLeavesOutAndWhy) {
  const auto file =
      write("a.safetensors",
            "{" + tensor("model.embed_tokens.weight", "BF16", "[1000, 64]", 128000) + "," +
                block(0) + "," + block(1) + "," + tensor("experts.0.w", "F8_E4M3", "[8, 8]", 64) +
                "," + tensor("nothing", "BF16", "[0, 8]", 0) + "}");
  const std::vector<LeftOut> expected = {
      {"experts.*.w", "of type F8_E4M3", 1},
      {"model.embed_tokens", "a table that is looked up in", 1},
      {"model.layers.*.norm", "1-D", 2},
      {"nothing", "empty", 1},
  };
  EXPECT_EQ(from_safetensors(file, {}).left_out, expected);
}

TEST_F(Safetensors, TakesAFolderOfShards) {
  write("a.safetensors", "{" + block(0) + "}");
  write("b.safetensors", "{" + tensor("lm_head.weight", "F16", "[1000, 64]", 128000) + "}");
  const auto entries = from_safetensors(folder_, {}).entries;
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[2].problem, Problem::linear(1, 1000, 64, DataType::f16));
}

TEST_F(Safetensors, RefusesATensorThatIsThereTwice) {
  const std::string twice = tensor("a.weight", "BF16", "[4, 4]", 32);
  const auto file = write("a.safetensors", "{" + twice + "," + twice + "}");
  EXPECT_NE(refusal(file).find("a.weight: given twice"), std::string::npos) << refusal(file);
  write("a.safetensors", "{" + twice + "}");
  write("b.safetensors", "{" + twice + "}");
  EXPECT_NE(refusal(folder_).find("b.safetensors: a.weight: given a name that another file has"),
            std::string::npos)
      << refusal(folder_);
}

TEST_F(Safetensors, TakesAnIndex) {
  write("a.safetensors", "{" + block(0) + "}");
  write("other.safetensors", "{" + tensor("other.weight", "F16", "[7, 7]", 98) + "}");
  const auto index = folder_ / "model.safetensors.index.json";
  std::ofstream(index) << R"({"weight_map": {"x": "a.safetensors", "y": "a.safetensors"}})";
  EXPECT_EQ(from_safetensors(index, {}).entries.size(), 2U);
  std::ofstream(index) << R"({"weight_map": {"x": "../a.safetensors"}})";
  EXPECT_NE(refusal(index).find("file name without folders"), std::string::npos);
  std::ofstream(index) << R"({"weights": {}})";
  EXPECT_NE(refusal(index).find("weight_map"), std::string::npos);
}

TEST_F(Safetensors, RefusesWhatIsNone) {
  EXPECT_NE(refusal(folder_ / "none").find("no such file"), std::string::npos);
  EXPECT_NE(refusal(folder_).find("no .safetensors file"), std::string::npos);
  std::ofstream(folder_ / "short") << "abc";
  EXPECT_NE(refusal(folder_ / "short").find("fewer than 8 bytes"), std::string::npos);
  EXPECT_NE(refusal(write("long", "{}", 1000)).find("a header of 1000 bytes"), std::string::npos);
  EXPECT_NE(refusal(write("huge", "{}", ~0ULL)).find("a header of"), std::string::npos);
  EXPECT_NE(refusal(write("bad", "{\"a\": ")).find("parse error"), std::string::npos);
  EXPECT_NE(refusal(write("big", "{\"a\": 1e999}")).find("1e999"), std::string::npos);
  EXPECT_NE(refusal(write("array", "[]")).find("given array"), std::string::npos);
  EXPECT_NE(refusal(write("f8", "{" + tensor("a.weight", "F8_E4M3", "[4, 4]", 16) + "}"))
                .find("no 2-D weight"),
            std::string::npos);
  EXPECT_NE(refusal(write("negative", "{" + tensor("a", "BF16", "[-4, 4]", 0) + "}"))
                .find("a.shape: given -4; allowed: sizes from 0"),
            std::string::npos);
  EXPECT_NE(refusal(write("untyped", R"({"a": {"shape": [4, 4]}})")).find("a.dtype"),
            std::string::npos);
}

TEST_F(Safetensors, RefusesDataThatDoesNotFitTheHeader) {
  const auto odd = write("odd.safetensors", "{" + tensor("a.weight", "BF16", "[4, 4]", 31) + "}");
  EXPECT_EQ(refusal(odd),
            odd.string() + ": a.weight: given 31 bytes; allowed: 32, as its type and shape say");
  const auto cut = write("cut.safetensors", "{" + tensor("a.weight", "BF16", "[4, 4]", 32) + "}");
  fs::resize_file(cut, fs::file_size(cut) - 1);
  EXPECT_EQ(refusal(cut), cut.string() +
                              ": a.weight: given data up to byte 32; allowed: the 31 "
                              "bytes that the file has");
}

TEST_F(Safetensors, DoesNotGuessTensorParallelism) {
  Options options;
  options.tensor_parallel = 2;
  EXPECT_NE(refusal(write("a.safetensors", "{" + block(0) + "}"), options).find("--tp: given 2"),
            std::string::npos);
}

}  // namespace
}  // namespace gemwright::lists
