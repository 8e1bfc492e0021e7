#include "store/transfer.hpp"

#include "store/record_json.hpp"
#include "store/samples.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::store {
namespace {

std::string refusal(const std::string& text) {
  const auto database = open_memory();
  try {
    import_json(*database, text);
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(database->list().empty());
    return error.what();
  }
  return "taken";
}

std::string exported() {
  const auto database = open_memory();
  database->keep(sample(1), false);
  database->keep(sample(2), false);
  database->remember_failure(sample_failure());
  return export_json(*database);
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = exported();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Transfer, GoesRound) {
  const auto database = open_memory();
  const auto imported = import_json(*database, exported());
  EXPECT_EQ(imported.records, 2);
  EXPECT_EQ(imported.kept, 2);
  EXPECT_EQ(imported.failures, 1);
  EXPECT_EQ(export_json(*database), exported());
}

TEST(Transfer, TheRuleGoesAlong) {
  const auto database = open_memory();
  import_json(*database, exported());
  const auto winner = candidates_from_json(database->list().front().candidates_json).front();
  EXPECT_EQ(winner.rule, "equal");
  EXPECT_EQ(winner.band, 0.03125);
}

TEST(Transfer, ReadsExportsFromBeforeRulesWereRecorded) {
  Json old = Json::parse(exported());
  for (auto& record : old["records"]) {
    EXPECT_EQ(record["candidates"][0].erase("rule"), 1U);
    EXPECT_EQ(record["candidates"][0].erase("band"), 1U);
  }
  const auto database = open_memory();
  EXPECT_EQ(import_json(*database, old.dump()).kept, 2);
  EXPECT_EQ(Json::parse(export_json(*database)), old) << "and nothing is added";
}

TEST(Transfer, MergesByDate) {
  const auto database = open_memory();
  Record newer = sample(1, "newer");
  newer.date = "2027-01-01T00:00:00Z";
  database->keep(newer, false);
  EXPECT_EQ(import_json(*database, exported()).kept, 1);
  EXPECT_EQ(database->find(newer.problem, newer.device)->chosen.configuration_name, "newer");
}

TEST(Transfer, ExportsOneDevice) {
  const auto database = open_memory();
  database->keep(sample(1), false);
  const auto text = export_json(*database, "another device");
  EXPECT_EQ(Json::parse(text)["records"].size(), 0U);
}

TEST(Transfer, RefusesNumbersAndDepthBeyondReason) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const auto& text : {deep, changed("\"family\": \"cpu_packed\"", "\"family\": " + deep)}) {
    EXPECT_NE(refusal(text).find("nested deeper than 32"), std::string::npos);
  }
  EXPECT_NE(refusal(changed("\"mr\": 14", "\"mr\": []")).find("parameters.mr"), std::string::npos);
  EXPECT_NE(refusal(changed("\"floor_us\": 1.0", "\"floor_us\": 1e999")).find("1e999"),
            std::string::npos);
}

TEST(Transfer, RefusesWithThePlace) {
  EXPECT_NE(refusal("{\"gemwright_store\": 1,\n \"records\": [,]}").find("line 2"),
            std::string::npos);
  EXPECT_EQ(refusal("[]"), "gemwright_store: given nothing; allowed: 1");
  EXPECT_EQ(refusal(R"({"gemwright_store": 2})"), "gemwright_store: given 2; allowed: 1");
  EXPECT_EQ(refusal(R"({"gemwright_store": 1, "records": 3, "failures": []})"),
            "records: given number; allowed: an array");
  EXPECT_EQ(refusal(changed("\"floor_us\": 1.0", "\"floor_us\": -1")),
            "records[0].floor_us: given -1; allowed: a number of at least 0");
  EXPECT_EQ(refusal(changed("\"family\": \"cpu_packed\"", "\"family\": 7")),
            "records[0].chosen.family: given 7; allowed: a string");
  EXPECT_NE(refusal(changed("m=16", "m=x")).find("records[0].problem"), std::string::npos);
  EXPECT_NE(refusal(changed("\"reason\"", "\"raison\"")).find("failures[0].reason"),
            std::string::npos);
}

}  // namespace
}  // namespace gemwright::store
