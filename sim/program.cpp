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

TaskId Program::add_series(DeviceId device, DeviceId engine, std::span<const std::vector<Element>> beats) {
  if (device >= devices_.size() || engine >= devices_.size())
    throw std::invalid_argument("a series uses an unknown device");
  if (beats.empty()) throw std::invalid_argument("a series needs an element");
  Series series{device, engine, static_cast<std::uint32_t>(beats_.size())};
  bool uses_engine = false;
  for (const std::vector<Element>& beat : beats) {
    if (beat.empty()) throw std::invalid_argument("a beat needs an element");
    for (const Element& e : beat) {
      if (e.fixed.ps < 0) throw std::invalid_argument("an element's length must not be negative");
      if (e.flow != Task::kNoFlow && e.flow >= flows_.size())
        throw std::invalid_argument("an element uses an unknown flow");
    }
    beats_.push_back({static_cast<std::uint32_t>(elements_.size()), static_cast<std::uint32_t>(beat.size())});
    elements_.insert(elements_.end(), beat.begin(), beat.end());
    uses_engine = uses_engine || beat.size() > 1;
    ++series.beats;
    series.elements += static_cast<std::uint32_t>(beat.size());
    series.tasks += static_cast<std::uint32_t>(beat.size() > 1 ? beat.size() + 2 : 1);
  }
  if (uses_engine && device == engine)
    throw std::invalid_argument("a series with an engine needs two different devices");
  const DeviceId devices[] = {device, engine};
  const TaskId t =
      add_task(std::span(devices).first(uses_engine ? 2 : 1), Task::kNoFlow, {}, beats.front().front().tag);
  tasks_[t].series = static_cast<SeriesId>(series_.size());
  series_.push_back(series);
  more_when_expanded_ += series.tasks - 1;
  return t;
}

void Program::add_again(TaskId first, TaskId beyond) {
  if (first > beyond || beyond > tasks_.size()) throw std::invalid_argument("there are no such tasks");
  // Copies share the range of devices.
  for (TaskId t = first; t < beyond; ++t) {
    tasks_.push_back(Task{tasks_[t]});
    if (tasks_[t].series != Task::kNoSeries) more_when_expanded_ += series_[tasks_[t].series].tasks - 1;
  }
}

Program::Expansion Program::expanded() const {
  Expansion out{*this, {}, {}};
  Program& p = out.program;
  p.tasks_.clear();
  p.task_devices_.clear();
  p.dependencies_.clear();
  p.series_.clear();
  p.more_when_expanded_ = 0;
  const FlowId nothing = p.add_flow({});
  const auto mark = [&](std::uint32_t element) { out.element.resize(p.tasks_.size(), element); };
  const auto add = [&](DeviceId device, std::uint32_t element) {
    const Element& e = elements_[element];
    p.add_task({&device, 1}, e.flow, e.fixed, e.tag);
    mark(element);
  };
  for (const Task& task : tasks_) {
    out.first.push_back(static_cast<TaskId>(p.tasks_.size()));
    const std::span devices = std::span(task_devices_).subspan(task.first_device, task.device_count);
    if (task.series == Task::kNoSeries) {
      p.add_task(devices, task.flow, task.fixed, task.tag);
      mark(Expansion::kNoElement);
      continue;
    }
    const Series& s = series_[task.series];
    const auto meet = [&] {
      p.add_task(devices, nothing, {}, task.tag);
      mark(Expansion::kNoElement);
    };
    for (const Beat& b : std::span(beats_).subspan(s.first_beat, s.beats)) {
      if (b.count > 1) meet();
      for (std::uint32_t e = 1; e < b.count; ++e) add(s.engine, b.first + e);
      add(s.device, b.first);
      if (b.count > 1) meet();
    }
  }
  out.first.push_back(static_cast<TaskId>(p.tasks_.size()));
  for (const auto& [before, after] : dependencies_)
    p.dependencies_.emplace_back(out.first[before + 1] - 1, out.first[after]);
  return out;
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
