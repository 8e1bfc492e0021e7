// This test program is its own worker, since its families exist nowhere else.
#include "tune/fakes.hpp"
#include "tune/worker.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") {
    return gemwright::tune::worker_main(gemwright::tune::find_family);
  }
  setenv("GEMWRIGHT_WORKER", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  setenv("XDG_CACHE_HOME", (testing::TempDir() + "gemwright_test_tune").c_str(), 1);
  return RUN_ALL_TESTS();
}
