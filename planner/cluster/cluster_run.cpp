#include "planner/cluster/cluster_run.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "planner/cluster/progress.h"
#include "planner/cost/draws.h"

namespace trnplan::planner {

namespace {

using P = ReliabilityParameter;

constexpr Seconds kNever{kInfinity};
constexpr std::uint64_t kMostClusterEvents = 1'000'000;
/// Events that a run goes on for the other jobs, once one is given up. Our own value, as those below.
constexpr std::uint64_t kEventsForOthers = 50'000;
/// Failures from which on the pace of a job says when it would end, and the margin of that.
constexpr int kJudgedFailures = 256;
constexpr double kPaceMargin = 2;

/// The stages of a job. `failed`: until the scheduler acts. `delayed`: until it may take nodes.
enum class Stage { future, queued, starting, training, failed, delayed, done };

/// Nodes that are free or in repair.
class Pool {
 public:
  Pool(int free, Seconds repair, int slots)
      : free_(free), repair_(repair), slots_(static_cast<std::size_t>(slots), Seconds{}) {}

  [[nodiscard]] int free() const { return free_; }
  [[nodiscard]] std::size_t in_repair() const { return back_.size(); }
  [[nodiscard]] Seconds next() const { return back_.empty() ? kNever : back_.front(); }
  void give(int nodes) { free_ += nodes; }
  int take(int nodes) {
    const int taken = std::min(nodes, free_);
    free_ -= taken;
    return taken;
  }
  void mend(int nodes, Seconds now) {
    for (; nodes > 0; --nodes) {
      Seconds start = now;
      if (!slots_.empty()) {
        const auto slot = std::min_element(slots_.begin(), slots_.end());
        start = std::max(now, *slot);
        *slot = start + repair_;
      }
      come_back(start + repair_);
    }
  }
  /// Other nodes come for some that are gone.
  void replace(int nodes, Seconds at) {
    for (; nodes > 0; --nodes) come_back(at);
  }
  void mended() {
    back_.pop_front();
    ++free_;
  }

 private:
  void come_back(Seconds at) { back_.insert(std::upper_bound(back_.begin(), back_.end(), at), at); }

  int free_;
  Seconds repair_;
  std::vector<Seconds> slots_;  ///< when each is free again; empty: no limit
  std::deque<Seconds> back_;    ///< ascending
};

struct JobState {
  JobState(const ClusterJob& j, const FailureModel& m, std::uint64_t seed)
      : job(&j),
        model(m),
        progress(j.steps, {static_cast<double>(j.every_steps), m.stall, m.unsafe}),
        random(seed),
        until(j.submitted) {}

  const ClusterJob* job;
  FailureModel model;
  Progress progress;
  Random random;
  Stage stage = Stage::future;
  Seconds until;             ///< end of the stage, where it has one
  Seconds since{};           ///< begin of the stage, or of the last change of the step
  Seconds failure = kNever;  ///< the next
  Seconds step{};            ///< in training
  Seconds first_start{-1};
  Seconds trained_since{};   ///< begin of the current training
  int held = 0, broken = 0;  ///< whole nodes, and those to be sent to repair
  int interrupted = 0;       ///< nodes that the market took, which are still to be replaced
  int in_use = 0;            ///< nodes that can fail, by which `failure` was drawn
  int in_a_row = 0, restarts = 0;
  bool hopeless = false;
  JobRun run;

  [[nodiscard]] int lacks() const { return job->nodes - held; }
  [[nodiscard]] bool started() const { return first_start.value >= 0; }
};

class ClusterSimulation {
 public:
  ClusterSimulation(const ClusterSetup& setup, const Reliability& r, std::uint64_t seed,
                    std::vector<double> stretch)
      : setup_(setup),
        stretch_(std::move(stretch)),
        detection_(r[P::detection]),
        replacement_(r[P::replacement]),
        pool_(setup.nodes + setup.spares, setup.repair.value_or(Seconds(r[P::replacement])),
              setup.repair_slots) {
    stretch_.resize(setup.jobs.size(), 1);
    Random seeds(seed);
    for (const ClusterJob& j : setup.jobs) {
      jobs_.emplace_back(j, failure_model(r, shape_of(j)), seeds.seed());
    }
  }

  ClusterRun run() {
    ClusterRun out;
    while (next()) {
    }
    out.events = events_;
    double trained = 0;
    for (JobState& s : jobs_) {
      const Seconds work = s.job->steps * stretch_[out.jobs.size()] * s.job->step;
      if (s.stage == Stage::done) {
        s.run.wall = s.until - s.job->submitted;
        s.run.goodput = work / (s.until - s.first_start);
        out.span = std::max(out.span, s.until);
      } else {
        s.run.wall = out.span = kNever;
        out.given_up = now_;
        s.run.node_seconds += now_.value * s.held;
      }
      trained += work.value * s.job->nodes;
      out.jobs.push_back(s.run);
    }
    if (out.span < kNever) out.use = trained / (out.span.value * (setup_.nodes + setup_.spares));
    return out;
  }

