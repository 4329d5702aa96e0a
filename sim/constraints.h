// Resources that can stop the flows of a program. Internal to the executor.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/fair_share.h"
#include "sim/program.h"

namespace trnplan::sim {

/// Flows over distinct constraints. Two resources of equal capacity that every flow loads alike are one
/// constraint: NICs of a node, links of a ring, replicas. Merging them changes no rate.
class Constraints {
 public:
  std::vector<double> capacity;  ///< by constraint, until somebody takes it

  /// Keeps a reference to the program.
  explicit Constraints(const Program& p) : program_(p), constraint_(lowest_alike(p)) {
    for (ResourceId r = 0; r < constraint_.size(); ++r) {
      const bool is_lowest = constraint_[r] == r;
      constraint_[r] = is_lowest ? static_cast<ResourceId>(capacity.size()) : kNoResource;
      if (is_lowest) capacity.push_back(p.resources()[r].capacity.value);
    }
    const auto flows = static_cast<FlowId>(p.flows().size());
    if (p.expanded_tasks() < kOften * flows) return;
    first_.push_back(0);
    for (FlowId f = 0; f < flows; ++f) {
      scale_.push_back(filling::scale_of(p.flows()[f]));  // merging must not change what a flow is fair by
      find_parts(f, scale_[f], parts_);
      first_.push_back(parts_.size());
    }
    for (filling::Part& part : parts_) part = part.with_level(capacity[part.resource]);
    find_devices(p);
    drop_loose();
  }
  /// The parts of a flow. Valid until the next call.
  std::span<const filling::Part> parts(FlowId f) const {
    if (recur()) return {parts_.data() + first_[f], first_[f + 1] - first_[f]};
    asked_.clear();
    find_parts(f, filling::scale_of(program_.flows()[f]), asked_);
    return asked_;
  }
  bool has_parts(FlowId f) const { return !program_.flows()[f].weights.empty(); }
  double scale(FlowId f) const { return recur() ? scale_[f] : filling::scale_of(program_.flows()[f]); }
  /// True if tasks have the same flows again and again, so that what is known of a flow beforehand pays.
  bool recur() const { return !device_.empty(); }
  /// The device in whose queue all tasks of a flow are, if they recur(); kUnused without tasks, kSeveral without such a
  /// device.
  DeviceId device(FlowId f) const { return device_[f]; }
  /// Number of tasks and elements of a flow, if they recur().
  std::size_t tasks(FlowId f) const { return tasks_[f]; }
  static constexpr DeviceId kUnused = 0xffffffffu, kSeveral = 0xfffffffeu;
  /// Adds a user to those of something.
  static void agree(DeviceId& known, DeviceId d) { known = known == kUnused || known == d ? d : kSeveral; }

 private:
  static constexpr std::size_t kOften = 4;  ///< tasks a flow
  static constexpr ResourceId kNoResource = 0xffffffffu;

  /// The lowest resource that is like each; kNoResource where no flow uses it.
  static std::vector<ResourceId> lowest_alike(const Program& p) {
    struct Column {  // what flows put on a resource: how many do, and a hash of which and how much
      std::uint64_t hash = 0;
      FlowId count = 0;
    };
    std::vector<Column> columns(p.resources().size());
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      for (const Weight& w : p.flows()[f].weights) {
        columns[w.resource].hash +=
            mixed(f * std::uint64_t{0x9e3779b97f4a7c15} ^ std::bit_cast<std::uint64_t>(w.bytes));
        ++columns[w.resource].count;
      }
    }
    std::vector<ResourceId> lowest(columns.size(), kNoResource);
    // A table of the last resource of each hash that is like none before, with open addressing.
    const auto used =
        std::count_if(columns.begin(), columns.end(), [](const Column& c) { return c.count > 0; });
    std::vector<ResourceId> table(std::bit_ceil(2 * static_cast<std::size_t>(used) + 1), kNoResource);
    const std::size_t mask = table.size() - 1;
    for (ResourceId r = 0; r < columns.size(); ++r) {
      Column& column = columns[r];
      if (column.count == 0) continue;
      column.hash ^= mixed(std::bit_cast<std::uint64_t>(p.resources()[r].capacity.value));
      std::size_t place = column.hash & mask;
      while (table[place] != kNoResource && columns[table[place]].hash != column.hash)
        place = (place + 1) & mask;
      const ResourceId other = table[place];
      const bool alike = other != kNoResource && column.count == columns[other].count &&
                         p.resources()[r].capacity.value == p.resources()[other].capacity.value;
      if (!alike) table[place] = r;
      lowest[r] = table[place];
    }
    separate(p, lowest);
    return lowest;
  }

