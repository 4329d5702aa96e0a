#include "sim/executor.h"

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/event_queue.h"
#include "sim/rhythm_finder.h"
#include "sim/transfers.h"

namespace trnplan::sim {

namespace {

/// Edges of the task graph in compressed form: dependencies, and the order of each device's queue.
struct Successors {
  std::vector<std::uint32_t> first;  ///< task -> range in `next`
  std::vector<TaskId> next;
  std::vector<std::uint32_t> waiting_for;  ///< number of edges into each task

  explicit Successors(const Program& p) : first(p.tasks().size() + 1, 0), waiting_for(p.tasks().size(), 0) {
    for_each_edge(p, [&](TaskId from, TaskId) { ++first[from + 1]; });
    for (std::size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
    next.resize(first.back());
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    for_each_edge(p, [&](TaskId from, TaskId to) {
      next[fill[from]++] = to;
      ++waiting_for[to];
    });
  }

 private:
  template <class Visit>
  static void for_each_edge(const Program& p, Visit&& visit) {
    for (const auto& [before, after] : p.dependencies()) visit(before, after);
    std::vector<TaskId> last(p.devices().size(), Run::kNone);
    for (TaskId t = 0; t < p.tasks().size(); ++t) {
      const Task& task = p.tasks()[t];
      for (std::uint32_t i = 0; i < task.device_count; ++i) {
        const DeviceId d = p.task_devices()[task.first_device + i];
        if (last[d] == t) continue;  // the same device named twice
        if (last[d] != Run::kNone) visit(last[d], t);
        last[d] = t;
      }
    }
  }
};

/// Flows over distinct constraints. Two resources of equal capacity that every flow loads alike are one
/// constraint: NICs of a node, links of a ring, replicas. Merging them changes no rate.
class Constraints {
 public:
  std::vector<double> capacity;

  explicit Constraints(const Program& p) : first_(p.flows().size() + 1, 0), scale_(p.flows().size()) {
    const std::vector<ResourceId> same_as = lowest_alike(p);
    std::vector<ResourceId> constraint(same_as.size());
    for (ResourceId r = 0; r < same_as.size(); ++r) {
      if (same_as[r] != r) continue;
      constraint[r] = static_cast<ResourceId>(capacity.size());
      capacity.push_back(p.resources()[r].capacity.value);
    }
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      for (const Weight& w : p.flows()[f].weights) first_[f + 1] += same_as[w.resource] == w.resource;
      first_[f + 1] += first_[f];
    }
    parts_.reserve(first_.back());
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      scale_[f] = filling::scale_of(p.flows()[f]);  // merging must not change what a flow is fair by
      for (const Weight& w : p.flows()[f].weights) {
        if (same_as[w.resource] != w.resource) continue;
        parts_.push_back({constraint[w.resource], filling::share_of(w.bytes, scale_[f])});
      }
    }
    constexpr std::size_t kOften = 4;  // tasks a flow from which more is worth its cost
    if (p.tasks().size() < kOften * p.flows().size()) return;
    for (filling::Part& part : parts_) part = part.with_level(capacity[part.resource]);
    drop_loose(p);
  }
  std::span<const filling::Part> parts(FlowId f) const {
    return {parts_.data() + first_[f], first_[f + 1] - first_[f]};
  }
  double scale(FlowId f) const { return scale_[f]; }

 private:
  static constexpr ResourceId kUnused = 0xffffffffu;
  static constexpr DeviceId kSeveral = 0xfffffffeu;

