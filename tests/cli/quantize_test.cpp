#include "checkpoint/checkpoint.hpp"
#include "cli/support.hpp"
#include "files/safetensors.hpp"
#include <gemwright/problem.hpp>

#include <fstream>
#include <vector>

namespace gemwright::cli {
namespace {

class Quantize : public CommandTest {
 protected:
  Quantize() : in_(folder_ / "in.safetensors") {
    files::Header header;
    header.tensors = {{"layer.weight", "F32", {64, 128}}, {"norm.weight", "F32", {128}}};
    files::SafetensorsWriter writer(in_, header, "");
    std::vector<float> values(64 * 128);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    }
    writer.write(writer.header().tensors[0], 0, std::as_bytes(std::span(values)));
    writer.commit();
  }

  std::filesystem::path in_;
};

TEST_F(Quantize, QuantizesInspectsAndExports) {
  const std::string out = folder_ / "out.safetensors";
  ASSERT_EQ(run({"quantize", in_, "-o", out, "--format", "nf4", "--group", "32", "--scale", "f16"}),
            kDone)
      << err_;
  EXPECT_TRUE(said("nf4:g32:f16"));
  EXPECT_TRUE(said("layer.weight"));
  EXPECT_TRUE(said(" dB"));
  ASSERT_EQ(run({"inspect", out}), kDone);
  EXPECT_TRUE(said("64 x 128"));
  EXPECT_TRUE(said("nf4:g32:f16"));
  ASSERT_EQ(run({"inspect", out, "--json"}), kDone);
  EXPECT_EQ(json().at(0).at("type"), "nf4:g32:f16");
  ASSERT_EQ(run({"export", out, "-o", folder_ / "plain.safetensors", "--dtype", "f32"}), kDone);
  const checkpoint::Checkpoint plain(folder_ / "plain.safetensors");
  ASSERT_NE(plain.find("layer.weight"), nullptr);
  EXPECT_EQ(plain.find("layer.weight")->tensor->type, "F32");
}

TEST_F(Quantize, WhatIsPackedIsASourceOfProblems) {
  const std::string out = folder_ / "out.safetensors";
  ASSERT_EQ(run({"quantize", in_, "-o", out, "--format", "int4"}), kDone) << err_;
  const std::vector<std::string> tune = {"tune", "--device", "cpu:1",         "--model", "--json",
                                         "--m",  "4",        "--safetensors", out};
  ASSERT_EQ(run(tune), kDone) << err_;
  const auto rows = json().at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("role"), "layer");
  EXPECT_EQ(rows[0].at("problem"),
            key(Problem::linear(4, 64, 128, DataType::bf16, parse_weight_format("int4"))));
  auto others = tune;
  others.insert(others.end(), {"--dtype", "f16", "--only", "layer"});
  ASSERT_EQ(run(others), kDone) << err_;
  EXPECT_EQ(json().at("rows")[0].at("type"), "f16");
  others.insert(others.end(), {"--format", "nf4"});
  EXPECT_EQ(run(others), kUsage);
  EXPECT_TRUE(failed_with("--format: given nf4")) << err_;
  EXPECT_TRUE(failed_with("with weights packed as int4")) << err_;
}

TEST_F(Quantize, ReportsErrorsAsJson) {
  ASSERT_EQ(run({"quantize", in_, "-o", folder_ / "out.safetensors", "--format", "int8", "--json"}),
            kDone);
  EXPECT_EQ(json().at("format"), "int8:row:f32");
  EXPECT_EQ(json().at("weights").at(0).at("name"), "layer.weight");
  EXPECT_LT(json().at("weights").at(0).at("relative_error"), 0.01);
}

TEST_F(Quantize, KeepsWhatItIsTold) {
  const std::string out = folder_ / "out.safetensors";
  ASSERT_EQ(run({"quantize", in_, "-o", out, "--keep", "layer*"}), kDone);
  ASSERT_EQ(run({"inspect", out, "--json"}), kDone);
  EXPECT_EQ(json().at(0).at("type"), "F32");
}

