#include "sim/executor.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/constraints.h"
#include "sim/event_queue.h"
#include "sim/foresight.h"
#include "sim/rhythm_finder.h"
#include "sim/transfers.h"

namespace trnplan::sim {

namespace {

/// Edges of the task graph: dependencies, and the order of each device's queue.
class Successors {
 public:
  explicit Successors(const Program& p)
      : waiting_for(p.tasks().size(), 0),
        first_(p.tasks().size() + 1, 0),
        after_(p.tasks().size(), Run::kNone) {
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

  std::vector<std::uint32_t> first_;  ///< task -> range in `next_`
  std::vector<TaskId> next_;
  std::vector<TaskId> after_;  ///< by task of one device
};

struct ExecutorEvent {
  enum class Kind : std::uint8_t { work_end, flow_start, foreseen } kind = Kind::work_end;
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
  SimTime end;          ///< forecast
  std::uint32_t version = 0;
  DeviceId changed_by = 0;  ///< the device of the transfer that disturbed it, or ceased to, last
  SimTime changed_at{-1};
};

class Executor {
 public:
  Executor(const Program& program, const RateObserver& observer, const Repeats& repeats, bool foresees)
      : program_(program),
        observer_(observer),
        edges_(program),
        constraints_(program),
        foresight_(foresees ? Foresight(program, constraints_) : Foresight()),
        transfers_(constraints_.capacity),
        paces_(program.slowdowns().empty() ? 0 : program.devices().size()),
        rhythm_(program, repeats) {
    if (!constraints_.recur()) transfers_.reserve(program.flows().size());
    run_.started.resize(program.tasks().size());
    run_.ended.resize(program.tasks().size());
    run_.released_by.assign(program.tasks().size(), Run::kNone);
    for (const Program::Slowdown& s : program.slowdowns()) {
      paces_[s.work].slowdown = &s;
      paces_[s.transfers].slows.push_back(s.work);
    }
  }

  /// Nothing if what foresight leaves out would decide which of two tasks releases a third.
  std::optional<Run> run() {
    for (TaskId t = 0; t < program_.tasks().size(); ++t) {
      const bool foreseen = run_.released_by[t] != Run::kNone;
      if (edges_.waiting_for[t] == 0 && !foreseen) start(t, Run::kNone);
    }
    while (!in_doubt_) {
      const Moment flow = transfers_.next(), event = queue_.next();
      const bool flow_first = flow < event;
      const SimTime at = flow_first ? flow.at : event.at;
      if (sharing_due_ && at > queue_.now()) {  // after everything that ends now
        settle();
      } else if (flow_first) {
        queue_.advance(at);
        const Transfers::Finished finished = transfers_.finish_next();
        end_flow(finished.owner, finished.since);
      } else if (event != Moment{}) {
        handle(queue_.pop().payload);
      } else {
        break;
      }
      ++run_.events;
      sharing_due_ = sharing_due_ || transfers_.unsettled();
      if (rhythm_.due() && !transfers_.unsettled()) compare_instants();
    }
    if (in_doubt_) return std::nullopt;
    if (done_ != program_.tasks().size()) throw_circle();
    return std::move(run_);
  }

 private:
  void handle(const ExecutorEvent& p) {
    if (p.kind == ExecutorEvent::Kind::work_end) return end_work(p.id, p.version);
    if (Foresight::Course* course = course_of(p.id)) {
      if (course->version != p.version) return;
      const bool known =
          length(program_.tasks()[p.id], *course) != Foresight::kUnknown && follower(p.id) != Run::kNone;
      if (known || p.kind == ExecutorEvent::Kind::foreseen) return foresee(*course, p.id);
    }
    start_flow(p.id);
  }

  void start(TaskId t, TaskId released_by) {
    const Task& task = program_.tasks()[t];
    run_.started[t] = queue_.now();
    run_.released_by[t] = released_by;
    if (rhythm_.looks()) rhythm_.starts(t);
    if (Foresight::Course* course = course_of(t)) {
      foresee(*course, t);
    } else if (moves(t)) {
      queue_.schedule(queue_.now() + task.fixed, Phase::completion, {ExecutorEvent::Kind::flow_start, t, 0});
    } else {
      work(t);
    }
  }

