#include "sim/executor.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/event_queue.h"
#include "sim/fair_share.h"

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
    using Column = std::vector<std::pair<FlowId, double>>;
    std::vector<Column> columns(p.resources().size());
    for (FlowId f = 0; f < p.flows().size(); ++f) {
      for (const Weight& w : p.flows()[f].weights) columns[w.resource].emplace_back(f, w.bytes);
    }
    std::set<std::pair<double, Column>> known;
    for (ResourceId r = 0; r < columns.size(); ++r) {
      if (columns[r].empty()) continue;
      const double limit = p.resources()[r].capacity.value;
      const auto [it, fresh] = known.emplace(limit, std::move(columns[r]));
      if (!fresh) continue;
      for (const auto& [f, bytes] : it->second) {
        flows[f].weights.push_back({static_cast<ResourceId>(capacity.size()), bytes});
      }
      capacity.push_back(limit);
    }
  }
};

/// A flow in progress.
struct ActiveFlow {
  const Flow* flow = nullptr;
  double left = 1;  ///< progress still to make, as of `since`
  double rate = 0;  ///< 1/s
  SimTime since;
  std::uint32_t version = 0;  ///< of the completion event that counts
  bool running = false;
};

struct Payload {
  enum class Kind : std::uint8_t { task_end, flow_start, share } kind = Kind::task_end;
  TaskId task = 0;
  std::uint32_t version = 0;
};

class Executor {
 public:
  explicit Executor(const Program& program)
      : program_(program),
        edges_(program),
        constraints_(program),
        flows_(program.tasks().size()),
        users_(constraints_.capacity.size()) {
    run_.started.resize(program.tasks().size());
    run_.ended.resize(program.tasks().size());
    run_.released_by.assign(program.tasks().size(), Run::kNone);
  }

  Run run() {
    for (TaskId t = 0; t < program_.tasks().size(); ++t) {
      if (edges_.waiting_for[t] == 0) start(t, Run::kNone);
    }
    while (!queue_.empty()) {
      const auto event = queue_.pop();
      ++run_.events;
      switch (event.payload.kind) {
        case Payload::Kind::task_end:
          end_task(event.payload.task, event.payload.version);
          break;
        case Payload::Kind::flow_start:
          start_flow(event.payload.task);
          break;
        case Payload::Kind::share:
          settle();
          break;
      }
    }
    if (done_ != program_.tasks().size()) throw_circle();
    return std::move(run_);
  }

 private:
  void start(TaskId t, TaskId released_by) {
    const Task& task = program_.tasks()[t];
    run_.started[t] = queue_.now();
    run_.released_by[t] = released_by;
    const SimTime at = queue_.now() + task.fixed;
    const bool flows = task.flow != Task::kNoFlow && !constraints_.flows[task.flow].weights.empty();
    queue_.schedule(at, Phase::completion,
                    {flows ? Payload::Kind::flow_start : Payload::Kind::task_end, t, flows_[t].version});
  }

  void start_flow(TaskId t) {
    ActiveFlow& f = flows_[t];
    f.flow = &constraints_.flows[program_.tasks()[t].flow];
    f.since = queue_.now();
    f.running = true;
    for (const Weight& w : f.flow->weights) users_[w.resource].push_back(t);
    touch(*f.flow);
  }

  void end_task(TaskId t, std::uint32_t version) {
    ActiveFlow& f = flows_[t];
    if (version != f.version) return;  // an older forecast of this flow's end
    if (f.running) {
      f.running = false;
      for (const Weight& w : f.flow->weights) {
        auto& users = users_[w.resource];
        users.erase(std::find(users.begin(), users.end(), t));
      }
      touch(*f.flow);
    }
    run_.ended[t] = queue_.now();
    run_.end = std::max(run_.end, queue_.now());
    ++done_;
    for (std::uint32_t e = edges_.first[t]; e < edges_.first[t + 1]; ++e) {
      const TaskId next = edges_.next[e];
      if (--edges_.waiting_for[next] == 0) start(next, t);
    }
  }

  /// Notes that the resources of `f` changed hands; one sharing event settles all changes of this instant.
  void touch(const Flow& f) {
    if (changed_.empty()) queue_.schedule(queue_.now(), Phase::sharing, {Payload::Kind::share, 0, 0});
    for (const Weight& w : f.weights) changed_.push_back(w.resource);
  }

  void settle() {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    std::vector<ResourceId> seeds;
    seeds.swap(changed_);
    std::vector<bool> seen(users_.size(), false);
    for (const ResourceId seed : seeds) {
      if (!seen[seed]) settle_component(seed, seen);
    }
  }

  void settle_component(ResourceId seed, std::vector<bool>& seen) {
    std::vector<ResourceId> open{seed};
    std::vector<TaskId> members;
    seen[seed] = true;
    while (!open.empty()) {
      const ResourceId r = open.back();
      open.pop_back();
      for (const TaskId t : users_[r]) {
        members.push_back(t);
        for (const Weight& w : flows_[t].flow->weights) {
          if (seen[w.resource]) continue;
          seen[w.resource] = true;
          open.push_back(w.resource);
        }
      }
    }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (members.empty()) return;
    std::vector<const Flow*> active;
    for (const TaskId t : members) active.push_back(flows_[t].flow);
    const std::vector<double> rates = fair_rates(active, constraints_.capacity);
    for (std::size_t i = 0; i < members.size(); ++i) change_rate(members[i], rates[i]);
  }

  void change_rate(TaskId t, double rate) {
    ActiveFlow& f = flows_[t];
    if (rate == f.rate) return;
    f.left = std::max(0.0, f.left - f.rate * to_seconds(queue_.now() - f.since).value);
    f.since = queue_.now();
    f.rate = rate;
    ++f.version;
    // Rounded up, so that a flow is never done early.
    const SimTime length = transfer_time(Bytes(f.left), BytesPerSecond(rate));
    queue_.schedule(queue_.now() + length, Phase::completion, {Payload::Kind::task_end, t, f.version});
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
  Successors edges_;
  Constraints constraints_;
  std::vector<ActiveFlow> flows_;
  std::vector<std::vector<TaskId>> users_;  ///< resource -> tasks whose flow uses it now
  std::vector<ResourceId> changed_;
  EventQueue<Payload> queue_;
  std::size_t done_ = 0;
  Run run_;
};

}  // namespace

std::vector<TaskId> Run::critical_path() const {
  std::vector<TaskId> path;
  TaskId t = kNone;
  for (TaskId i = 0; i < ended.size(); ++i) {
    if (t == kNone || ended[i] > ended[t]) t = i;
  }
  for (; t != kNone; t = released_by[t]) path.push_back(t);
  std::reverse(path.begin(), path.end());
  return path;
}

Run execute(const Program& program) {
  return Executor(program).run();
}

}  // namespace trnplan::sim
