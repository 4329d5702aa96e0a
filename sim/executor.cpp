#include "sim/executor.h"

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>

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
struct Constraints {
  std::vector<double> capacity;
  std::vector<Flow> flows;

  explicit Constraints(const Program& p) : flows(p.flows().size()) {
    const std::size_t resources = p.resources().size();
    std::vector<std::size_t> first(resources + 1, 0);  // resource -> range in `users`
    for (const Flow& f : p.flows()) {
      for (const Weight& w : f.weights) ++first[w.resource + 1];
    }
    for (std::size_t r = 0; r < resources; ++r) first[r + 1] += first[r];
    std::vector<User> users(first.back());
    std::vector<std::size_t> fill(first.begin(), first.end() - 1);
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      for (const Weight& w : p.flows()[f].weights) users[fill[w.resource]++] = {f, w.bytes};
    }
    const auto column = [&](ResourceId r) {
      return std::span<const User>(users).subspan(first[r], first[r + 1] - first[r]);
    };
    std::unordered_multimap<std::uint64_t, ResourceId>
        known;  // by hash; kept in no order, asked for equality
    for (ResourceId r = 0; r < resources; ++r) {
      const auto mine = column(r);
      if (mine.empty()) continue;
      const double limit = p.resources()[r].capacity.value;
      const std::uint64_t key = hash(limit, mine);
      const auto [begin, end] = known.equal_range(key);
      const bool merged = std::any_of(begin, end, [&](const auto& entry) {
        const auto other = column(entry.second);
        return p.resources()[entry.second].capacity.value == limit &&
               std::equal(mine.begin(), mine.end(), other.begin(), other.end());
      });
      if (merged) continue;
      known.emplace(key, r);
      for (const auto& [f, bytes] : mine) {
        flows[f].weights.push_back({static_cast<ResourceId>(capacity.size()), bytes});
      }
      capacity.push_back(limit);
    }
    // Merging must not change what a flow is fair by.
    for (FlowId f = 0; f < p.flows().size(); ++f) flows[f].scale = filling::scale_of(p.flows()[f]);
  }

 private:
  struct User {
    FlowId flow;
    double bytes;
    bool operator==(const User&) const = default;
  };
  static std::uint64_t hash(double limit, std::span<const User> users) {
    std::uint64_t h = std::bit_cast<std::uint64_t>(limit);
    const auto mix = [&](std::uint64_t value) {
      h = (h ^ value) * 0x9e3779b97f4a7c15;
      h ^= h >> 32;
    };
    for (const User& u : users) {
      mix(u.flow);
      mix(std::bit_cast<std::uint64_t>(u.bytes));
    }
    return h;
  }
};

struct ExecutorEvent {
  enum class Kind : std::uint8_t { work_end, flow_start, share } kind = Kind::work_end;
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
    for (Moment flow = transfers_.next(); !queue_.empty() || flow != Moment{}; flow = transfers_.next()) {
      ++run_.events;
      if (flow < queue_.next()) {
        queue_.advance(flow.at);
        end_flow(transfers_.finish_next());
      } else {
        handle(queue_.pop().payload);
      }
      if (transfers_.unsettled() && !sharing_due_) {
        queue_.schedule(queue_.now(), Phase::sharing, {ExecutorEvent::Kind::share, 0, 0});
        sharing_due_ = true;
      }
      if (rhythm_.due() && !transfers_.unsettled()) compare_instants();
    }
    if (done_ != program_.tasks().size()) throw_circle();
    return std::move(run_);
  }

 private:
  void handle(const ExecutorEvent& p) {
    switch (p.kind) {
      case ExecutorEvent::Kind::work_end:
        return end_work(p.id, p.version);
      case ExecutorEvent::Kind::flow_start:
        return start_flow(p.id);
      case ExecutorEvent::Kind::share:
        return settle();
    }
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
    return flow != Task::kNoFlow && !constraints_.flows[flow].weights.empty();
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
    transfers_.start(constraints_.flows[program_.tasks()[t].flow], t);
    disturb(t, +1);
  }

  /// A transfer on some devices starts (+1) or ends (-1): the work beside it changes pace.
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
