#include "checkpoint/quantise.hpp"
#include "checkpoint/translate.hpp"
#include "files/files.hpp"
#include "numeric/convert.hpp"
#include "support/folder_fixture.hpp"
#include <gemwright/gemwright.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace gemwright::checkpoint {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string name;
  std::vector<std::int64_t> shape;
};

class CheckpointTest : public test::FolderFixture {
 protected:
  // A BF16 file of normal values.
  fs::path write(const fs::path& name, const std::vector<Named>& tensors) {
    files::Header header;
    header.metadata["format"] = "pt";
    for (const Named& tensor : tensors)
      header.tensors.push_back({tensor.name, "BF16", tensor.shape});
    fs::create_directories((folder_ / name).parent_path());
    files::SafetensorsWriter writer(folder_ / name, header, "");
    for (const files::Tensor& tensor : writer.header().tensors) {
      std::vector<std::uint16_t> values(static_cast<std::size_t>(tensor.elements()));
      for (auto& value : values) value = numeric::to_bf16(draw_(random_));
      writer.write(tensor, 0, std::as_bytes(std::span(values)));
      writer.finish(tensor, "");
    }
    writer.commit();
    return folder_ / name;
  }

  Reports quantise(const fs::path& in, const fs::path& out, const std::string& format,
                   std::vector<std::string> keep = {}, std::function<bool()> cancelled = {},
                   bool overwrite = false) {
    const Checkpoint checkpoint(in);
    const QuantisePlan plan{parse_weight_format(format), std::move(keep), nullptr};
    ConvertOptions options;
    options.stamp = format;
    options.cancelled = std::move(cancelled);
    options.overwrite = overwrite;
    return convert(
        checkpoint, out, [&](const auto& shard) { return quantise_jobs(shard, plan); }, options);
  }

  static std::vector<float> bf16_values(const Place& place) {
    std::vector<float> values(place.data().size() / 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, place.data().data() + 2 * i, 2);
      values[i] = numeric::from_bf16(bits);
    }
    return values;
  }

  std::mt19937 random_{1};
  std::normal_distribution<float> draw_{0, 0.02F};
};

const std::vector<Named> kLayer{{"model.embed_tokens.weight", {50, 64}},
                                {"model.layers.0.up.weight", {200, 100}},
                                {"model.layers.0.norm.weight", {64}},
                                {"lm_head.weight", {70, 64}}};

TEST_F(CheckpointTest, LinearWeightsAreQuantisedAndTheRestCopied) {
  const fs::path in = write("in.safetensors", kLayer);
  const fs::path out = folder_ / "out.safetensors";
  const Reports reports = quantise(in, out, "int8", {"lm_*"});
  ASSERT_EQ(reports.size(), 4U);
  const auto report = parse_report(reports[0].second);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->n, 200);
  EXPECT_LT(report->relative, 0.01);
  EXPECT_NEAR(report->snr_db, -20 * std::log10(report->relative), 0.01);

  const Checkpoint before(in);
  const Checkpoint after(out);
  for (const char* name :
       {"model.embed_tokens.weight", "model.layers.0.norm.weight", "lm_head.weight"}) {
    ASSERT_NE(after.find(name), nullptr) << name;
    EXPECT_TRUE(std::ranges::equal(after.find(name)->data(), before.find(name)->data()));
  }
  EXPECT_EQ(after.find("model.layers.0.up.weight"), nullptr);
  const Place packed = *after.find("model.layers.0.up.weight.gemwright");
  // Kernels may read it where it is mapped.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packed.data().data()) % 64, 0U);
  const Place plain = *before.find("model.layers.0.up.weight");
  const auto values = bf16_values(plain);
  EXPECT_EQ(unpack(packed), gemwright::quantise(parse_weight_format("int8"), 200, 100,
                                                DataType::f32, values.data()));
  EXPECT_EQ(after.shards()[0].file.header().metadata.at("format"), "pt");
}

TEST_F(CheckpointTest, AFolderGivesAFolderWithAnIndex) {
  write("in/a.safetensors", {{"one.weight", {64, 64}}});
  write("in/b.safetensors", {{"two.weight", {64, 64}}});
  files::write_atomically(folder_ / "in/config.json", "{}");
  quantise(folder_ / "in", folder_ / "out", "nf4");
  const Checkpoint by_index(folder_ / "out/model.safetensors.index.json");
  EXPECT_NE(by_index.find("one.weight.gemwright"), nullptr);
  EXPECT_NE(by_index.find("two.weight.gemwright"), nullptr);
  EXPECT_EQ(files::read(folder_ / "out/config.json"), "{}");
}

TEST_F(CheckpointTest, GoesOnWhereItWasInterrupted) {
  const fs::path in = write("in.safetensors", {{"a.weight", {64, 64}}, {"b.weight", {64, 64}}});
  const fs::path out = folder_ / "out.safetensors";
  int asked = 0;
  EXPECT_THROW(quantise(in, out, "nf4", {}, [&] { return ++asked > 1; }), Cancelled);
  EXPECT_FALSE(fs::exists(out));
  const auto partial = files::SafetensorsWriter::partial(out);
  ASSERT_TRUE(fs::exists(partial));
  asked = 0;
  const Reports reports = quantise(in, out, "nf4", {}, [&] {
    ++asked;
    return false;
  });
  EXPECT_EQ(asked, 1);  // one was done
  EXPECT_TRUE(parse_report(reports[0].second));
  EXPECT_TRUE(parse_report(reports[1].second));
  EXPECT_FALSE(fs::exists(partial));
  // Done as a whole: nothing is made again; another format is.
  asked = 0;
  quantise(in, out, "nf4", {}, [&] { return ++asked > 0; });
  EXPECT_EQ(asked, 0);
  quantise(
      in, out, "nf4", {}, [&] { return ++asked > 2; }, true);
  EXPECT_EQ(asked, 2) << "to overwrite is to make anew";
  quantise(in, out, "int4", {}, {}, true);
  EXPECT_EQ(unpack(*Checkpoint(out).find("a.weight.gemwright")).format,
            parse_weight_format("int4"));
}

