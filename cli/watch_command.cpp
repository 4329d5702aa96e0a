#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/observations.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/watch_text.h"
#include "cli/watch_context.h"
#include "cli/watch_source.h"
#include "io/catalog/catalog.h"
#include "io/catalog/observations.h"
#include "io/catalog/profile_reader.h"
#include "io/input/plan_file.h"
#include "io/output/atomic_write.h"
#include "io/output/profile_json.h"
#include "io/output/watch_json.h"
#include "launch/process/process.h"
#include "launch/watch/watch.h"
#include "text/document.h"

namespace trnplan::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  Common common;
  std::vector<std::string> targets;
  WatchedRun ran{"", "", "", "", api::usual_instance()};
  std::string calibrate, record;
  bool once = false, force = false;
  int interval = 5;
};

// ---- learning

void write_profile(const Options& o, const launch::Recalibration& learnt, const io::Catalog& catalog) {
  models::Profile profile = learnt.profile;
  profile.name = fs::path(o.calibrate).stem().string();
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  const std::string text = io::profile_json(
      profile, base, learnt.moved,
      fmt::format("The step time of one run: {} steps, median {:.4g} s.", learnt.steps, learnt.observed),
      "Fitted by trnplan watch; spreads are those of each parameter alone.");
  Remarks remarks = heard_remarks();
  io::update_file(o.calibrate, o.force,
                  [&] { return api::keep_observations(text, o.common.profile, o.calibrate, remarks); });
}

/// The profile that observations are added to: the one that is there, or one like --profile.
std::string profile_to_extend(const Options& o, const io::Catalog& catalog) {
  const bool there = fs::exists(o.record), file = o.common.profile.ends_with(".json");
  const std::string from = there ? o.record : o.common.profile;
  if (!there && !file) return io::profile_on(o.common.profile, fs::path(o.record).stem().string());
  std::string text = read_text(from);
  io::profile_from(parse_document(text, from), &catalog);  // nothing is added to what is no profile
  return text;
}

/// Adds what the log shows to the profile's observations; the remark that says so.
std::string record_observations(const Options& o, const FollowedLog& log, const launch::LogReading& reading,
                                const launch::WatchContext& context, const models::Profile& profile,
                                const io::Catalog& catalog) {
  const auto found =
      launch::observations_of(launch::advise(reading.failures, context.ran, profile), context.ran,
                              reading.run.last_line, fs::path(log.name()).filename().string(), log.sha256());
  if (found.empty())
    return "nothing to record: the log contradicts no verdict and shows no refused group or full memory";
  io::update_file(o.record, true,
                  [&] { return io::with_observations(profile_to_extend(o, catalog), found); });
  return fmt::format("{} observation{} recorded in {}", found.size(), found.size() == 1 ? "" : "s", o.record);
}

/// What was learnt, as a remark of the report; "" when the run is too short.
std::string calibrate(const Options& o, const launch::RunLog& log, const launch::WatchContext& context,
                      const models::Profile& profile, const io::Catalog& catalog) {
  if (!context.plan) return "nothing to learn from: there is no prediction";
  const auto learnt = launch::recalibrate(log, *context.plan, profile);
  if (!learnt) return fmt::format("too few steps to learn from: {} are needed", launch::kStepsToCalibrate);
  write_profile(o, *learnt, catalog);
  std::string said =
      fmt::format("{} written: {} steps of {:.4g} s; the plan's step goes from {:.4g} to {:.4g} s",
                  o.calibrate, learnt->steps, learnt->observed, learnt->before, learnt->after);
  if (!learnt->better) return said + "; no other plan wins with it";
  return said + fmt::format("; now {} would win: {:.4g} s a step, {:.4g} s less ({:.1f} %)",
                            models::describe(learnt->better->strategy), learnt->better->report.step.value,
                            learnt->gain, learnt->gain / learnt->after * 100);
}

// ---- the command

class Watcher {
 public:
  Watcher(const Options& o, io::Catalog catalog, models::Profile profile, launch::WatchContext context)
      : o_(o), catalog_(std::move(catalog)), profile_(std::move(profile)), context_(std::move(context)) {}

