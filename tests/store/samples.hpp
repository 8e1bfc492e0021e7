// Records and folders for the tests of the store.
#pragma once

#include "store/database.hpp"
#include "store/record_json.hpp"
#include "support/folder_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::store {

class StoreTest : public test::FolderFixture {
 protected:
  std::filesystem::path path() const { return folder_ / "store.db"; }
  /// Files beside the store that were moved aside, without their side files.
  int moved_aside() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const auto name = entry.path().filename().string();
      const bool side = name.ends_with("-wal") || name.ends_with("-shm");
      count += name.find(".bad-") != std::string::npos && !side ? 1 : 0;
    }
    return count;
  }
};

inline std::string problem_key(int n) {
  return "m=16 n=" + std::to_string(n) +
         " k=64 a=bf16:64:1 b=bf16:1:64 d=bf16:" + std::to_string(n) + ":1";
}

inline Record sample(int n, const std::string& configuration = "avx512_14x32_kc384") {
  Record record;
  record.problem = problem_key(n);
  record.device = "test device";
  std::vector<MeasuredCandidate> candidates;
  for (int i = 0; i < 12; ++i) {
    MeasuredCandidate candidate;
    candidate.family = "cpu_packed";
    candidate.family_version = 3;
    candidate.configuration_name = configuration + (i == 0 ? "" : "_" + std::to_string(i));
    candidate.configuration_json = R"({"mr":14,"nr":32,"kc":384})";
    candidate.predicted_us = 1.5 + i;
    candidate.best_us = 1.25 + i;
    candidate.median_us = 1.375 + i;
    candidate.failure = i == 11 ? "wrong result at [3, 4]" : "";
    candidates.push_back(candidate);
  }
  record.chosen = candidates.front();
  candidates.front().rule = "equal";
  candidates.front().band = 0.03125;
  record.candidates_json = candidates_to_json(candidates);
  record.floor_us = 1.0;
  record.vendor_first_us = 2.0;
  record.vendor_best_us = 1.75;
  record.margin = 0.8;
  record.noise = 0.01;
  record.note = "2 of 12 candidates were not measured within 5 s";
  record.time_limit_s = 5;
  record.policy = "cold";
  record.version = "0.1.0";
  record.driver = "none";
  record.date = "2026-11-30T12:00:00Z";
  return record;
}

inline Failure sample_failure(const std::string& reason = "fault: SIGSEGV") {
  return {"test device", "cpu_packed", 3, "avx512_bad", problem_key(1), reason};
}

}  // namespace gemwright::store