  /// Undoes merges that a collision of hashes caused: as many flows use both, so they are alike when each
  /// that uses one loads the other as much.
  static void separate(const Program& p, std::vector<ResourceId>& lowest) {
    struct Load {
      FlowId flow = Task::kNoFlow;
      double bytes = 0;
    };
    std::vector<Load> loads(lowest.size());
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      for (const Weight& w : p.flows()[f].weights) {  // ascending by resource: the lowest comes first
        loads[w.resource] = {f, w.bytes};
        const Load& other = loads[lowest[w.resource]];
        if (other.flow != f || other.bytes != w.bytes) lowest[w.resource] = w.resource;
      }
    }
  }

  void find_parts(FlowId f, double scale, std::vector<filling::Part>& parts) const {
    for (const Weight& w : program_.flows()[f].weights) {
      if (constraint_[w.resource] == kNoResource) continue;
      parts.push_back({constraint_[w.resource], filling::share_of(w.bytes, scale)});
    }
  }

  void find_devices(const Program& p) {
    device_.assign(p.flows().size(), kUnused);
    tasks_.assign(p.flows().size(), 0);
    const auto use = [&](FlowId flow, DeviceId device, std::uint32_t times) {
      if (flow == Task::kNoFlow || times == 0) return;
      tasks_[flow] += times;
      agree(device_[flow], device);
    };
    std::vector<std::uint32_t> times(p.series().size());
    for (const Task& task : p.tasks()) {
      if (task.series != Task::kNoSeries) {
        ++times[task.series];
      } else {
        use(task.flow, task.device_count > 0 ? p.task_devices()[task.first_device] : kSeveral, 1);
      }
    }
    for (SeriesId s = 0; s < times.size(); ++s) {
      const Series& series = p.series()[s];
      for (const Beat& beat : std::span(p.beats()).subspan(series.first_beat, series.beats)) {
        for (std::uint32_t e = 0; e < beat.count; ++e)
          use(p.elements()[beat.first + e].flow, e == 0 ? series.device : series.engine, times[s]);
      }
    }
  }

  /// Drops what stops nobody: tasks of one device come one after the other, so where all flows of a resource are of
  /// such tasks, each has it alone. Then it lets a flow reach the same level at all times, and no more than another
  /// resource does that lets it reach less alone.
  void drop_loose() {
    std::vector<DeviceId> of_resource(capacity.size(), kUnused);
    const auto flows = static_cast<FlowId>(device_.size());
    for (FlowId f = 0; f < flows; ++f) {
      if (device_[f] == kUnused) continue;
      for (const filling::Part& part : parts(f)) agree(of_resource[part.resource], device_[f]);
    }
    const auto lower = [](const filling::Part& x, const filling::Part& y) { return x.level < y.level; };
    std::size_t kept = 0, first = 0;
    for (FlowId f = 0; f < flows; ++f) {
      const std::size_t beyond = first_[f + 1];
      const auto begin = parts_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(beyond);
      const ResourceId stops = begin == end ? kNoResource : std::min_element(begin, end, lower)->resource;
      first_[f] = kept;
      for (auto part = begin; part != end; ++part) {
        if (part->resource == stops || of_resource[part->resource] == kSeveral) parts_[kept++] = *part;
      }
      first = beyond;
    }
    first_[flows] = kept;
    parts_.resize(kept);
  }

  static std::uint64_t mixed(std::uint64_t h) {
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
  }

  const Program& program_;
  /// The constraint of each resource; kNoResource where another stands for it, or no flow uses it.
  std::vector<ResourceId> constraint_;
  std::vector<std::size_t> first_;  ///< flow -> range in `parts_`, if they recur()
  std::vector<filling::Part> parts_;
  std::vector<double> scale_;                 ///< by flow, if they recur()
  mutable std::vector<filling::Part> asked_;  ///< of one flow, if they do not
  std::vector<DeviceId> device_;              ///< by flow; empty if they do not recur
  std::vector<std::uint32_t> tasks_;          ///< likewise
};

}  // namespace trnplan::sim