 private:
  /// The next event: a repair that ends, unless `ends` or `fails` is set.
  struct Event {
    Seconds at = kNever;
    JobState* ends = nullptr;
    JobState* fails = nullptr;
  };

  /// Of several at one instant repairs come first, then the ends of stages, then failures, each in the order
  /// of the jobs.
  Event earliest() {
    Event e;
    e.at = pool_.next();
    for (JobState& s : jobs_)
      if (s.stage != Stage::done && s.until < e.at) e = {s.until, &s, nullptr};
    for (JobState& s : jobs_)
      if (s.failure < e.at) e = {s.failure, nullptr, &s};
    return e;
  }

  /// Goes to the next event, once nodes are handed out as all events of this instant leave them. False if all
  /// jobs are done, or the run gives up.
  bool next() {
    Event e = earliest();
    if (e.at > now_ && give_nodes()) e = earliest();
    if (!(e.at < kLongestRun) || events_ == most_events_ || done()) return false;
    ++events_;
    now_ = e.at;
    if (e.ends != nullptr) {
      end_stage(*e.ends);
    } else if (e.fails != nullptr) {
      fail(*e.fails);
    } else {
      pool_.mended();
    }
    return true;
  }

  [[nodiscard]] bool done() const {
    return std::all_of(jobs_.begin(), jobs_.end(),
                       [](const JobState& s) { return s.stage == Stage::done || s.hopeless; });
  }

  /// Gives a job up that would not end at its pace so far, judged at powers of two.
  void judge(JobState& s) {
    const int failures = s.run.failures;
    if (s.hopeless || failures < kJudgedFailures || (failures & (failures - 1)) != 0) return;
    const double safe = s.progress.safe() / s.job->steps;
    const Seconds time = now_ - s.first_start;
    s.hopeless = time > kPaceMargin * safe * kLongestRun || failures > kPaceMargin * safe * kMostFailures;
    if (s.hopeless) most_events_ = std::min(most_events_, events_ + kEventsForOthers);
  }

  /// Changes the stage, and adds the time of the last one to what it was spent on.
  void enter(JobState& s, Stage stage, Seconds until) {
    const Seconds time = now_ - s.since;
    if (s.stage == Stage::queued) s.run.queued += time;
    if (s.stage == Stage::starting || s.stage == Stage::failed || s.stage == Stage::delayed)
      s.run.recovering += time;
    s.stage = stage;
    s.since = now_;
    s.until = until;
    expose(s);
  }

  void hold(JobState& s, int more) {
    s.run.node_seconds -= now_.value * more;  // minus the beginning, plus the end
    s.held += more;
    expose(s);
  }

  /// Adapts the next failure to the nodes in use: what is left of an exponential time is one, too.
  void expose(JobState& s) {
    const bool uses = s.stage == Stage::starting || s.stage == Stage::training || s.stage == Stage::failed;
    const int before = std::exchange(s.in_use, uses ? s.held : 0);
    if (s.in_use == before) return;
    if (s.in_use > 0 && before > 0) {
      s.failure = now_ + (static_cast<double>(before) / s.in_use) * (s.failure - now_);
    } else {
      draw_failure(s);
    }
  }

  void release(JobState& s) {
    pool_.give(s.held);
    hold(s, -s.held);
  }

  void end_stage(JobState& s) {
    switch (s.stage) {
      case Stage::starting:
        train(s);
        break;
      case Stage::training:
        advance(s);
        s.progress.finish();
        enter(s, Stage::done, now_);
        release(s);
        change_steps();
        break;
      case Stage::failed:
        pool_.mend(std::exchange(s.broken, 0), now_);
        pool_.replace(std::exchange(s.interrupted, 0), now_ + replacement_);
        if (!setup_.rule->keeps_nodes()) release(s);
        enter(s, Stage::delayed, now_ + setup_.rule->delay({false, s.in_a_row - 1}));
        break;
      case Stage::future:
      case Stage::delayed:
        enter(s, Stage::queued, kNever);
        break;
      case Stage::queued:
      case Stage::done:
        break;
    }
  }

  void train(JobState& s) {
    enter(s, Stage::training, kNever);
    s.trained_since = now_;
    change_steps();
  }

