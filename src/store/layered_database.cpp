#include "store/database.hpp"

#include <set>
#include <utility>

namespace gemwright::store {
namespace {

class LayeredDatabase final : public Database {
 public:
  LayeredDatabase(std::unique_ptr<Database> first, std::unique_ptr<Database> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::optional<Record> find(const std::string& problem, const std::string& device) override {
    auto record = first_->find(problem, device);
    return record ? record : second_->find(problem, device);
  }

  Record keep(const Record& record, bool replace) override { return first_->keep(record, replace); }
  bool merge(const Record& record) override { return first_->merge(record); }

  std::vector<Record> list() override {
    std::vector<Record> records = first_->list();
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& record : records) seen.emplace(record.problem, record.device);
    for (auto& record : second_->list()) {
      if (!seen.contains({record.problem, record.device})) records.push_back(std::move(record));
    }
    return records;
  }

  int remove(const std::string& problem, const std::string& device) override {
    return first_->remove(problem, device);
  }

  void remember_failure(const Failure& failure) override { first_->remember_failure(failure); }

  int forget_failures(const std::string& problem, const std::string& device) override {
    return first_->forget_failures(problem, device);
  }

  std::vector<Failure> failures(const std::string& device) override {
    auto failures = first_->failures(device);
    for (auto& failure : second_->failures(device)) failures.push_back(std::move(failure));
    return failures;
  }

  std::string location() const override { return first_->location(); }
  std::string trouble() override { return first_->trouble(); }

 private:
  std::unique_ptr<Database> first_;
  std::unique_ptr<Database> second_;
};

}  // namespace

std::unique_ptr<Database> layered(std::unique_ptr<Database> first,
                                  std::unique_ptr<Database> second) {
  return std::make_unique<LayeredDatabase>(std::move(first), std::move(second));
}

}  // namespace gemwright::store
