// Edges of a program's tasks. Internal to the executor.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/executor.h"
#include "sim/program.h"

namespace trnplan::sim {

/// Edges of the task graph: dependencies, and the order of each device's queue.
class Successors {
 public:
  explicit Successors(const Program& p) : waiting_for(p.tasks().size(), 0) {
    if (p.task_devices().empty() && p.dependencies().empty()) return;
    first_.resize(p.tasks().size() + 1);
    after_.resize(p.tasks().size(), Run::kNone);
    const std::vector<std::pair<TaskId, TaskId>> others = follow_queues(p);
    for (const auto* edges : {&p.dependencies(), &others}) {
      for (const auto& [from, to] : *edges) ++first_[from + 1];
    }
    for (std::size_t t = 1; t < first_.size(); ++t) first_[t] += first_[t - 1];
    next_.resize(first_.back());
    std::vector<std::uint32_t> fill(first_.begin(), first_.end() - 1);
    for (const auto* edges : {&p.dependencies(), &others}) {
      for (const auto& [from, to] : *edges) {
        next_[fill[from]++] = to;
        ++waiting_for[to];
      }
    }
  }

  std::vector<std::uint32_t> waiting_for;  ///< number of edges into each task

  /// Calls `visit` for dependencies in their order, then for the next tasks in the queues.
  template <class Visit>
  void each(TaskId t, Visit&& visit) const {
    if (first_.empty()) return;
    for (std::uint32_t e = first_[t]; e < first_[t + 1]; ++e) visit(next_[e]);
    if (after_[t] != Run::kNone) visit(after_[t]);
  }
  /// The next task in the queue of a task of one device, if nothing else waits for that; else kNone.
  TaskId only(TaskId t) const { return first_[t] == first_[t + 1] ? after_[t] : Run::kNone; }

 private:
  /// Sets `after_`; returns the edges from tasks of several devices.
  std::vector<std::pair<TaskId, TaskId>> follow_queues(const Program& p) {
    std::vector<std::pair<TaskId, TaskId>> others;
    std::vector<TaskId> last(p.devices().size(), Run::kNone);
    const std::span<const Task> tasks = p.tasks();
    const std::span<const DeviceId> devices = p.task_devices();
    for (TaskId t = 0; t < tasks.size(); ++t) {
      for (const DeviceId d : devices.subspan(tasks[t].first_device, tasks[t].device_count)) {
        const TaskId before = std::exchange(last[d], t);
        if (before == t || before == Run::kNone) continue;  // the same device named twice
        if (tasks[before].device_count > 1) {
          others.emplace_back(before, t);
        } else {
          after_[before] = t;
          ++waiting_for[t];
        }
      }
    }
    return others;
  }

  std::vector<std::uint32_t> first_;  ///< task -> range in `next_`; empty without edges
  std::vector<TaskId> next_;
  std::vector<TaskId> after_;  ///< by task of one device
};

}  // namespace trnplan::sim
