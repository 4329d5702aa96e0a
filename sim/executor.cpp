#include "sim/executor.h"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/constraints.h"
#include "sim/event_queue.h"
#include "sim/folded_run.h"
#include "sim/foresight.h"
#include "sim/instant_state.h"
#include "sim/paces.h"
#include "sim/rhythm_finder.h"
#include "sim/series_ends.h"
#include "sim/successors.h"
#include "sim/transfers.h"

namespace trnplan::sim {

namespace {

struct ExecutorEvent {
  enum class Kind : std::uint8_t { work_end, flow_start, foreseen } kind = Kind::work_end;
  std::uint32_t id = 0;  ///< task
  std::uint32_t version = 0;
};

class Executor {
 public:
  Executor(const Program& program, const RateObserver& observer, const Repeats& repeats, bool foresees)
      : program_(program),
        observer_(observer),
        edges_(program),
        constraints_(program),
        foresight_(foresees ? Foresight(program, constraints_) : Foresight()),
        transfers_(std::exchange(constraints_.capacity, {})),
        paces_(program),
        rhythm_(program, repeats),
        ends_(program, foresight_, run_.started),
        tasks_(static_cast<TaskId>(program.tasks().size())) {
    if (!constraints_.recur()) transfers_.reserve(program.flows().size());
    run_.started.resize(program.tasks().size());
    run_.ended.resize(program.tasks().size());
    run_.released_by.assign(program.tasks().size(), Run::kNone);
  }

  /// Nothing if what foresight leaves out would decide in which order the pace of work changes, or if there are series
  /// but no foresight.
  std::optional<Run> run() {
    if (!program_.series().empty() && !foresight_.enabled()) return std::nullopt;
    for (TaskId t = 0; t < program_.tasks().size(); ++t) {
      const bool foreseen = run_.released_by[t] != Run::kNone;
      if (edges_.waiting_for[t] == 0 && !foreseen) start(t, Run::kNone);
    }
    while (!in_doubt_) {
      const Moment flow = transfers_.next(), event = queue_.next();
      const bool flow_first = flow < event;
      const SimTime at = flow_first ? flow.at : event.at;
      if (at > queue_.now() && rhythm_.due() && !sharing_due_) compare_instants();
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
    }
    if (in_doubt_) return std::nullopt;
    if (done_ != program_.tasks().size()) throw_circle();
    if (!program_.series().empty()) {
      run_.elements = ends_.take();
      run_.elements.alone = foresight_.take_ends();
    }
    return std::move(run_);
  }

 private:
  void handle(const ExecutorEvent& p) {
    if (p.kind == ExecutorEvent::Kind::work_end) return end_work(p.id, p.version);
    if (Foresight::Course* course = course_of(p.id)) {
      if (course->version != p.version) return;
      if (course->open == 0 && (p.kind == ExecutorEvent::Kind::foreseen || goes_on(*course)))
        return foresee(*course, course->last, course->last_beat, course->at);
    }
    start_flow(p.id);
  }

  void start(TaskId t, TaskId released_by) {
    run_.started[t] = queue_.now();
    run_.released_by[t] = released_by;
    if (rhythm_.looks()) rhythm_.starts(t);
    if (Foresight::Course* course = course_of(t)) {
      foresee(*course, t, 0, queue_.now());
    } else {
      const Task& task = program_.tasks()[t];
      begin(t, {task.fixed, task.flow}, queue_.now(), 0);
    }
  }

  /// Schedules what comes next of an element or a task that started at `start`.
  void begin(TaskId id, const Element& e, SimTime start, std::uint32_t version) {
    Pace* pace = nullptr;
    if (moves(e.flow)) {
      queue_.schedule(start + e.fixed, Phase::completion, {ExecutorEvent::Kind::flow_start, id, version});
    } else if (e.flow == Task::kNoFlow && (pace = pace_of(id)) != nullptr) {
      pace->working = id;
      pace->left = e.fixed;
      pace->forecast(start);
      expect_end(*pace);
    } else {
      queue_.schedule(start + e.fixed, Phase::completion, {ExecutorEvent::Kind::work_end, id, 0});
    }
  }

  bool moves(FlowId flow) const { return flow != Task::kNoFlow && constraints_.has_parts(flow); }