TEST_F(Quantize, WrongUsageIsSaidInOneLine) {
  const std::string out = folder_ / "out.safetensors";
  EXPECT_EQ(run({"quantize", in_}), kUsage);
  EXPECT_EQ(run({"quantize", in_, "-o", out, "--format", "nf5"}), kUsage);
  EXPECT_TRUE(failed_with(": --format: given nf5; allowed: nf4, nf3")) << err_;
  EXPECT_TRUE(failed_with("lut2 or CODES:GROUP:SCALE")) << err_;
  EXPECT_EQ(run({"quantize", in_, "-o", out, "--group", "48"}), kUsage);
  EXPECT_TRUE(failed_with(": --group: given 48; allowed: 16, 32")) << err_;
  EXPECT_EQ(run({"quantize", in_, "-o", out, "--scale", "f8"}), kUsage);
  EXPECT_TRUE(failed_with(": --scale: given \"f8\"")) << err_;
  EXPECT_EQ(run({"quantize", in_, "-o", out, "--keep", "nothing*"}), kUsage);
  EXPECT_TRUE(failed_with(": --keep: given nothing*")) << err_;
  EXPECT_EQ(run({"quantize", in_, "-o", folder_}), kUsage);
  EXPECT_TRUE(failed_with(": --out: given ")) << err_;
  EXPECT_EQ(run({"quantize", in_, "-o", out, "--moments", in_}), kUsage);
  EXPECT_TRUE(failed_with("in.safetensors: layer.weight: given 8192 elements of F32")) << err_;
  EXPECT_FALSE(std::filesystem::exists(out + ".partial"));
  EXPECT_EQ(run({"export", in_, "-o", out, "--dtype", "int8"}), kUsage);
  EXPECT_TRUE(failed_with(": --dtype: given ")) << err_;
  EXPECT_EQ(run({"quantize", folder_ / "none", "-o", out}), kUsage);
  EXPECT_TRUE(failed_with("no such file"));
  EXPECT_EQ(run({"import", in_, "-o", out}), kNothingFound);
  std::ofstream(folder_ / "short.safetensors") << "abc";
  EXPECT_EQ(run({"inspect", folder_ / "short.safetensors"}), kUsage);
  EXPECT_TRUE(failed_with("fewer than 8 bytes"));
}

TEST_F(Quantize, AnOutputThatIsThereIsNotLost) {
  const std::string out = folder_ / "out.safetensors";
  ASSERT_EQ(run({"quantize", in_, "-o", out}), kDone);
  EXPECT_EQ(run({"quantize", in_, "-o", out}), kDone) << "it is what this run would make";
  const std::vector<std::string> other = {"quantize", in_, "-o", out, "--format", "int8"};
  EXPECT_EQ(run(other), kUsage);
  EXPECT_TRUE(failed_with("--force")) << err_;
  auto forced = other;
  forced.emplace_back("--force");
  EXPECT_EQ(run(forced), kDone);
  std::ofstream(out) << "something of mine";
  EXPECT_EQ(run(other), kUsage);
  EXPECT_EQ(run({"export", in_, "-o", out}), kUsage);
  EXPECT_EQ(std::filesystem::file_size(out), 17U);
}

TEST_F(Quantize, ARepeatSaysSoAndForceMakesAnew) {
  const std::vector<std::string> once = {"quantize", in_, "-o", folder_ / "out.safetensors"};
  ASSERT_EQ(run(once), kDone);
  ASSERT_EQ(run(once), kDone);
  EXPECT_TRUE(said("layer.weight")) << out_;
  EXPECT_TRUE(said("1 weight made by an earlier run")) << out_;
  auto forced = once;
  forced.insert(forced.end(), {"--force", "--json"});
  ASSERT_EQ(run(forced), kDone);
  EXPECT_EQ(json().at("weights").at(0).at("made"), "now");
  EXPECT_GT(json().at("weights").at(0).at("snr_db"), 0);
}

