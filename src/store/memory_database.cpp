#include "store/database.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace gemwright::store {
namespace {

std::size_t measured(const Record& record) {
  const auto candidates = candidates_from_json(record.candidates_json);
  return static_cast<std::size_t>(
      std::count_if(candidates.begin(), candidates.end(),
                    [](const MeasuredCandidate& candidate) { return candidate.best_us > 0; }));
}

bool matches(const std::string& wanted, const std::string& given) {
  return wanted.empty() || wanted == given;
}

class MemoryDatabase final : public Database {
 public:
  std::optional<Record> find(const std::string& problem, const std::string& device) override {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find({problem, device});
    if (found == records_.end()) return std::nullopt;
    return found->second;
  }

  Record keep(const Record& record, bool replace) override {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = records_.try_emplace({record.problem, record.device}, record);
    if (!fresh && replace) place->second = record;
    return place->second;
  }

  bool merge(const Record& record) override {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = records_.try_emplace({record.problem, record.device}, record);
    if (fresh) return true;
    if (!supersedes(record, place->second)) return false;
    place->second = record;
    return true;
  }

  std::vector<Record> list() override {
    const std::lock_guard lock(mutex_);
    std::vector<Record> records;
    records.reserve(records_.size());
    for (const auto& [key, record] : records_) records.push_back(record);
    return records;
  }

  int remove(const std::string& problem, const std::string& device) override {
    forget_failures(problem, device);
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::erase_if(records_, [&](const auto& entry) {
      return matches(problem, entry.first.first) && matches(device, entry.first.second);
    }));
  }

  void remember_failure(const Failure& failure) override {
    const std::lock_guard lock(mutex_);
    failures_.push_back(failure);
  }

  int forget_failures(const std::string& problem, const std::string& device) override {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::erase_if(failures_, [&](const Failure& failure) {
      return matches(problem, failure.problem) && matches(device, failure.device);
    }));
  }

  std::vector<Failure> failures(const std::string& device) override {
    const std::lock_guard lock(mutex_);
    std::vector<Failure> matching;
    for (const auto& failure : failures_) {
      if (matches(device, failure.device)) matching.push_back(failure);
    }
    return matching;
  }

  std::string location() const override { return "memory"; }
  std::string trouble() override { return {}; }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Record> records_;
  std::vector<Failure> failures_;
};

}  // namespace

bool supersedes(const Record& record, const Record& other) {
  if (record.date != other.date) return record.date > other.date;
  return measured(record) > measured(other);
}

std::unique_ptr<Database> open_memory() {
  return std::make_unique<MemoryDatabase>();
}

}  // namespace gemwright::store
