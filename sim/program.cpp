#include "sim/program.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trnplan::sim {

ResourceId Program::add_resource(std::string name, BytesPerSecond capacity) {
  if (!is_capacity(capacity.value)) {
    throw std::invalid_argument("resource " + name +
                                ": the capacity must lie between 10^-100 and 10^100 bytes/s");
  }
  resources_.push_back({std::move(name), capacity});
  return static_cast<ResourceId>(resources_.size() - 1);
}

DeviceId Program::add_device(std::string name) {
  devices_.push_back(std::move(name));
  return static_cast<DeviceId>(devices_.size() - 1);
}

FlowId Program::add_flow(std::vector<Weight> weights, double scale) {
  const auto by_resource = [](const Weight& a, const Weight& b) { return a.resource < b.resource; };
  if (!std::is_sorted(weights.begin(), weights.end(), by_resource)) {
    std::sort(weights.begin(), weights.end(), by_resource);
  }
  std::size_t kept = 0;  // in place: those below are of the flow
  for (const Weight w : weights) {
    if (w.resource >= resources_.size()) throw std::invalid_argument("a flow uses an unknown resource");
    if (!(w.bytes >= 0) || !std::isfinite(w.bytes)) {
      throw std::invalid_argument("a flow's bytes must be finite and not negative");
    }
    if (w.bytes == 0) continue;
    if (kept > 0 && weights[kept - 1].resource == w.resource) {
      weights[kept - 1].bytes += w.bytes;
    } else {
      weights[kept++] = w;
    }
  }
  weights.resize(kept);
  Flow flow{std::move(weights), scale};
  double largest = 0;
  for (const Weight& w : flow.weights) largest = std::max(largest, w.bytes);
  if (scale != 0 && !(scale * kMostFlowsInOne >= largest && std::isfinite(scale))) {
    throw std::invalid_argument("a flow's scale is too small for its weights");
  }
  flows_.push_back(std::move(flow));
  return static_cast<FlowId>(flows_.size() - 1);
}

TaskId Program::add_task(std::span<const DeviceId> devices, FlowId flow, SimTime fixed, std::uint32_t tag) {
  if (fixed.ps < 0) throw std::invalid_argument("a task's length must not be negative");
  Task task{fixed, flow, tag, static_cast<std::uint32_t>(task_devices_.size()),
            static_cast<std::uint32_t>(devices.size())};
  for (const DeviceId d : devices) {
    if (d >= devices_.size()) throw std::invalid_argument("a task uses an unknown device");
    task_devices_.push_back(d);
  }
  tasks_.push_back(task);
  return static_cast<TaskId>(tasks_.size() - 1);
}

TaskId Program::add_work(DeviceId device, SimTime length, std::uint32_t tag) {
  return add_task({&device, 1}, Task::kNoFlow, length, tag);
}

TaskId Program::add_transfer(const std::vector<DeviceId>& devices, FlowId flow, SimTime latency,
                             std::uint32_t tag) {
  if (flow >= flows_.size()) throw std::invalid_argument("a transfer uses an unknown flow");
  return add_task(devices, flow, latency, tag);
}

void Program::add_again(TaskId first, TaskId beyond) {
  if (first > beyond || beyond > tasks_.size()) throw std::invalid_argument("there are no such tasks");
  // Copies share the range of devices.
  for (TaskId t = first; t < beyond; ++t) tasks_.push_back(Task{tasks_[t]});
}

void Program::add_dependency(TaskId before, TaskId after) {
  if (before >= tasks_.size() || after >= tasks_.size() || before == after) {
    throw std::invalid_argument("a dependency needs two different tasks of the program");
  }
  dependencies_.emplace_back(before, after);
}

void Program::add_slowdown(DeviceId work, DeviceId transfers, double factor) {
  if (work >= devices_.size() || transfers >= devices_.size() || work == transfers) {
    throw std::invalid_argument("a slowdown needs two different devices of the program");
  }
  if (!(factor >= 1) || !std::isfinite(factor)) {
    throw std::invalid_argument("a slowdown's factor must be finite and at least 1");
  }
  for (const Slowdown& s : slowdowns_) {
    if (s.work == work && (s.transfers == transfers || s.factor != factor))
      throw std::invalid_argument("a device can be slowed by one factor only, once by each other device");
  }
  slowdowns_.push_back({work, transfers, factor});
}

}  // namespace trnplan::sim