  /// What the log says as it is read now.
  io::WatchReport report(const FollowedLog& log, const std::string& state, bool learn) {
    context_.state = state;
    const launch::LogReading reading = log.now();
    advise(reading.failures);
    io::WatchReport r = launch::watch(reading, advice_, log.name(), context_);
    if (learn && !o_.calibrate.empty())
      r.remarks.push_back(calibrate(o_, reading.run, context_, profile_, catalog_));
    if (learn && !o_.record.empty())
      r.remarks.push_back(record_observations(o_, log, reading, context_, profile_, catalog_));
    return r;
  }

  void show(const io::WatchReport& r, bool whole) const {
    if (o_.common.json()) return print(io::watch_json(r));
    std::string text = whole ? report_text(r) : status_line(r);
    for (const std::string& note : r.remarks) text += note + "\n";
    if (whole && r.step_seconds && context_.ran.assumed) text += how_to_compare(r.source);
    print_text(text);
  }

  const Options& options() const { return o_; }

 private:
  static std::string how_to_compare(const std::string& source) {
    return fmt::format(
        "is that as fast as it should be? Say what ran: trnplan watch {} --config NXDT.yaml, or --job "
        "JOB.yaml "
        "--strategy tp=8,pp=4\n",
        printable(launch::command_line({source == io::kStandardInputName ? io::kStandardInput : source})));
  }

  /// Advice searches for plans: only again when there is something new to mend.
  void advise(const std::vector<logs::Failure>& failures) {
    const auto same = [](const logs::Failure& a, const launch::Advice& b) {
      const logs::Failure& f = b.failure;
      return a.kind == f.kind && a.at.line == f.at.line && a.gib == f.gib && a.devices == f.devices &&
             a.group == f.group && a.group_ranks == f.group_ranks;
    };
    if (!std::equal(failures.begin(), failures.end(), advice_.begin(), advice_.end(), same))
      advice_ = launch::advise(failures, context_.ran, profile_);
    for (std::size_t i = 0; i < failures.size(); ++i) advice_[i].failure = failures[i];
  }

  const Options& o_;
  io::Catalog catalog_;
  models::Profile profile_;
  launch::WatchContext context_;
  std::vector<launch::Advice> advice_;
};

/// Something broke, and no step was done since.
bool failed(const io::WatchReport& r) {
  return !r.finished && std::any_of(r.failures.begin(), r.failures.end(),
                                    [](const io::WatchFailure& f) { return !f.went_on; });
}

int once(Watcher& watcher) {
  bool any = false;
  for (const std::string& target : watcher.options().targets) {
    FollowedLog log(source_of(target));
    log.look();
    const std::string& job = log.source().job;
    const io::WatchReport r = watcher.report(log, job.empty() ? "" : ask_slurm(job).state, true);
    watcher.show(r, true);
    any = any || failed(r);
  }
  return any ? kNoPlan : kDone;
}

/// Nothing waits to be read.
bool drained() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) == 0;
}

/// Reads standard input to its end; a line for each step, as it comes, and the whole report at the end.
int listen(Watcher& watcher) {
  FollowedLog log(source_of(watcher.options().targets.front()));
  std::int64_t step = 0;
  std::size_t failures = 0;
  while (log.look_once()) {
    if (!drained()) continue;
    const io::WatchReport r = watcher.report(log, "", false);
    if (r.step == step && r.failures.size() == failures) continue;
    step = r.step;
    failures = r.failures.size();
    watcher.show(r, false);
  }
  const io::WatchReport last = watcher.report(log, "", true);
  watcher.show(last, true);
  return failed(last) ? kNoPlan : kDone;
}

/// Looks again until the run is over; a line for each change, and the whole report at the end.
int follow(Watcher& watcher) {
  FollowedLog log(source_of(watcher.options().targets.front()));
  const std::string& job = log.source().job;
  std::string state;
  for (bool first = true;; first = false) {
    const std::string state_now = job.empty() ? "" : state_after(state, job);
    if (const bool grown = log.look(); first || grown || state_now != state) {
      state = state_now;
      const io::WatchReport r = watcher.report(log, state, false);
      const bool end = r.finished || over(state) || (job.empty() && failed(r));
      if (end) {
        const io::WatchReport last = watcher.report(log, state, true);
        return watcher.show(last, true), failed(last) ? kNoPlan : kDone;
      }
      watcher.show(r, false);
    }
    std::this_thread::sleep_for(std::chrono::seconds(watcher.options().interval));
  }
}

