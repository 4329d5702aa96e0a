#include "api/watch.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/followed_log.h"
#include "api/inputs.h"
#include "api/observations.h"
#include "api/rehearsal.h"
#include "api/slow_run.h"
#include "api/watch_learning.h"
#include "api/watch_report.h"
#include "io/catalog/catalog.h"
#include "io/catalog/observations.h"
#include "io/catalog/profile_reader.h"
#include "io/input/plan_file.h"
#include "io/output/atomic_write.h"
#include "launch/watch/watch.h"
#include "logs/detect/detect.h"
#include "logs/training/failures.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunning = "RUNNING";  ///< Slurm's word

// ---- learning

/// Profile to which observations are added: the existing one, a copy of the file that --profile names, or one on the
/// profile with which the run is judged.
std::string profile_to_extend(const WatchRequest& o, const models::Profile& profile,
                              const io::Catalog& catalog) {
  const bool there = fs::exists(o.record), file = o.profile.ends_with(".json");
  const std::string from = there ? o.record : o.profile;
  if (!there && !file)
    return io::profile_on(profile.base.empty() ? profile.name : profile.base,
                          fs::path(o.record).stem().string());
  std::string text = read_text(from);
  io::profile_from(parse_document(text, from), &catalog);  // throws if it is no profile
  return text;
}

/// Adds the log's findings to the profile's observations; returns a remark on them.
std::string record_observations(const WatchRequest& o, const FollowedLog& log,
                                const launch::LogReading& reading, const io::WatchReport& r,
                                const std::vector<launch::Advice>& advice,
                                const launch::WatchContext& context, const models::Profile& profile,
                                const io::Catalog& catalog) {
  if (io::has_alarm(r, io::kOtherJob)) return "nothing to record: the log is of another job";
  const auto found = launch::observations_of(advice, context.ran, reading.run.last_line, r.timed_steps > 0,
                                             fs::path(log.name()).filename().string(), log.sha256());
  if (found.empty())
    return "nothing to record: the log shows no refused group, no full memory, and no step of a plan that is "
           "known";
  io::update_file(o.record, true,
                  [&] { return io::with_observations(profile_to_extend(o, profile, catalog), found); });
  return fmt::format("{} observation{} recorded in {}", found.size(), found.size() == 1 ? "" : "s", o.record);
}

/// Outcome of --calibrate.
Learnt learn_from(const WatchRequest& o, const io::WatchReport& r, const FollowedLog& log,
                  const launch::LogReading& reading, const launch::WatchContext& context,
                  const models::Profile& profile, const launch::FindPlans& find, const io::Catalog& catalog,
                  Remarks& remarks) {
  if (!context.plan) return {"nothing to learn: there is no prediction"};
  if (!r.predicted) return {"nothing to learn: the log is of another job"};
  if (r.smaller_batch) return {"nothing to learn: too few steps have the batch of the prediction"};
  return learn_from_run(o, log, reading, context, profile, find, catalog, remarks);
}

// ---- looking

/// True if no data came within that many seconds.
bool drained(int seconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, seconds * 1000) == 0;
}

/// Time since the last step of a run that is followed.
class Silence {
 public:
  /// Starts from a report that was just made.
  void step_seen(std::int64_t step, const std::vector<double>& step_seconds) {
    most_ = launch::most_silence(step_seconds);
    if (step == step_) return;
    step_ = step;
    since_ = std::chrono::steady_clock::now();
    told_ = false;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  }
  /// True if a run whose steps took that long has stopped.
  bool is_long() const { return seconds() > most_.value_or(launch::kSilentSeconds); }
  /// True once, when it has become too long.
  bool breaks() {
    if (told_ || !most_ || seconds() <= *most_) return false;
    return told_ = true;
  }

 private:
  std::int64_t step_ = -1;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::optional<double> most_;
  bool told_ = false;
};

/// Seconds since the file was last written; nullopt if unknown.
std::optional<double> age_of(const std::string& path) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  if (error) return std::nullopt;
  return std::max(0.0, std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count());
}

