// One run of a kernel on the caller's operands: checks, mapping to the canonical problem,
// workspace.
#pragma once

#include "families/family.hpp"
#include <gemwright/device.hpp>
#include <gemwright/plan.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace gemwright {

/// Workspaces of one plan for runs that bring none. On a CPU a run owns one while it lasts, so
/// there are as many as runs overlap; the first is made with the plan. On a GPU there is one a
/// stream, since runs of one stream follow each other.
class WorkspacePool {
 public:
  WorkspacePool(Device device, std::size_t bytes);
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  void* take(Stream stream);
  void give_back(void* workspace);
  std::size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }

 private:
  static constexpr int kSlots = 64;

  Device device_;
  std::size_t bytes_;
  std::array<std::atomic<void*>, kSlots> free_{};
};

/// Throws as Plan::run says; then runs. `form` is canonical(given).
void execute(const Problem& given, const Canonical& form, const Kernel& kernel,
             const Operands& operands, Stream stream, Workspace workspace, WorkspacePool& pool);

}  // namespace gemwright