  /// What is under way on the engine of a series has the number of its task and all tasks.
  bool on_engine(TaskId id) const { return id >= tasks_; }
  TaskId task_of(TaskId id) const { return on_engine(id) ? id - tasks_ : id; }

  /// The pace of the device on which a task or an element works, if that can be slowed.
  Pace* pace_of(TaskId id) {
    return paces_.empty() || on_engine(id) ? nullptr : paces_.slowable(program_.device_of(id));
  }
  /// The course of the device of a task or an element; nullptr if there is none.
  Foresight::Course* course_of(TaskId id) {
    const DeviceId d = foresight_.enabled() ? program_.device_of(task_of(id)) : Program::kNoDevice;
    return d == Program::kNoDevice ? nullptr : &foresight_.of(d);
  }

  /// What is under way.
  Element element(TaskId id) {
    const TaskId t = task_of(id);
    if (!program_.is_series(t)) return program_.element(t, 0);
    const Foresight::Course& c = *course_of(id);
    return program_.element(t, c.last_beat, on_engine(id) ? c.engine_at : 0);
  }

  /// The task that comes after this one on its device, if this one's end releases it and nothing else.
  TaskId follower(TaskId t) const {
    const TaskId next = edges_.only(t);
    if (next == Run::kNone || edges_.waiting_for[next] != 1) return Run::kNone;
    return program_.tasks()[next].device_count == 1 ? next : Run::kNone;
  }

  /// The length of a beat on a device; kUnknown if it is not known before its end.
  SimTime length(TaskId t, std::uint32_t beat, const Foresight::Course& course) const {
    if (program_.has_engine(t, beat)) {
      const bool disturbed = course.guests > 0 || course.slowed;
      return disturbed ? Foresight::kUnknown : foresight_.length(program_.beat_of(t, beat));
    }
    const Element e = program_.element(t, beat);
    if (e.flow == Task::kNoFlow) return course.slowed ? Foresight::kUnknown : e.fixed;
    const SimTime alone = course.is_engine ? Foresight::kUnknown : foresight_.alone(e.flow);
    if (alone == Foresight::kUnknown || (alone != SimTime{} && course.guests > 0)) return Foresight::kUnknown;
    return e.fixed + alone;
  }

  /// True if more is known behind the last beat of a course.
  bool goes_on(const Foresight::Course& c) const {
    return length(c.last, c.last_beat, c) != Foresight::kUnknown &&
           (c.last_beat + 1 < program_.beats_of(c.last) || follower(c.last) != Run::kNone);
  }

  /// Writes the times of the beats from one of `t` on, which has its start, up to the next of which the end releases
  /// others or is not known. Of that one the start is an event, so that its end is scheduled when it would be without
  /// foresight.
  void foresee(Foresight::Course& course, TaskId t, std::uint32_t beat, SimTime start) {
    constexpr std::size_t kFar = 16;  // so that a guest lets little be done once more
    course.first = t;
    course.beat = beat;
    course.since = start;
    std::size_t n = 0;
    for (; skip_beats(course, t, beat, start) && n < kFar; ++n) {
      const TaskId next = follower(t);
      if (next == Run::kNone) break;
      const SimTime lasts = length(t, beat, course);
      if (lasts == Foresight::kUnknown || start + lasts <= queue_.now())
        break;  // what ends now does so in turn
      start += lasts;
      if (program_.is_series(t)) ends_.note_beats(t, beat, beat + 1, start - lasts);
      run_.ended[t] = run_.started[next] = start;
      run_.released_by[next] = t;
      edges_.waiting_for[next] = 0;
      t = next;
      beat = 0;
    }
    done_ += n;
    course.last = t;
    course.last_beat = beat;
    course.at = start;
    ++course.version;
    const bool here = t == course.first && beat == course.beat;
    if (program_.has_engine(t, beat) && here) {
      begin_sides(course);
    } else if (const Element e = program_.element(t, beat);
               here || (moves(e.flow) && !program_.has_engine(t, beat))) {
      begin(t, e, start, course.version);
    } else {
      queue_.schedule(start, Phase::completion, {ExecutorEvent::Kind::foreseen, t, course.version});
    }
  }