TEST_F(CheckpointTest, ExportGivesPlainTensorsBack) {
  const fs::path in = write("in.safetensors", kLayer);
  quantise(in, folder_ / "packed.safetensors", "nf4");
  const Checkpoint packed(folder_ / "packed.safetensors");
  convert(packed, folder_ / "plain.safetensors",
          [](const auto& shard) { return export_jobs(shard, DataType::bf16); },
          {.stamp = "export"});
  const Checkpoint plain(folder_ / "plain.safetensors");
  const CodedWeight weight = unpack(*packed.find("model.layers.0.up.weight.gemwright"));
  std::vector<std::uint16_t> values(200 * 100);
  dequantise(weight, DataType::bf16, values.data());
  const Place* place = plain.find("model.layers.0.up.weight");
  ASSERT_NE(place, nullptr);
  EXPECT_TRUE(std::ranges::equal(place->data(), std::as_bytes(std::span(values))));
  EXPECT_EQ(place->tensor->shape, (std::vector<std::int64_t>{200, 100}));
}

TEST_F(CheckpointTest, ImportsExpertsOneByOne) {
  files::Header header;
  header.tensors = {{"mlp.experts.up_proj_blocks", "U8", {2, 64, 3, 16}},
                    {"mlp.experts.up_proj_scales", "U8", {2, 64, 3}},
                    {"mlp.experts.up_proj_bias", "BF16", {2, 64}}};
  const fs::path in = folder_ / "in.safetensors";
  std::vector<std::uint8_t> codes(2 * 64 * 48);
  for (auto& code : codes) code = static_cast<std::uint8_t>(random_());
  std::vector<std::uint8_t> scales(2 * 64 * 3);
  for (auto& scale : scales) scale = static_cast<std::uint8_t>(120 + random_() % 10);
  {
    files::SafetensorsWriter writer(in, header, "");
    writer.write(writer.header().tensors[0], 0, std::as_bytes(std::span(codes)));
    writer.write(writer.header().tensors[1], 0, std::as_bytes(std::span(scales)));
    writer.commit();
  }
  const Checkpoint checkpoint(in);
  const auto foreign = find_foreign(checkpoint, {});
  ASSERT_EQ(foreign.size(), 2U);
  EXPECT_EQ(foreign[1].weight_name(), "mlp.experts.up_proj.1.weight");
  convert(checkpoint, folder_ / "out.safetensors",
          [&](const auto& shard) { return import_jobs(checkpoint, shard, foreign, {}); }, {});
  const Checkpoint out(folder_ / "out.safetensors");
  EXPECT_NE(out.find("mlp.experts.up_proj_bias"), nullptr);
  EXPECT_EQ(out.find("mlp.experts.up_proj_blocks"), nullptr);
  const CodedWeight second = unpack(*out.find("mlp.experts.up_proj.1.weight.gemwright"));
  EXPECT_EQ(key(second.format), "e2m1:g32:e8m0");
  EXPECT_EQ(second.k, 96);
  EXPECT_EQ(second.codes[3], codes[64 * 48 + 1] >> 4);
  EXPECT_EQ(second.scales[5], scales[64 * 3 + 5]);
}

TEST_F(CheckpointTest, RefusesWithTheTensorsName) {
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "taken";
  };
  const fs::path in = write("in.safetensors", {{"a.weight", {64, 64}}});
  EXPECT_NE(message([&] { quantise(in, in, "nf4"); }).find("another place"), std::string::npos);
  quantise(in, folder_ / "out.safetensors", "nf4");
  // A packed weight whose own header is damaged.
  std::string bytes = *files::read(folder_ / "out.safetensors");
  bytes[bytes.find("GWWEIGHT")] = 'X';
  files::write_atomically(folder_ / "damaged.safetensors", bytes);
  const Checkpoint damaged(folder_ / "damaged.safetensors");
  EXPECT_NE(
      message([&] { unpack(*damaged.find("a.weight.gemwright")); }).find("a.weight.gemwright"),
      std::string::npos);
  // A weight with a NaN.
  std::string plain = *files::read(in);
  plain.replace(plain.size() - 2, 2, "\xC0\x7F");
  files::write_atomically(folder_ / "nan.safetensors", plain);
  const std::string said = message(
      [&] { quantise(folder_ / "nan.safetensors", folder_ / "nan_out.safetensors", "nf4"); });
  EXPECT_NE(said.find("nan.safetensors: a.weight: given no finite number in row 63, column 63;"),
            std::string::npos)
      << said;
  const auto partial = files::SafetensorsWriter::partial(folder_ / "nan_out.safetensors");
  EXPECT_FALSE(fs::exists(partial)) << "nothing can go on with it";
  EXPECT_FALSE(fs::exists(folder_ / "nan_out.safetensors.journal"));
  write("twice/a.safetensors", {{"a.weight", {64, 64}}});
  write("twice/b.safetensors", {{"a.weight", {64, 64}}});
  EXPECT_NE(message([&] { const Checkpoint twice(folder_ / "twice"); }).find("a.weight"),
            std::string::npos);
}

TEST(Matches, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches("lm_head.weight", "lm_*"));
  EXPECT_TRUE(matches("a.b.c", "*.?.*"));
  EXPECT_TRUE(matches("abcbc", "*bc"));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("abc", "ab"));
  EXPECT_FALSE(matches("ab", "ab?"));
}

}  // namespace
}  // namespace gemwright::checkpoint