/// "trnplan watch LOG" with the options that state the plan that ran.
std::vector<std::string> watch_words(const WatchRequest& o) {
  std::vector<std::string> words = {"trnplan", "watch", o.targets.front()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--plan", o.ran.plan);
  add("--job", o.ran.job);
  add("--strategy", o.ran.strategy);
  add("--config", o.ran.config);
  const std::vector<std::string> machine = o.ran.machine_words();
  words.insert(words.end(), machine.begin(), machine.end());
  return words;
}

class Watcher {
 public:
  Watcher(const WatchRequest& request, const ShowReport& show, Remarks& remarks)
      : o_(request),
        show_(show),
        report_(request.report),
        slow_run_(request),
        remarks_(remarks),
        catalog_(io::Catalog::standard()),
        ran_(request.ran),
        profile_(load_profile(catalog_, request.profile)),
        find_(plan_finder(request.profile)) {
    try {
      refer();
    } catch (const InputError& e) {
      if (ran_.job.empty() || !ran_.plan.empty()) throw;
      fault_ = e;  // the log may show a stack that has the strategy
    }
  }

  /// True if the run failed, or taught nothing that was to be learnt.
  bool run() {
    const bool failed = o_.once ? once() : o_.targets.front() == io::kStandardInput ? listen() : follow();
    return failed || lacks_profile_;
  }

 private:
  void show(const io::WatchReport& r, bool whole) const { show_(r, whole, context_.ran.assumed); }

  /// Makes the references with which the run is compared. Throws InputError.
  void refer() {
    of_context_ = {};
    launch::WatchContext anew = watched_context(ran_, o_.profile, catalog_, of_context_);
    anew.silent = context_.silent;
    context_ = std::move(anew);
    // A run on a machine of another family is judged with the parameters of that family.
    profile_ = profile_for(catalog_, std::move(profile_), !o_.profile.empty(),
                           context_.ran.job.cluster.instance, of_context_);
  }

  /// Takes the stack whose words the log has, and says what the references assume. Throws InputError.
  void refer_to_stack(const std::vector<logs::StepSample>& steps) {
    const std::string stack = logged_stack(steps);
    if (!stack.empty() && stack != ran_.logged && !ran_.job.empty() && ran_.plan.empty()) {
      ran_.logged = stack;
      refer();
      fault_.reset();
      advice_.clear();
    }
    if (fault_) throw InputError(*fault_);
    const std::string& file = ran_.plan.empty() ? ran_.config : ran_.plan;
    if (!file.empty() && context_.plan && stack != ran_.logged) {
      ran_.logged = stack;
      if (std::string other = other_stack(stack, context_.plan->target, file); !other.empty())
        remarks_.add(other + "; name what ran if it is another run", "stack");
    }
    for (const Remark& r : of_context_.all()) remarks_.add(r);
    of_context_ = {};
  }

  /// Report on the log as read so far.
  io::WatchReport report(const FollowedLog& log, const std::string& state, bool learn) {
    launch::LogReading reading = log.now();
    refer_to_stack(reading.content.steps);
    launch::take_whole_steps(reading, context_.plan);
    context_.state = state;
    advise(reading.failures);
    silence_.step_seen(reading.run.last, reading.run.seconds());
    io::WatchReport r = launch::watch(reading, advice_, log.name(), context_);
    slow_run_.explain(reading.run, context_, r);
    if (learn && !o_.calibrate.empty()) {
      Learnt learnt = learn_from(o_, r, log, reading, context_, profile_, find_, catalog_, remarks_);
      r.remarks.push_back(std::move(learnt.said));
      lacks_profile_ = !learnt.written;
    }
    if (learn && !o_.record.empty())
      r.remarks.push_back(record_observations(o_, log, reading, r, advice_, context_, profile_, catalog_));
    if (!report_.path.empty()) {
      write_watch_report(report_, watch_words(o_), r, reading.run, context_, remarks_.all());
      report_.force = true;  // from now on the file is our own
    }
    return r;
  }

  /// Advice searches for plans, so it is computed again only for new failures.
  void advise(const std::vector<logs::Failure>& failures) {
    const auto same = [](const logs::Failure& a, const launch::Advice& b) {
      const logs::Failure& f = b.failure;
      return a.kind == f.kind && a.at.line == f.at.line && a.gib == f.gib && a.devices == f.devices &&
             a.group == f.group && a.group_ranks == f.group_ranks && a.number == f.number && a.of == f.of &&
             a.tried_gib == f.tried_gib && a.limit_gib == f.limit_gib && a.text == f.text;
    };
    if (!std::equal(failures.begin(), failures.end(), advice_.begin(), advice_.end(), same))
      advice_ = launch::advise(failures, context_.ran, profile_, find_);
    for (std::size_t i = 0; i < failures.size(); ++i) advice_[i].failure = failures[i];
  }

  bool once() {
    bool any = false;
    for (const std::string& target : o_.targets) {
      FollowedLog log(source_of(target), remarks_, FollowedLog::Reading::once);
      log.look();
      const std::string& job = log.source().job;
      const std::string state = job.empty() ? "" : ask_slurm(job).state;
      context_.silent = state == kRunning ? age_of(log.source().path) : std::nullopt;
      io::WatchReport r = report(log, state, true);
      if (job.empty() && r.step == 0 && r.failures.empty() && r.events.empty()) explain_nothing(log, r);
      show(r, true);
      any = any || io::failed(r);
    }
    return any;
  }

  /// Says why a log shows no run: it is empty, nothing in it is known (yet), or what was left out. Throws InputError if
  /// it is the only one and no text.
  void explain_nothing(const FollowedLog& log, io::WatchReport& r) {
    const logs::Detected content = log.now().content;
    if (log.start().find_first_not_of(" \t\r\n") == std::string::npos) {
      r.remarks.push_back("the log is empty: the run may have just begun");
    } else if (content.kinds.empty()) {
      Diagnostic fault = logs::unknown_content(log.start(), log.name());
      if (o_.targets.size() == 1 && logs::is_binary(log.start())) throw InputError(std::move(fault));
      remarks_.add(std::move(fault));
    } else if (!content.skipped.empty()) {
      remarks_.add(content.skipped.front());
    }
  }

  /// True if the run broke, and what broke it is no error that a program may have caught: such a run has ended once it
  /// says nothing.
  bool has_ended(const io::WatchReport& r) const {
    const auto ends = [](const io::WatchFailure& f) {
      return !f.went_on && f.kind != logs::to_string(logs::FailureKind::error);
    };
    return io::broke(r) && (std::any_of(r.failures.begin(), r.failures.end(), ends) || silence_.is_long());
  }

  /// Reports once that no further step comes.
  void tell_silence(const FollowedLog& log, const std::string& state) {
    if (!silence_.breaks()) return;
    context_.silent = silence_.seconds();
    const io::WatchReport r = report(log, state, false);
    context_.silent.reset();
    show(r, false);
  }

  /// Reads standard input to its end. Shows a line for each step, and the whole report at the end.
  bool listen() {
    FollowedLog log(source_of(o_.targets.front()), remarks_);
    std::int64_t step = 0;
    std::size_t failures = 0;
    for (;;) {
      while (drained(o_.interval)) tell_silence(log, "");
      if (!log.look_once()) break;
      if (!drained(0)) continue;
      const io::WatchReport r = report(log, "", false);
      if (r.step == step && r.failures.size() == failures) continue;
      step = r.step;
      failures = r.failures.size();
      show(r, false);
    }
    const io::WatchReport last = report(log, "", true);
    show(last, true);
    return io::failed(last);
  }

  bool finish(const FollowedLog& log, const std::string& state) {
    const io::WatchReport last = report(log, state, true);
    show(last, true);
    return io::failed(last);
  }

  /// Looks again until the run is over. Shows a line for each change, and the whole report at the end.
  bool follow() {
    FollowedLog log(source_of(o_.targets.front()), remarks_);
    const std::string& job = log.source().job;
    std::string state;
    bool doubtful = false;  // an error was printed, which may have been caught
    for (bool first = true;; first = false) {
      const std::string state_now = job.empty() ? "" : state_after(state, job, remarks_);
      if (const bool grown = log.look(); first || grown || state_now != state) {
        state = state_now;
        const io::WatchReport r = report(log, state, false);
        doubtful = job.empty() && io::broke(r);
        if (r.finished || over(state) || (doubtful && has_ended(r))) return finish(log, state);
        show(r, false);
      } else if (doubtful && silence_.is_long()) {
        return finish(log, state);
      } else if (state.empty() || state == kRunning) {
        tell_silence(log, state);
      }
      std::this_thread::sleep_for(std::chrono::seconds(o_.interval));
    }
  }

  const WatchRequest& o_;
  const ShowReport& show_;
  ReportFile report_;
  SlowRun slow_run_;
  Remarks& remarks_;
  io::Catalog catalog_;
  WatchedRun ran_;  ///< with the stack of the log
  models::Profile profile_;
  Remarks of_context_;               ///< said with the first report, which may show another stack
  std::optional<InputError> fault_;  ///< of the references
  launch::WatchContext context_;
  launch::FindPlans find_;
  std::vector<launch::Advice> advice_;
  Silence silence_;
  bool lacks_profile_ = false;  ///< --calibrate wrote none
};

void check_request(const WatchRequest& o) {
  std::vector<Diagnostic> faults;
  const SourcePos at{"command line", 0, 0};
  if (!o.once && o.targets.size() > 1)
    faults.push_back({at, "targets", "only one log can be followed", "add --once, or name one log"});
  const bool known =
      !o.ran.plan.empty() || !o.ran.config.empty() || (!o.ran.job.empty() && !o.ran.strategy.empty());
  if (!o.calibrate.empty() && !known) {
    faults.push_back({at, "--calibrate", "there is no plan or job to compare with",
                      "add --plan DIR/plan.json, --config NXDT.yaml, or --job JOB.yaml and --strategy"});
  }
  if (!o.calibrate.empty() && !o.calibrate.ends_with(".json")) {
    faults.push_back(
        {at, "--calibrate", "does not end in .json, so --profile would not read it", "name it X.json"});
  }
  if (!o.calibrate.empty() && o.targets.size() > 1) {
    faults.push_back({at, "--calibrate", "several logs, one profile", "give one log"});
  }
  if (!o.report.path.empty() && o.targets.size() > 1)
    faults.push_back({at, "--report", "several logs, one page", "give one log"});
  if (!o.record.empty() && !o.record.ends_with(".json")) {
    faults.push_back(
        {at, "--record", "does not end in .json, so --profile would not read it", "name it X.json"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  std::vector<std::string> others = {o.ran.plan, o.ran.job, o.ran.config};
  others.insert(others.end(), o.targets.begin(), o.targets.end());
  check_apart("--record", o.record, others);
  if (!o.record.empty()) rehearse_file(o.record, true);
  others.push_back(o.record);
  check_apart("--calibrate", o.calibrate, others);
  if (!o.calibrate.empty()) rehearse_file(o.calibrate, o.force);
  others.insert(others.end(), {o.profile, o.calibrate});
  check_report(o.report, others);
}

}  // namespace

bool watch(const WatchRequest& request, const ShowReport& show, Remarks& remarks) {
  WatchRequest of_file = request;
  std::error_code none;
  if (fs::is_directory(request.ran.plan, none))
    of_file.ran.plan = (fs::path(request.ran.plan) / io::kPlanFile).string();
  check_request(of_file);
  return Watcher(of_file, show, remarks).run();
}

}  // namespace trnplan::api