  /// Moves on to the last beat of which the start is known; true if it is the task's last.
  bool skip_beats(const Foresight::Course& course, TaskId t, std::uint32_t& beat, SimTime& start) {
    if (!program_.is_series(t)) return true;
    const std::uint32_t last = program_.series_of(t).beats - 1, from = beat;
    const SimTime began = start;
    if (beat < last && course.guests == 0 && !course.slowed && foresight_.known(program_.tasks()[t].series)) {
      start += foresight_.start(program_.beat_of(t, last)) - foresight_.start(program_.beat_of(t, beat));
      beat = last;
    } else {
      for (; beat < last; ++beat) {
        const SimTime lasts = length(t, beat, course);
        if (lasts == Foresight::kUnknown) break;
        start += lasts;
      }
    }
    ends_.note_beats(t, from, beat, began);
    return beat == last;
  }

  /// Brings a device to now: from now on what was foreseen is not so.
  void take_back(Foresight::Course& course) {
    if (course.at <= queue_.now()) {
      course.first = course.last;
      course.beat = course.last_beat;
      course.since = course.at;
      return;
    }
    TaskId t = course.first;
    while (t != course.last && run_.ended[t] <= queue_.now()) {
      t = edges_.only(t);
      course.beat = 0;
      course.since = run_.started[t];
    }
    for (TaskId i = t; i != course.last; i = edges_.only(i)) {
      edges_.waiting_for[edges_.only(i)] = 1;
      --done_;
    }
    find_beat(course, t);
    const std::uint32_t beat = course.beat;
    const SimTime start = course.since;
    if (program_.has_engine(t, beat)) return take_back_sides(course, t);
    const Element e = program_.element(t, beat);
    const SimTime since = start + e.fixed;
    if (!moves(e.flow) || since > queue_.now()) return foresee(course, t, beat, start);
    stop_at(course, t);
    if (since == queue_.now()) {
      transfers_.start(constraints_.parts(e.flow), constraints_.scale(e.flow), t);
    } else {
      resume(t, e.flow, since);
    }
  }

  /// Moves the start of a course to the beat of its task `t` that is under way.
  void find_beat(Foresight::Course& course, TaskId t) {
    if (!program_.is_series(t)) return;
    const std::uint32_t beats = program_.series_of(t).beats;
    const auto start = [&](std::uint32_t beat) {
      return course.since + (foresight_.start(program_.beat_of(t, beat)) -
                             foresight_.start(program_.beat_of(t, course.beat)));
    };
    std::uint32_t low = course.beat, beyond = t == course.last ? course.last_beat : beats;
    while (beyond - low > 1) {
      const std::uint32_t middle = low + (beyond - low) / 2;
      (start(middle) <= queue_.now() ? low : beyond) = middle;
    }
    course.since = start(low);
    course.beat = low;
  }

  /// Lets a course end with the beat of `t` that it starts with.
  void stop_at(Foresight::Course& course, TaskId t) {
    course.first = course.last = t;
    course.last_beat = course.beat;
    course.at = course.since;
    ++course.version;
  }

  void resume(TaskId id, FlowId flow, SimTime since) {
    transfers_.resume(constraints_.parts(flow), constraints_.scale(flow), id, since, queue_.take_sequence());
  }

  /// Begins a beat with an engine.
  void begin_sides(Foresight::Course& course) {
    course.open = 2;
    course.engine_at = 1;
    course.engine_since = course.at;
    const TaskId t = course.last;
    begin(t + tasks_, element(t + tasks_), course.at, course.version);
    begin(t, element(t), course.at, course.version);
  }