TEST_F(Quantize, WhatIsPackedAlreadyIsCopiedUnderItsOwnFormat) {
  const std::string packed = folder_ / "packed.safetensors";
  ASSERT_EQ(run({"quantize", in_, "-o", packed, "--format", "nf4"}), kDone);
  const std::vector<std::string> again = {"quantize", packed, "-o", folder_ / "b.safetensors",
                                          "--format", "int4"};
  ASSERT_EQ(run(again), kDone);
  EXPECT_TRUE(said("0 weights as int4")) << out_;
  EXPECT_TRUE(said("1 weight packed already, as nf4:g64:bf16: copied")) << out_;
  EXPECT_FALSE(said("earlier")) << out_;
  ASSERT_EQ(run(again), kDone);
  EXPECT_FALSE(said("earlier")) << out_;
}

TEST_F(Quantize, OfAFolderOnlyTheModelsFilesGoAlong) {
  const auto in = folder_ / "model";
  std::filesystem::create_directories(in);
  std::filesystem::copy_file(in_, in / "model.safetensors");
  for (const char* name : {"config.json", "tokenizer.model", ".hidden.json", "run.log", "x.db"}) {
    std::ofstream(in / name) << "{}";
  }
  const std::string out = folder_ / "made";
  ASSERT_EQ(run({"quantize", in, "-o", out, "--json"}), kDone) << err_;
  EXPECT_EQ(json().at("copied"), nlohmann::json::array({"config.json", "tokenizer.model"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made/run.log"));
  EXPECT_EQ(run({"quantize", in, "-o", out}), kDone) << err_;
  std::ofstream(folder_ / "made/config.json") << "mine";
  EXPECT_EQ(run({"quantize", in, "-o", out}), kUsage);
  EXPECT_TRUE(failed_with("config.json, which is there")) << err_;
  EXPECT_EQ(run({"quantize", in, "-o", out, "--force"}), kDone) << err_;
}

TEST_F(Quantize, TheOutputIsMadeInAFolderThatIsThere) {
  const auto in = folder_ / "model";
  std::filesystem::create_directories(in);
  std::filesystem::copy_file(in_, in / "model.safetensors");
  const auto missing = folder_ / "no";
  for (const auto& [from, to] : {std::pair{in, missing / "made"},
                                 {in_, missing / "made.safetensors"},
                                 {in, missing / "such" / "made"}}) {
    EXPECT_EQ(run({"quantize", from, "-o", to}), kUsage) << to;
    EXPECT_TRUE(failed_with("--out: given " + to.string())) << err_;
    EXPECT_TRUE(failed_with(to.parent_path().string() + " is no folder")) << err_;
    EXPECT_FALSE(std::filesystem::exists(missing));
  }
  EXPECT_EQ(run({"quantize", in, "-o", (folder_ / "made").string() + "/"}), kDone) << err_;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "made" / "model.safetensors"));
}

TEST_F(Quantize, ACheckpointWithoutTensorsIsSaid) {
  const auto empty = folder_ / "empty.safetensors";
  files::SafetensorsWriter(empty, {}, "").commit();
  EXPECT_EQ(run({"inspect", empty}), kDone);
  EXPECT_TRUE(said("no tensors in ")) << out_;
}

TEST_F(Quantize, AnInterruptKeepsWhatIsDone) {
  interrupted_ = true;
  const std::string out = folder_ / "out.safetensors";
  EXPECT_EQ(run({"quantize", in_, "-o", out}), kInterrupted);
  EXPECT_NE(err_.find("run again"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out));
  interrupted_ = false;
  EXPECT_EQ(run({"quantize", in_, "-o", out}), kDone);
}

}  // namespace
}  // namespace gemwright::cli
