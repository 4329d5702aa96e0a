// Program of a simulation: tasks on devices, coflows over shared resources, dependencies.
//
// Knows no transformer, no Trainium and no file format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "units/quantity.h"
#include "units/sim_time.h"

namespace trnplan::sim {

using ResourceId = std::uint32_t;
using DeviceId = std::uint32_t;
using FlowId = std::uint32_t;
using TaskId = std::uint32_t;
using SeriesId = std::uint32_t;

/// True if a resource may have this capacity (bytes/s): positive, and far from where levels would overflow.
constexpr bool is_capacity(double c) {
  return c > 1e-100 && c < 1e100;
}

/// Largest number of equal flows that one coflow may stand for on a resource.
inline constexpr double kMostFlowsInOne = 64;

/// Bytes a coflow pushes through a resource from its start to its end.
struct Weight {
  ResourceId resource = 0;
  double bytes = 0;
};

/// A collective as one thing: all its transfers progress together. While the coflow has progress rate x
/// (1/s), it uses bytes * x of each resource.
struct Flow {
  std::vector<Weight> weights;  ///< ascending by resource, no resource twice, bytes > 0
  /// Flows get equal shares of progress times this. Bytes; 0 stands for the largest weight. A coflow that
  /// stands for several equal flows says what one of them has, so that it gets what they would get together.
  double scale = 0;
};

/// One task. It starts when everything it depends on and the previous task of each of its devices has ended.
/// Its length is `fixed`, and after that the time its flow needs to reach progress 1.
struct Task {
  SimTime fixed;
  FlowId flow = kNoFlow;
  std::uint32_t tag = 0;           ///< free for the caller: what the task is
  std::uint32_t first_device = 0;  ///< range in Program::task_devices
  std::uint32_t device_count = 0;
  SeriesId series = kNoSeries;  ///< the task is a series; then its length and flow are those of its elements

  static constexpr FlowId kNoFlow = 0xffffffffu;
  static constexpr SeriesId kNoSeries = 0xffffffffu;
};

/// Work or a transfer in a series, like a task.
struct Element {
  SimTime fixed;
  FlowId flow = Task::kNoFlow;
  std::uint32_t tag = 0;
};

/// Elements that start together: one on the device of the series, and meanwhile others on its engine, one after the
/// other. The next beat starts when all have ended. A range in Program::elements(), the device's element first.
struct Beat {
  std::uint32_t first = 0, count = 1;
};

/// Beats one after the other, as one task: what a queue does again and again takes a task each time.
struct Series {
  DeviceId device = 0, engine = 0;
  std::uint32_t first_beat = 0, beats = 0;  ///< range in Program::beats(), not empty
  std::uint32_t elements = 0;
  std::uint32_t tasks = 0;  ///< when it is expanded
};

/// A directed acyclic graph of tasks. Devices are in-order queues: tasks of a device run one after the other
/// in the order they were added. A task may sit in several queues at once (a rendezvous: it starts when all
/// reach it).
class Program {
 public:
  /// Throws std::invalid_argument unless is_capacity().
  ResourceId add_resource(std::string name, BytesPerSecond capacity);
  DeviceId add_device(std::string name);
  /// Weights of one resource are added up, zero weights dropped. Throws std::invalid_argument for an unknown
  /// resource, for bytes that are negative or not finite, and for a scale (see Flow) that is not 0 and below
  /// the largest weight over kMostFlowsInOne.
  FlowId add_flow(std::vector<Weight> weights, double scale = 0);

  /// Work of known length on one device. Throws std::invalid_argument for a negative length or an unknown
  /// device.
  TaskId add_work(DeviceId device, SimTime length, std::uint32_t tag = 0);
  /// A transfer that occupies `devices` (possibly none) for `latency` and then until its flow is done.
  TaskId add_transfer(const std::vector<DeviceId>& devices, FlowId flow, SimTime latency,
                      std::uint32_t tag = 0);
  /// A series in the queue of a device and, if a beat has more than one element, of its engine. Throws
  /// std::invalid_argument for unknown devices, an engine that is the device, an unknown flow, a negative length, and
  /// where there are no beats or one has no elements.
  TaskId add_series(DeviceId device, DeviceId engine, std::span<const std::vector<Element>> beats);
  /// The tasks from `first` on and below `beyond` once more, without their dependencies. Throws
  /// std::invalid_argument for unknown tasks.
  void add_again(TaskId first, TaskId beyond);
  /// `after` starts only when `before` has ended. Throws std::invalid_argument for unknown or equal tasks.
  void add_dependency(TaskId before, TaskId after);