void check_options(const Options& o) {
  std::vector<Diagnostic> faults;
  const SourcePos at{"command line", 0, 0};
  if (!o.once && o.targets.size() > 1)
    faults.push_back({at, "targets", "only one can be followed", "add --once, or give one"});
  const bool known =
      !o.ran.plan.empty() || !o.ran.config.empty() || (!o.ran.job.empty() && !o.ran.strategy.empty());
  if (!o.calibrate.empty() && !known) {
    faults.push_back({at, "--calibrate", "nothing says what was predicted",
                      "add --plan DIR/plan.json, --config NXDT.yaml, or --job JOB.yaml and --strategy"});
  }
  if (!o.calibrate.empty() && !o.calibrate.ends_with(".json")) {
    faults.push_back(
        {at, "--calibrate", "does not end in .json, so --profile would not read it", "name it X.json"});
  }
  if (!o.calibrate.empty() && o.targets.size() > 1) {
    faults.push_back({at, "--calibrate", "several logs, one profile", "give one log"});
  }
  if (!o.record.empty() && !o.record.ends_with(".json")) {
    faults.push_back(
        {at, "--record", "does not end in .json, so --profile would not read it", "name it X.json"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (!o.record.empty()) io::check_file(o.record, true);
  if (!o.calibrate.empty()) io::check_file(o.calibrate, o.force);
}

int run(const Options& o) {
  check_options(o);
  io::Catalog catalog = io::Catalog::standard();
  models::Profile profile = api::load_profile(catalog, o.common.profile);
  WatchedContext watched = watched_context(o.ran, profile, catalog);
  heard_remarks().add(watched.remarks);
  Watcher watcher(o, std::move(catalog), std::move(profile), std::move(watched.context));
  if (o.once) return once(watcher);
  return o.targets.front() == io::kStandardInput ? listen(watcher) : follow(watcher);
}

}  // namespace

void add_watch(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("watch", "Compare a run with its plan while it goes on; say why it failed");
  command->add_option("targets", o->targets, "a Slurm job id, log files, or - for standard input")
      ->required()
      ->check(not_empty());
  command->add_flag("--once", o->once, "report once and end, instead of following the log");
  command->add_option("--plan", o->ran.plan, "plan.json of the folder that was launched")->check(not_empty());
  command->add_option("--job", o->ran.job, "the job that ran, where there is no plan.json")
      ->check(not_empty());
  command->add_option("--strategy", o->ran.strategy, "its strategy, as simulate takes it")
      ->check(not_empty());
  command->add_option("--config", o->ran.config, "the NxDT YAML that ran")->check(not_empty());
  command->add_option("--instance", o->ran.instance, "where --config ran")->capture_default_str();
  command->add_option("--calibrate", o->calibrate, "write a profile that explains the observed steps (.json)")
      ->check(not_empty());
  command
      ->add_option("--record", o->record,
                   "add what the log shows of replica groups and memory to this profile's evidence (.json)")
      ->check(not_empty());
  command->add_flag("--force", o->force, "overwrite --calibrate");
  command->add_option("--interval", o->interval, "seconds between looks")
      ->check(whole_number(1, 3600))
      ->capture_default_str();
  add_common(*command, o->common);
  command->footer(
      "--format json prints one JSON object a line. Exit code 3: the log shows a failure and no step "
      "after it.\n"
      "Examples:\n"
      "  trnplan watch 1742 --plan my-plan/plan.json\n"
      "  trnplan watch train-1742.out --plan my-plan/plan.json --once --calibrate mine.json\n"
      "  kubectl logs -f my-pod | trnplan watch - --config nxdt.yaml\n"
      "  trnplan watch slurm-17.out --once --record mine.json; trnplan topology --tp 16 --profile mine.json\n"
      "  trnplan watch slurm-17.out --once --format json | jq .failures");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