  /// By resource the lowest one that is alike; kUnused where no flow uses it.
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
    std::vector<ResourceId> lowest(columns.size(), kUnused), by_hash;
    for (ResourceId r = 0; r < columns.size(); ++r) {
      if (columns[r].count == 0) continue;
      columns[r].hash ^= mixed(std::bit_cast<std::uint64_t>(p.resources()[r].capacity.value));
      by_hash.push_back(r);
    }
    std::sort(by_hash.begin(), by_hash.end(), [&](ResourceId a, ResourceId b) {
      return columns[a].hash != columns[b].hash ? columns[a].hash < columns[b].hash : a < b;
    });
    for (std::size_t i = 0, first = 0; i < by_hash.size(); ++i) {
      const ResourceId r = by_hash[i], other = by_hash[first];
      const bool alike = columns[r].hash == columns[other].hash && columns[r].count == columns[other].count &&
                         p.resources()[r].capacity.value == p.resources()[other].capacity.value;
      if (!alike) first = i;
      lowest[r] = by_hash[first];
    }
    separate(p, lowest);
    return lowest;
  }

  /// Where a hash has lied: as many flows use both, so they are alike when each that uses one loads the other
  /// as much.
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

  /// Drops what stops nobody: tasks of one device come one after the other, so where all flows of a resource are of
  /// such tasks, each has it alone. Then it lets a flow reach the same level at all times, and no more than another
  /// resource does that lets it reach less alone.
  void drop_loose(const Program& p) {
    std::vector<DeviceId> of_flow(scale_.size(), kUnused), of_resource(capacity.size(), kUnused);
    const auto agree = [](DeviceId& known, DeviceId d) {
      known = known == kUnused || known == d ? d : kSeveral;
    };
    for (const Task& task : p.tasks()) {
      if (task.flow == Task::kNoFlow) continue;
      agree(of_flow[task.flow], task.device_count > 0 ? p.task_devices()[task.first_device] : kSeveral);
    }
    const auto flows = static_cast<FlowId>(scale_.size());
    for (FlowId f = 0; f < flows; ++f) {
      if (of_flow[f] == kUnused) continue;
      for (const filling::Part& part : parts(f)) agree(of_resource[part.resource], of_flow[f]);
    }
    const auto lower = [](const filling::Part& x, const filling::Part& y) { return x.level < y.level; };
    std::size_t kept = 0, first = 0;
    for (FlowId f = 0; f < flows; ++f) {
      const std::size_t beyond = first_[f + 1];
      const auto begin = parts_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(beyond);
      const ResourceId stops = begin == end ? kUnused : std::min_element(begin, end, lower)->resource;
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

  std::vector<std::size_t> first_;  ///< flow -> range in `parts_`
  std::vector<filling::Part> parts_;
  std::vector<double> scale_;
};

struct ExecutorEvent {
  enum class Kind : std::uint8_t { work_end, flow_start } kind = Kind::work_end;
  std::uint32_t id = 0;  ///< task
  std::uint32_t version = 0;
};

/// A device whose work is slowed by transfers on another.
struct Pace {
  const Program::Slowdown* slowdown = nullptr;  ///< of the device as the one that works
  std::vector<DeviceId> slows;                  ///< devices that this one's transfers slow
  int disturbed_by = 0;                         ///< transfers that slow it now
  TaskId working = Run::kNone;
  SimTime left, since;  ///< undisturbed length still to work, as of `since`
  std::uint32_t version = 0;
};

class Executor {
 public:
  Executor(const Program& program, const RateObserver& observer, const Repeats& repeats = {})
      : program_(program),
        observer_(observer),
        edges_(program),
        constraints_(program),
        transfers_(constraints_.capacity),
        paces_(program.slowdowns().empty() ? 0 : program.devices().size()),
        rhythm_(program, repeats) {
    run_.started.resize(program.tasks().size());
    run_.ended.resize(program.tasks().size());
    run_.released_by.assign(program.tasks().size(), Run::kNone);
    for (const Program::Slowdown& s : program.slowdowns()) {
      paces_[s.work].slowdown = &s;
      paces_[s.transfers].slows.push_back(s.work);
    }
  }

  Run run() {
    for (TaskId t = 0; t < program_.tasks().size(); ++t) {
      if (edges_.waiting_for[t] == 0) start(t, Run::kNone);
    }
    while (true) {
      const Moment flow = transfers_.next(), event = queue_.next();
      const bool flow_first = flow < event;
      const SimTime at = flow_first ? flow.at : event.at;
      if (sharing_due_ && at > queue_.now()) {  // after everything that ends now
        settle();
      } else if (flow_first) {
        queue_.advance(at);
        end_flow(transfers_.finish_next());
      } else if (event != Moment{}) {
        handle(queue_.pop().payload);
      } else {
        break;
      }
      ++run_.events;
      sharing_due_ = sharing_due_ || transfers_.unsettled();
      if (rhythm_.due() && !transfers_.unsettled()) compare_instants();
    }
    if (done_ != program_.tasks().size()) throw_circle();
    return std::move(run_);
  }

 private:
  void handle(const ExecutorEvent& p) {
    if (p.kind == ExecutorEvent::Kind::flow_start) return start_flow(p.id);
    end_work(p.id, p.version);
  }

  void start(TaskId t, TaskId released_by) {
    const Task& task = program_.tasks()[t];
    run_.started[t] = queue_.now();
    run_.released_by[t] = released_by;
    if (rhythm_.looks()) rhythm_.starts(t);
    if (moves(t)) {
      queue_.schedule(queue_.now() + task.fixed, Phase::completion, {ExecutorEvent::Kind::flow_start, t, 0});
    } else if (Pace* pace = pace_of_work(task)) {
      pace->working = t;
      pace->left = task.fixed;
      forecast_work(*pace);
    } else {
      queue_.schedule(queue_.now() + task.fixed, Phase::completion, {ExecutorEvent::Kind::work_end, t, 0});
    }
  }

  bool moves(TaskId t) const {
    const FlowId flow = program_.tasks()[t].flow;
    return flow != Task::kNoFlow && !constraints_.parts(flow).empty();
  }

  /// The pace of a task that is work on a device that can be slowed.
  Pace* pace_of_work(const Task& task) {
    if (paces_.empty() || task.flow != Task::kNoFlow || task.device_count != 1) return nullptr;
    Pace& pace = paces_[program_.task_devices()[task.first_device]];
    return pace.slowdown != nullptr ? &pace : nullptr;
  }

  void forecast_work(Pace& pace) {
    pace.since = queue_.now();
    ++pace.version;
    const double factor = pace.disturbed_by > 0 ? pace.slowdown->factor : 1;
    const SimTime length = factor == 1 ? pace.left : to_sim_time(to_seconds(pace.left) * factor);
    queue_.schedule(queue_.now() + length, Phase::completion,
                    {ExecutorEvent::Kind::work_end, pace.working, pace.version});
  }

  void start_flow(TaskId t) {
    const FlowId flow = program_.tasks()[t].flow;
    transfers_.start(constraints_.parts(flow), constraints_.scale(flow), t);
    disturb(t, +1);
  }

  /// A transfer on some devices starts (+1) or ends (-1): work that runs at the same time changes pace.
  void disturb(TaskId t, int change) {
    if (paces_.empty()) return;
    const Task& task = program_.tasks()[t];
    for (std::uint32_t i = 0; i < task.device_count; ++i) {
      for (const DeviceId d : paces_[program_.task_devices()[task.first_device + i]].slows) {
        Pace& pace = paces_[d];
        const bool before = pace.disturbed_by > 0;
        pace.disturbed_by += change;
        if (before == (pace.disturbed_by > 0) || pace.working == Run::kNone) continue;
        const double factor = before ? pace.slowdown->factor : 1;
        const SimTime worked = to_sim_time(to_seconds(queue_.now() - pace.since) / factor);
        pace.left = std::max(SimTime{}, pace.left - worked);
        forecast_work(pace);
      }
    }
  }

  void end_work(TaskId t, std::uint32_t version) {
    if (Pace* pace = pace_of_work(program_.tasks()[t])) {
      if (pace->version != version || pace->working != t) return;
      pace->working = Run::kNone;
    }
    end_task(t);
  }

  void end_flow(TaskId t) {
    if (observer_) observer_(queue_.now(), t, 0);
    disturb(t, -1);
    end_task(t);
  }

  void end_task(TaskId t) {
    run_.ended[t] = queue_.now();
    run_.end = std::max(run_.end, queue_.now());
    ++done_;
    const bool looks = rhythm_.looks();
    if (looks) rhythm_.ends(t);
    for (std::uint32_t e = edges_.first[t]; e < edges_.first[t + 1]; ++e) {
      const TaskId next = edges_.next[e];
      if (looks) rhythm_.touches(next);
      if (--edges_.waiting_for[next] == 0) start(next, t);
    }
  }

  void settle() {
    sharing_due_ = false;
    transfers_.settle(queue_.now(), queue_.take_sequence());
    if (!observer_) return;
    for (const auto& [task, rate] : transfers_.changed()) observer_(queue_.now(), task, rate);
  }

  /// Everything that what comes follows from, by place in the program and time from now. Rates are shared by
  /// what flows there are, whatever their order (fair_share.h), so the network has no more to say.
  void compare_instants() {
    std::vector<std::int64_t> state;
    std::vector<TaskId> under_way;
    const auto put_time = [&](SimTime t) { state.push_back((t - queue_.now()).ps); };
    const auto put = [&](TaskId t, SimTime at, std::int64_t kind) {
      under_way.push_back(t);
      put_time(at);
      state.push_back(kind);
      state.push_back(rhythm_.relative(t));
      put_time(run_.started[t]);
    };
    const auto moving = transfers_.moving();
    auto flow = moving.begin();
    const auto put_flows_before = [&](Moment moment) {
      for (; flow != moving.end() && flow->end < moment; ++flow) {
        put(flow->owner, flow->end.at, -1);
        state.push_back(std::bit_cast<std::int64_t>(transfers_.rate(*flow)));
        const FlowNetwork::Progress progress = transfers_.progress(*flow, queue_.now());
        for (const std::uint64_t limb : progress.left) state.push_back(static_cast<std::int64_t>(limb));
        put_time(progress.since);
        state.push_back(progress.changes);
      }
    };
    for (const auto& event : queue_.pending()) {
      if (is_outdated(event.payload)) continue;
      put_flows_before(event.moment);
      put(event.payload.id, event.moment.at, static_cast<std::int64_t>(event.payload.kind));
    }
    put_flows_before(Moment{});
    for (const Pace& pace : paces_) {
      state.push_back(pace.disturbed_by);
      if (pace.working == Run::kNone) continue;
      state.push_back(rhythm_.relative(pace.working));
      state.push_back(pace.left.ps);
      put_time(pace.since);
    }
    run_.rhythm = rhythm_.compare(queue_.now(), run_.events, std::move(under_way), std::move(state));
  }
  /// Work whose end has been forecast anew.
  bool is_outdated(const ExecutorEvent& p) {
    if (p.kind != ExecutorEvent::Kind::work_end) return false;
    const Pace* pace = pace_of_work(program_.tasks()[p.id]);
    return pace != nullptr && (pace->version != p.version || pace->working != p.id);
  }

  [[noreturn]] void throw_circle() const {
    for (TaskId t = 0; t < program_.tasks().size(); ++t) {
      if (edges_.waiting_for[t] > 0) {
        throw std::logic_error("tasks wait for each other in a circle; task " + std::to_string(t) + " (tag " +
                               std::to_string(program_.tasks()[t].tag) + ") never started");
      }
    }
    throw std::logic_error("a task never ended");
  }

  const Program& program_;
  const RateObserver& observer_;
  Successors edges_;
  Constraints constraints_;
  Transfers transfers_;
  std::vector<Pace> paces_;  ///< by device; empty when nothing slows anything
  EventQueue<ExecutorEvent> queue_;
  bool sharing_due_ = false;
  std::size_t done_ = 0;
  RhythmFinder rhythm_;
  Run run_;
};

}  // namespace

Run execute(const Program& program, const RateObserver& observer) {
  return Executor(program, observer).run();
}

Run execute(const Program& program, const Repeats& repeats) {
  const RateObserver nobody;
  return Executor(program, nobody, repeats).run();
}

}  // namespace trnplan::sim
