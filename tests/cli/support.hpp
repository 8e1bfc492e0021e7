// The command run inside the test, on a store of its own.
#pragma once

#include "cli/command.hpp"
#include "support/folder_fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gemwright::cli {

class CommandTest : public test::FolderFixture {
 protected:
  CommandTest() {
    setenv("GEMWRIGHT_STORE", (folder_ / "store.db").c_str(), 1);
    setenv("GEMWRIGHT_CACHE", (folder_ / "cubin").c_str(), 1);
    // Kept between tests, so that the CPU is calibrated once.
    setenv("XDG_CACHE_HOME", GEMWRIGHT_TEST_CACHE, 1);
    setenv("GEMWRIGHT_WORKER", GEMWRIGHT_PROGRAM, 1);
  }

  /// The exit status; what was written is in out_ and err_.
  int run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Context context{out, err, interrupted_, false, {}};
    const int code = cli::run(arguments, context);
    out_ = out.str();
    err_ = err.str();
    return code;
  }
  nlohmann::json json() const { return nlohmann::json::parse(out_); }
  bool said(const std::string& text) const { return out_.find(text) != std::string::npos; }
  /// An error is one line that names the program.
  bool failed_with(const std::string& text) const {
    return out_.empty() && err_.rfind("gemwright: ", 0) == 0 &&
           err_.find('\n') == err_.size() - 1 && err_.find(text) != std::string::npos;
  }

  std::atomic<bool> interrupted_{false};
  std::string out_;
  std::string err_;
};

}  // namespace gemwright::cli