  /// Brings a beat with an engine to now. A side that was foreseen to have ended ties with none: what is open ends
  /// after now.
  void take_back_sides(Foresight::Course& course, TaskId t) {
    stop_at(course, t);
    const Beat& beat = program_.beats()[program_.beat_of(t, course.beat)];
    const Sides sides = foresight_.sides(program_.tasks()[t].series, beat, course.at, queue_.now());
    const SimTime since_start = course.at - foresight_.start(program_.beat_of(t, course.beat));
    course.open = 0;
    course.engine_at = static_cast<std::uint32_t>(sides.engine_at) + 1;
    course.engine_since = sides.engine_since;
    for (std::uint32_t e = 1; e < course.engine_at; ++e)
      ends_.note(t, beat.first + e, since_start + foresight_.end(beat.first + e));
    if (course.engine_at < beat.count) {
      ++course.open;
      const Element e = element(t + tasks_);
      if (sides.flows) {
        resume(t + tasks_, e.flow, sides.flow_at);
        for (const DeviceId d : paces_.slowed_by(program_.series_of(t).engine)) {
          ++paces_.of(d).disturbed_by;
          foresight_.of(d).slowed = true;
        }
      } else {
        begin(t + tasks_, e, sides.engine_since, course.version);
      }
    }
    if (sides.end <= queue_.now()) return ends_.note(t, beat.first, sides.end);
    ++course.open;
    Pace* pace = element(t).flow == Task::kNoFlow ? pace_of(t) : nullptr;
    if (pace == nullptr) return begin(t, element(t), course.at, course.version);
    pace->working = t;
    pace->left = sides.left;
    pace->forecast(sides.since);
    expect_end(*pace);
  }

  /// A flow comes to the resources of other devices (+1), or leaves them (-1).
  void visit_owners(TaskId id, FlowId flow, int change) {
    if (!foresight_.enabled()) return;
    const DeviceId own = program_.device_of(task_of(id));
    for (const filling::Part& part : constraints_.parts(flow)) {
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

  void expect_end(const Pace& pace) {
    queue_.schedule(pace.end, Phase::completion, {ExecutorEvent::Kind::work_end, pace.working, pace.version});
  }

  void start_flow(TaskId id) {
    const FlowId flow = element(id).flow;
    visit_owners(id, flow, +1);
    transfers_.start(constraints_.parts(flow), constraints_.scale(flow), id);
    disturb(id, +1);
  }

  /// A transfer on some devices starts (+1) or ends (-1): work that runs at the same time changes pace.
  void disturb(TaskId id, int change) {
    if (paces_.empty()) return;
    const TaskId t = task_of(id);
    if (on_engine(id)) return disturb_by(program_.series_of(t).engine, change);
    if (program_.is_series(t)) return disturb_by(program_.device_of(t), change);
    const Task& task = program_.tasks()[t];
    for (std::uint32_t i = 0; i < task.device_count; ++i)
      disturb_by(program_.task_devices()[task.first_device + i], change);
  }

  void disturb_by(DeviceId by, int change) {
    for (const DeviceId d : paces_.slowed_by(by)) {
      Pace& pace = paces_.of(d);
      if (foresight_.enabled()) note_disturbance(d, by, change);
      const bool before = pace.disturbed();
      pace.disturbed_by += change;
      if (before == pace.disturbed()) continue;
      if (foresight_.enabled()) foresight_.of(d).slowed = !before;
      if (pace.working == Run::kNone) continue;
      in_doubt_ = in_doubt_ || (foresight_.enabled() && pace.end == queue_.now());
      pace.change(queue_.now());
      expect_end(pace);
    }
  }

  /// Brings a device that is to be disturbed to now. Where two devices disturb it at one time, or its work
  /// ends then, the order of the two depends on events that foresight leaves out.
  void note_disturbance(DeviceId d, DeviceId by, int change) {
    Pace& pace = paces_.of(d);
    in_doubt_ = in_doubt_ || (pace.changed_at == queue_.now() && pace.changed_by != by);
    pace.changed_at = queue_.now();
    pace.changed_by = by;
    Foresight::Course& course = foresight_.of(d);
    if (change < 0 || std::exchange(course.slowed, true)) return;
    take_back(course);
  }

  /// `version`: of a forecast; 0 for what is not slowed.
  void end_work(TaskId id, std::uint32_t version) {
    if (version != 0) {
      Pace& pace = *pace_of(id);
      if (pace.version != version) return;
      pace.working = Run::kNone;
      return end(id, pace.since);
    }
    const Foresight::Course* course = course_of(id);
    end(id, course == nullptr ? run_.started[id] : on_engine(id) ? course->engine_since : course->at);
  }

  void end_flow(TaskId id, SimTime since) {
    if (observer_) observer_(queue_.now(), id, 0);
    disturb(id, -1);
    visit_owners(id, element(id).flow, -1);
    end(id, since);
  }

  /// Ends what is under way. `since` is when the event of that was scheduled.
  void end(TaskId id, SimTime since) {
    const TaskId t = task_of(id);
    if (!program_.is_series(t)) return end_task(id, since);
    Foresight::Course& c = *course_of(t);
    const Beat& beat = program_.beats()[program_.beat_of(t, c.last_beat)];
    ends_.note(t, beat.first + (on_engine(id) ? c.engine_at : 0), queue_.now());
    if (on_engine(id) && ++c.engine_at < beat.count) {
      c.engine_since = queue_.now();
      return begin(id, element(id), queue_.now(), c.version);
    }
    if (beat.count > 1) {
      if (c.open == 1 && c.closed == queue_.now()) note_tie(c, t, id, since);
      c.closed = queue_.now();
      c.closed_since = since;
      if (--c.open > 0) return;
      since = queue_.now();  // they meet
    }
    if (c.last_beat + 1 < program_.beats_of(t)) return foresee(c, t, c.last_beat + 1, queue_.now());
    end_task(t, since);
  }

  /// Of the two sides of a beat that end now, that determines its end which was scheduled last; where both were
  /// scheduled at one time, that of the device. `side` is the second that ends.
  void note_tie(const Foresight::Course& c, TaskId t, TaskId side, SimTime since) {
    const bool second = on_engine(side) ? since > c.closed_since : since >= c.closed_since;
    const Beat& beat = program_.beats()[program_.beat_of(t, c.last_beat)];
    const std::uint32_t last = beat.first + beat.count - 1;
    ends_.drop(t, second == on_engine(side) ? beat.first : last);
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
      const bool last = --edges_.waiting_for[next] == 0;
      note_release(next, t, since);
      if (last) start(next, run_.released_by[next]);
    });
  }