  /// Slows work on device `work` by `factor` while a transfer on device `transfers` moves bytes:
  /// a core's collectives take HBM and DMA bandwidth from its compute engines. Of several such devices one is as
  /// many. Throws std::invalid_argument for unknown or equal devices, a factor below 1 or not finite, a second
  /// slowdown of the same two devices, or by another factor.
  void add_slowdown(DeviceId work, DeviceId transfers, double factor);

  /// The program with a task for each element of a series, and tasks without length where beats with an engine begin
  /// and end, at which the two queues meet.
  struct Expansion;
  Expansion expanded() const;
  /// Number of its tasks.
  std::size_t expanded_tasks() const { return tasks_.size() + more_when_expanded_; }

  struct Slowdown {
    DeviceId work = 0, transfers = 0;
    double factor = 1;
  };
  struct Resource {
    std::string name;
    BytesPerSecond capacity;
  };
  const std::vector<Resource>& resources() const { return resources_; }
  const std::vector<std::string>& devices() const { return devices_; }
  const std::vector<Flow>& flows() const { return flows_; }
  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<Beat>& beats() const { return beats_; }
  const std::vector<Element>& elements() const { return elements_; }
  const std::vector<DeviceId>& task_devices() const { return task_devices_; }
  const std::vector<std::pair<TaskId, TaskId>>& dependencies() const { return dependencies_; }
  const std::vector<Slowdown>& slowdowns() const { return slowdowns_; }

  bool is_series(TaskId t) const { return tasks_[t].series != Task::kNoSeries; }
  /// The device in whose queue alone a task is, or that of a series; kNoDevice for others.
  DeviceId device_of(TaskId t) const {
    const Task& task = tasks_[t];
    return task.device_count == 1 || is_series(t) ? task_devices_[task.first_device] : kNoDevice;
  }
  static constexpr DeviceId kNoDevice = 0xffffffffu;
  /// The series that a task is, the number of one of its beats in beats(), and that of its first element in elements().
  /// Requires: is_series().
  const Series& series_of(TaskId t) const { return series_[tasks_[t].series]; }
  std::uint32_t beat_of(TaskId t, std::uint32_t beat) const { return series_of(t).first_beat + beat; }
  std::uint32_t first_element(TaskId t) const { return beats_[series_of(t).first_beat].first; }
  /// Number of beats; a task that is no series has one.
  std::uint32_t beats_of(TaskId t) const { return is_series(t) ? series_of(t).beats : 1; }
  /// True if elements of a beat of a task are on an engine.
  bool has_engine(TaskId t, std::uint32_t beat) const {
    return is_series(t) && beats_[beat_of(t, beat)].count > 1;
  }
  /// An element of a beat of a task, the first on its device; of a task that is no series the task itself.
  Element element(TaskId t, std::uint32_t beat, std::uint32_t of_beat = 0) const {
    if (!is_series(t)) return {tasks_[t].fixed, tasks_[t].flow, tasks_[t].tag};
    return elements_[beats_[beat_of(t, beat)].first + of_beat];
  }

 private:
  TaskId add_task(std::span<const DeviceId> devices, FlowId flow, SimTime fixed, std::uint32_t tag);

  std::vector<Resource> resources_;
  std::vector<std::string> devices_;
  std::vector<Flow> flows_;
  std::vector<Task> tasks_;
  std::vector<DeviceId> task_devices_;
  std::vector<std::pair<TaskId, TaskId>> dependencies_;
  std::vector<Slowdown> slowdowns_;
  std::vector<Series> series_;
  std::vector<Beat> beats_;
  std::vector<Element> elements_;
  std::size_t more_when_expanded_ = 0;
};

struct Program::Expansion {
  Program program;
  std::vector<TaskId> first;  ///< by task, its first one in `program`; one more beyond the last
  std::vector<std::uint32_t>
      element;  ///< of each task in `program`; kNoElement for those of no series and for meetings

  static constexpr std::uint32_t kNoElement = 0xffffffffu;
};

}  // namespace trnplan::sim