  /// Schedules the end of a task that moves nothing.
  void work(TaskId t) {
    const Task& task = program_.tasks()[t];
    if (Pace* pace = pace_of_work(task)) {
      pace->working = t;
      pace->left = task.fixed;
      forecast_work(*pace, run_.started[t]);
    } else {
      queue_.schedule(run_.started[t] + task.fixed, Phase::completion, {ExecutorEvent::Kind::work_end, t, 0});
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

  /// The course of a task's device; nullptr if there is none.
  Foresight::Course* course_of(TaskId t) {
    const Task& task = program_.tasks()[t];
    if (!foresight_.enabled() || task.device_count != 1) return nullptr;
    return &foresight_.of(program_.task_devices()[task.first_device]);
  }

  /// The task that comes after this one on its device, if this one's end releases it and nothing else.
  TaskId follower(TaskId t) const {
    const TaskId next = edges_.only(t);
    if (next == Run::kNone || edges_.waiting_for[next] != 1) return Run::kNone;
    return program_.tasks()[next].device_count == 1 ? next : Run::kNone;
  }

  /// The length of a task on a device; kUnknown if it is not known before its end.
  SimTime length(const Task& task, const Foresight::Course& course) const {
    if (task.flow == Task::kNoFlow) return course.slowed ? Foresight::kUnknown : task.fixed;
    const SimTime alone = foresight_.alone(task.flow);
    if (alone == Foresight::kUnknown || (alone != SimTime{} && course.guests > 0)) return Foresight::kUnknown;
    return task.fixed + alone;
  }

  /// Writes the times of the tasks from `t` on, which has its start, up to the next of which the end releases others
  /// or is not known. Of that one the start is an event, so that its end is scheduled when it would be without
  /// foresight.
  void foresee(Foresight::Course& course, TaskId t) {
    constexpr int kFar = 16;  // so that a guest lets little be done once more
    TaskId last = t;
    SimTime start = run_.started[t];
    int n = 0;
    for (; n < kFar; ++n) {
      const TaskId next = follower(last);
      if (next == Run::kNone) break;
      const SimTime lasts = length(program_.tasks()[last], course);
      if (lasts == Foresight::kUnknown || start + lasts <= queue_.now())
        break;  // what ends now does so in turn
      start += lasts;
      run_.ended[last] = run_.started[next] = start;
      run_.released_by[next] = last;
      edges_.waiting_for[next] = 0;
      last = next;
    }
    done_ += static_cast<std::size_t>(n);
    course.first = t;
    course.last = last;
    ++course.version;
    if (moves(last)) {
      queue_.schedule(start + program_.tasks()[last].fixed, Phase::completion,
                      {ExecutorEvent::Kind::flow_start, last, course.version});
    } else if (last != t) {
      queue_.schedule(start, Phase::completion, {ExecutorEvent::Kind::foreseen, last, course.version});
    } else {
      work(last);
    }
  }

  /// Brings a device to now: from now on what was foreseen is not so.
  void take_back(Foresight::Course& course) {
    if (course.first == course.last) return;
    TaskId t = course.first;
    while (t != course.last && run_.ended[t] <= queue_.now()) t = edges_.only(t);
    course.first = t;
    if (t == course.last) return;
    for (TaskId i = t; i != course.last; i = edges_.only(i)) {
      edges_.waiting_for[edges_.only(i)] = 1;
      --done_;
    }
    const Task& task = program_.tasks()[t];
    const SimTime since = run_.started[t] + task.fixed;
    if (!moves(t) || since > queue_.now()) return foresee(course, t);
    course.last = t;
    ++course.version;
    const auto parts = constraints_.parts(task.flow);
    if (since == queue_.now()) {
      transfers_.start(parts, constraints_.scale(task.flow), t);
    } else {
      transfers_.resume(parts, constraints_.scale(task.flow), t, since, queue_.take_sequence());
    }
  }

  /// A flow comes to the resources of other devices (+1), or leaves them (-1).
  void visit_owners(TaskId t, int change) {
    if (!foresight_.enabled()) return;
    const Task& task = program_.tasks()[t];
    const DeviceId own =
        task.device_count == 1 ? program_.task_devices()[task.first_device] : Constraints::kUnused;
    for (const filling::Part& part : constraints_.parts(task.flow)) {
      const DeviceId owner = foresight_.owner(part.resource);
      if (owner == own || !foresight_.has_course(owner)) continue;
      Foresight::Course& course = foresight_.of(owner);
      if (change < 0) {
        --course.guests;
      } else if (course.guests++ == 0) {
        take_back(course);
      }
    }
  }

  void forecast_work(Pace& pace, SimTime since) {
    pace.since = since;
    ++pace.version;
    const double factor = pace.disturbed_by > 0 ? pace.slowdown->factor : 1;
    const SimTime length = factor == 1 ? pace.left : to_sim_time(to_seconds(pace.left) * factor);
    pace.end = since + length;
    queue_.schedule(pace.end, Phase::completion, {ExecutorEvent::Kind::work_end, pace.working, pace.version});
  }

  void start_flow(TaskId t) {
    const FlowId flow = program_.tasks()[t].flow;
    visit_owners(t, +1);
    transfers_.start(constraints_.parts(flow), constraints_.scale(flow), t);
    disturb(t, +1);
  }

  /// A transfer on some devices starts (+1) or ends (-1): work that runs at the same time changes pace.
  void disturb(TaskId t, int change) {
    if (paces_.empty()) return;
    const Task& task = program_.tasks()[t];
    for (std::uint32_t i = 0; i < task.device_count; ++i) {
      const DeviceId by = program_.task_devices()[task.first_device + i];
      for (const DeviceId d : paces_[by].slows) {
        Pace& pace = paces_[d];
        const bool before = pace.disturbed_by > 0;
        pace.disturbed_by += change;
        if (foresight_.enabled()) note_disturbance(d, by);
        if (before == (pace.disturbed_by > 0) || pace.working == Run::kNone) continue;
        const double factor = before ? pace.slowdown->factor : 1;
        const SimTime worked = to_sim_time(to_seconds(queue_.now() - pace.since) / factor);
        pace.left = std::max(SimTime{}, pace.left - worked);
        forecast_work(pace, queue_.now());
      }
    }
  }

  /// Brings a device to now if its pace changes. Where work ends when it is disturbed, or two devices disturb it at one time,
  /// the order of the two depends on events that foresight leaves out.
  void note_disturbance(DeviceId d, DeviceId by) {
    Pace& pace = paces_[d];
    in_doubt_ = in_doubt_ || (pace.changed_at == queue_.now() && pace.changed_by != by);
    pace.changed_at = queue_.now();
    pace.changed_by = by;
    Foresight::Course& course = foresight_.of(d);
    if (course.slowed == (pace.disturbed_by > 0)) return;
    course.slowed = pace.disturbed_by > 0;
    if (!course.slowed) return;
    take_back(course);
    in_doubt_ = in_doubt_ || (pace.working != Run::kNone && pace.end == queue_.now());
  }

  void end_work(TaskId t, std::uint32_t version) {
    SimTime since = run_.started[t];
    if (Pace* pace = pace_of_work(program_.tasks()[t])) {
      if (pace->version != version || pace->working != t) return;
      pace->working = Run::kNone;
      since = pace->since;
    }
    end_task(t, since);
  }

  void end_flow(TaskId t, SimTime since) {
    if (observer_) observer_(queue_.now(), t, 0);
    disturb(t, -1);
    visit_owners(t, -1);
    end_task(t, since);
  }

  /// `since` is when the event of its end was scheduled.
  void end_task(TaskId t, SimTime since) {
    run_.ended[t] = queue_.now();
    run_.end = std::max(run_.end, queue_.now());
    ++done_;
    const bool looks = rhythm_.looks();
    if (looks) rhythm_.ends(t);
    edges_.each(t, [&](TaskId next) {
      if (looks) rhythm_.touches(next);
      if (--edges_.waiting_for[next] > 0) {
        if (foresight_.enabled()) note_release(next, since);
        return;
      }
      if (!releases_.empty()) look_for_doubt(next, since);
      start(next, t);
    });
  }

  void note_release(TaskId t, SimTime since) {
    if (releases_at_ != queue_.now()) releases_.clear();
    releases_at_ = queue_.now();
    releases_.push_back({t, since});
  }

  /// A task is released by the last of those it waits for. Of ends at one time those come first that were scheduled
  /// first. Where two were scheduled at one time too, their order depends on events that foresight leaves out.
  void look_for_doubt(TaskId t, SimTime since) {
    if (releases_at_ != queue_.now()) return releases_.clear();
    for (const Release& r : releases_) in_doubt_ = in_doubt_ || (r.task == t && r.since >= since);
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
  Foresight foresight_;
  Transfers transfers_;
  std::vector<Pace> paces_;  ///< by device; empty when nothing slows anything
  EventQueue<ExecutorEvent> queue_;
  bool sharing_due_ = false;
  std::size_t done_ = 0;
  /// A task that waits for more than one that ends now.
  struct Release {
    TaskId task;
    SimTime since;
  };
  std::vector<Release> releases_;  ///< at `releases_at_`, but for the last of a task
  SimTime releases_at_;
  bool in_doubt_ = false;
  RhythmFinder rhythm_;
  Run run_;
};

}  // namespace

Run execute(const Program& program, const RateObserver& observer) {
  if (!observer) {
    Executor ahead(program, observer, {}, true);
    if (auto run = ahead.run()) return std::move(*run);
  }
  return *Executor(program, observer, {}, false).run();
}

Run execute(const Program& program, const Repeats& repeats) {
  const RateObserver nobody;
  return *Executor(program, nobody, repeats, false).run();
}

}  // namespace trnplan::sim