  /// Of ends at one time that which was scheduled last releases a task, and of those the task with the highest
  /// number: what foresight leaves out decides nothing. Until the task starts, its start is when that was scheduled.
  void note_release(TaskId next, TaskId by, SimTime since) {
    TaskId& last = run_.released_by[next];
    SimTime& scheduled = run_.started[next];
    const bool ties = last != Run::kNone && run_.ended[last] == queue_.now();
    if (ties && std::pair(since, by) < std::pair(scheduled, last)) return;
    last = by;
    scheduled = since;
  }

  void settle() {
    sharing_due_ = false;
    transfers_.settle(queue_.now(), queue_.take_sequence());
    if (!observer_) return;
    for (const auto& [task, rate] : transfers_.changed()) observer_(queue_.now(), task, rate);
  }

  void compare_instants() {
    std::vector<PendingEvent> pending;
    for (const auto& event : queue_.pending()) {
      const ExecutorEvent& p = event.payload;
      if (!is_outdated(p)) pending.push_back({event.moment, p.id, static_cast<std::int64_t>(p.kind)});
    }
    InstantState instant(rhythm_, run_.started, queue_.now(), transfers_, paces_, pending);
    run_.rhythm =
        rhythm_.compare(queue_.now(), run_.events, std::move(instant.under_way), std::move(instant.state));
  }
  /// Work whose end has been forecast anew.
  bool is_outdated(const ExecutorEvent& p) {
    return p.kind == ExecutorEvent::Kind::work_end && p.version != 0 && pace_of(p.id)->version != p.version;
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
  Paces paces_;
  EventQueue<ExecutorEvent> queue_;
  bool sharing_due_ = false;
  std::size_t done_ = 0;
  bool in_doubt_ = false;
  RhythmFinder rhythm_;
  Run run_;
  SeriesEnds ends_;  ///< of run_, which is there before it
  TaskId tasks_;
};

}  // namespace

Run execute(const Program& program, const RateObserver& observer) {
  if (!observer) {
    Executor ahead(program, observer, {}, true);
    if (auto run = ahead.run()) return std::move(*run);
  }
  if (program.series().empty()) return *Executor(program, observer, {}, false).run();
  const Program::Expansion all = program.expanded();
  return folded(program, all, *Executor(all.program, observer, {}, false).run());
}

Run execute(const Program& program, const Repeats& repeats) {
  const RateObserver nobody;
  return *Executor(program, nobody, repeats, false).run();
}

}  // namespace trnplan::sim
