// The fuzz targets on their committed corpora, as ordinary tests.
#include "files/files.hpp"
#include "fuzz/targets.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace gemwright::fuzz {
namespace {

// Also every prefix of each input, since cut text is what parsers meet most.
void run(const std::string& name, void (*target)(std::string_view)) {
  int inputs = 0;
  const std::string folder = GEMWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/" + name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string text = files::read(entry.path()).value_or("");
    for (std::size_t size = 0; size <= text.size(); ++size) {
      target(std::string_view(text).substr(0, size));
    }
    ++inputs;
  }
  EXPECT_GT(inputs, 0) << folder;
}

TEST(Corpus, ModelConfig) {
  run("model_config", model_config);
}
TEST(Corpus, Safetensors) {
  run("safetensors", safetensors);
}
TEST(Corpus, ProblemKey) {
  run("problem_key", problem_key);
}
TEST(Corpus, Table) {
  run("table", table);
}
TEST(Corpus, StoreExport) {
  run("store_export", store_export);
}

}  // namespace
}  // namespace gemwright::fuzz
