// What the store keeps of one tuned problem.
#pragma once

#include <gemwright/plan.hpp>

#include <string>

namespace gemwright::store {

/// One measured or dropped candidate, self-describing.
struct MeasuredCandidate {
  std::string family;
  int family_version = 0;
  std::string configuration_name;
  std::string configuration_json;  // parameters by name
  double predicted_us = 0;
  double best_us = 0;
  double median_us = 0;
  bool vendor = false;
  std::string failure;
  // In the evidence, of the winner alone: the rule that made it so, by name, and the band it used.
  // Empty where an earlier version tuned.
  std::string rule;
  double band = 0;
};

/// One row: a canonical problem on a device, its winner, and the evidence. Few who look a problem
/// up ask for the evidence, and reading it costs more than all the rest.
struct Record {
  std::string problem;  // key()
  std::string device;   // Device::key()
  MeasuredCandidate chosen;
  std::string candidates_json = "[]";  // the evidence, kept as text: see candidates_from_json()
  double floor_us = 0;
  double vendor_first_us = 0;
  double vendor_best_us = 0;
  double margin = 0;
  double noise = 0;
  std::string note;         // why it is not the whole answer; empty when it is
  double time_limit_s = 0;  // the limit that cut the tuning short: a longer one may tune again
  std::string policy;       // how it was measured; another policy's rows are still answers
  std::string version;      // of gemwright
  std::string driver;
  std::string date;  // UTC, ISO 8601
};

/// A candidate that faulted, hung, failed to build or was wrong; not tried again on that version.
struct Failure {
  std::string device;
  std::string family;
  int family_version = 0;
  std::string configuration_name;
  std::string problem;  // key() of the problem it happened on
  std::string reason;
};

}  // namespace gemwright::store