  /// Draws the next failure of the nodes in use.
  void draw_failure(JobState& s) {
    s.failure = kNever;
    if (s.in_use == 0) return;
    const double share = static_cast<double>(s.in_use) / s.job->nodes;
    s.failure = now_ + Seconds(s.random.exponential(s.model.mtbf.value / share));
  }

  void fail(JobState& s) {
    if (s.stage == Stage::training) {
      advance(s);
      if (now_ - s.trained_since >= kRanWell) s.in_a_row = 0;
    }
    s.progress.lose();
    ++s.run.failures;
    const bool trained = s.stage == Stage::training;
    judge(s);
    const double kind = s.random.uniform();
    const Failure failure{kind < s.model.replacement_share, s.in_a_row++};
    if (failure.node) {
      hold(s, -1);
      ++(kind < s.model.interruption_share ? s.interrupted : s.broken);
    }
    Seconds noticed = setup_.rule->noticed(failure, detection_);
    if (needs_person(s, failure)) noticed += s.model.person;
    enter(s, Stage::failed, now_ + noticed);
    draw_failure(s);
    if (trained) change_steps();
  }

  /// Draws whether a person is needed. A limit of restarts that is used up needs one too, who submits anew.
  bool needs_person(JobState& s, const Failure& failure) {
    const bool drawn = s.random.uniform() < s.model.person_share;
    const std::optional<int> limit = setup_.rule->settings().restarts;
    const bool used_up = limit && !failure.node && s.restarts >= *limit;
    s.restarts = used_up ? 0 : s.restarts + 1;
    return drawn || used_up;
  }

  /// Hands free nodes to the jobs that wait, and starts those that have all of theirs; true if one starts. A
  /// rule that keeps nodes lets jobs take some of those they need; otherwise the first one waits for all of its
  /// nodes, and the rest for the first.
  bool give_nodes() {
    bool any = false;
    for (JobState* s = first_in_queue(); s != nullptr; s = first_in_queue()) {
      if (!setup_.rule->keeps_nodes() && pool_.free() < s->lacks()) break;
      hold(*s, pool_.take(s->lacks()));
      if (s->lacks() > 0) break;
      start(*s);
      any = true;
    }
    for (JobState& s : jobs_) {  // behind one that lacks nodes, but lost none
      if (s.stage != Stage::queued || s.lacks() > 0) continue;
      start(s);
      any = true;
    }
    return any;
  }

  JobState* first_in_queue() {
    JobState* first = nullptr;
    for (JobState& s : jobs_)
      if (s.stage == Stage::queued && (first == nullptr || before(s, *first))) first = &s;
    return first;
  }

  static bool before(const JobState& a, const JobState& b) {
    if (a.job->priority != b.job->priority) return a.job->priority > b.job->priority;
    return a.since < b.since;
  }

  void start(JobState& s) {
    if (!s.started()) {
      s.first_start = now_;
      train(s);
      return;
    }
    enter(s, Stage::starting, now_ + (s.model.recovery - detection_));  // restart and loading
  }

  /// Trains up to now at the step so far.
  void advance(JobState& s) {
    s.progress.advance(now_ - s.since, s.step);
    s.since = now_;
  }

  /// Gives every job in training the step that it has with those that train now.
  void change_steps() {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      JobState& s = jobs_[j];
      if (s.stage != Stage::training) continue;
      Seconds step = s.job->step;
      for (std::size_t k = 0; k < setup_.slowed.size(); ++k)
        if (k != j && jobs_[k].stage == Stage::training) step += setup_.slowed[j][k];
      step = stretch_[j] * step;
      if (s.step == step && s.until < kNever) continue;
      if (s.until < kNever) advance(s);
      s.step = step;
      s.until = now_ + s.progress.remaining(step);
    }
  }

  const ClusterSetup& setup_;
  std::vector<double> stretch_;  ///< by job
  Seconds detection_, replacement_;
  Pool pool_;
  std::vector<JobState> jobs_;
  Seconds now_{};
  std::uint64_t events_ = 0, most_events_ = kMostClusterEvents;
};

}  // namespace

RunShape shape_of(const ClusterJob& job) {
  RunShape run;
  run.nodes = job.nodes;
  run.hosts = job.hosts;
  run.step = job.step;
  run.checkpoint = job.checkpoint;
  run.asynchronous = job.asynchronous;
  run.spot = job.spot;
  return run;
}

ClusterRun simulate_cluster(const ClusterSetup& setup, const Reliability& reliability, std::uint64_t seed,
                            std::vector<double> stretch) {
  return ClusterSimulation(setup, reliability, seed, std::move(stretch)).run();
}

}  // namespace trnplan::planner
