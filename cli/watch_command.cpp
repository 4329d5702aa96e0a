#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/evidence.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/watch_context.h"
#include "io/atomic_write.h"
#include "io/catalog.h"
#include "io/document.h"
#include "io/evidence.h"
#include "io/plan_file.h"
#include "io/profile_json.h"
#include "io/profile_reader.h"
#include "io/sha256.h"
#include "io/watch_json.h"
#include "launch/process.h"
#include "launch/watch.h"

namespace trnplan::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogBytes = 256u << 20;  ///< a day of a chatty job; read as a whole
constexpr double kGiB = 0x1p30;
constexpr std::size_t kShown = 200;  ///< bytes of what a program said

struct Options {
  Common common;
  std::vector<std::string> targets;
  WatchedRun ran{"", "", "", "", "trn1.32xlarge"};
  std::string calibrate, record;
  bool once = false, force = false;
  int interval = 5;
};

// ---- where the log is

bool is_job_id(const std::string& target) {
  return !target.empty() && target.find_first_not_of("0123456789_") == std::string::npos &&
         !fs::exists(target);
}

std::string field_of(const std::string& text, const std::string& key) {
  for (std::size_t at = text.find(key + "="); at != std::string::npos; at = text.find(key + "=", at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n') continue;
    const std::size_t from = at + key.size() + 1;
    // A path may hold blanks; it ends its line.
    const std::size_t end = text.find_first_of(key == "StdOut" ? "\n" : " \n", from);
    return text.substr(from, end - from);
  }
  return "";
}

struct Source {
  std::string path;
  std::string job;  ///< of Slurm; empty for a file
};

struct JobState {
  std::string state, log;
};

/// What Slurm's controller knows of a job.
JobState ask_slurm(const std::string& id) {
  const auto ran =
      launch::run_program({"scontrol", "show", "job", id}, {true, {}, -1, launch::kQuerySeconds});
  if (!ran.started) {
    throw InputError({{"command line", 0, 0},
                      id,
                      "there is no scontrol here to ask for this job",
                      "run it on the head node, or give the log's file"});
  }
  if (ran.code != 0) {
    const bool unknown = ran.error.find("Invalid job id") != std::string::npos;
    throw InputError({{"command line", 0, 0},
                      id,
                      (unknown ? "Slurm does not know this job: " : "Slurm gives no answer: ") +
                          printable(ran.error, kShown),
                      unknown ? "it may have ended long ago: give the log's file"
                              : "look at slurmctld, or give the log's file"});
  }
  return {field_of(ran.output, "JobState"), field_of(ran.output, "StdOut")};
}

bool over(const std::string& state) {
  static const std::vector<std::string> kFinal = {"COMPLETED", "FAILED",        "CANCELLED",
                                                  "TIMEOUT",   "NODE_FAIL",     "BOOT_FAIL",
                                                  "DEADLINE",  "OUT_OF_MEMORY", "FORGOTTEN"};
  return std::find(kFinal.begin(), kFinal.end(), state) != kFinal.end();
}

Source source_of(const std::string& target) {
  if (!is_job_id(target)) return {target, ""};
  return {ask_slurm(target).log, target};
}

std::string read_log(const Source& source) {
  std::error_code error;
  // A job that waits has no log yet.
  if (!source.job.empty() && !fs::exists(source.path, error)) return "";
  return io::read_text(source.path, kLogBytes);
}

// ---- text

std::string duration(double seconds) {
  if (seconds >= 86400) return fmt::format("{:.1f} days", seconds / 86400);
  if (seconds >= 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return seconds >= 60 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.0f} s", seconds);
}

std::string bar(std::int64_t step, std::int64_t total) {
  constexpr int width = 30;
  if (total <= 0) return fmt::format("step {}", step);
  const int done =
      static_cast<int>(width * static_cast<double>(std::min(step, total)) / static_cast<double>(total));
  return fmt::format("[{}{}] {}/{} steps", std::string(static_cast<std::size_t>(done), '#'),
                     std::string(static_cast<std::size_t>(width - done), '.'), step, total);
}

std::string status_line(const io::WatchReport& r) {
  std::string text = bar(r.step, r.total);
  if (r.step_seconds) text += fmt::format(", {:.4g} s a step", *r.step_seconds);
  if (r.predicted)
    text += fmt::format(" (predicted {:.4g}, {:.4g} to {:.4g})", *r.predicted, r.predicted_90->first,
                        r.predicted_90->second);
  if (r.goodput) text += fmt::format(", goodput {:.1f} %", *r.goodput * 100);
  if (r.eta_seconds && !r.finished) text += ", " + duration(*r.eta_seconds) + " left";
  if (r.usd_so_far) text += fmt::format(", {:.2f} USD so far", *r.usd_so_far);
  if (!r.state.empty()) text += ", " + r.state;
  return text + "\n";
}

std::string numbers(const std::vector<int>& all) {
  return all.size() > 16 ? topology::number_list(all) : [&] {
    std::string text;
    for (const int n : all) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
  }();
}

std::string failure_text(const io::WatchFailure& f) {
  std::string text =
      fmt::format("failure: {}, {} line{}, first {}:{}{}\n", f.kind, f.count, f.count == 1 ? "" : "s",
                  printable(f.file), f.line, f.went_on ? "; the run went on" : "");
  text += "  " + f.text + "\n";
  if (!f.rule.empty())
    text += fmt::format("  rule {}: {}\n", f.rule, f.problem);
  else
    text += fmt::format("  {}\n", f.problem);
  if (!f.ranks.empty()) text += fmt::format("  ranks {{{}}}, chips {}\n", numbers(f.ranks), numbers(f.chips));
  return text + "  fix: " + f.fix + "\n";
}

/// Whether the run is as fast as it should be.
std::string verdict_text(const io::WatchReport& r) {
  if (!r.predicted || !r.step_seconds) return "";
  const char* how = *r.step_seconds > r.predicted_90->second  ? "slower than it should be"
                    : *r.step_seconds < r.predicted_90->first ? "faster than predicted"
                                                              : "as fast as it should be";
  return fmt::format("{}: your run {:.4g} s a step, predicted {:.4g} (90 %: {:.4g} to {:.4g})\n", how,
                     *r.step_seconds, *r.predicted, r.predicted_90->first, r.predicted_90->second);
}

std::string report_text(const io::WatchReport& r) {
  std::string text = printable(r.source) + "\n" + verdict_text(r);
  if (r.step > 0) text += status_line(r);
  if (r.recent_seconds) {
    text += fmt::format("last {} steps: {:.4g} s; {} steps timed",
                        std::min(r.timed_steps, launch::kRecentSteps), *r.recent_seconds, r.timed_steps);
    if (r.tokens_per_second) text += fmt::format("; {:.0f} tokens/s", *r.tokens_per_second);
    if (r.loss) text += fmt::format("; loss {:.4g}", *r.loss);
    text += "\n";
  }
  if (r.memory_bytes) {
    text += fmt::format("memory: {:.2f} GiB in the fullest core", *r.memory_bytes / kGiB);
    if (r.predicted_memory_bytes) text += fmt::format(", {:.2f} predicted", *r.predicted_memory_bytes / kGiB);
    text += "\n";
  }
  if (r.restarts > 0) {
    text += fmt::format("restarts: {}, {} steps done again\n", r.restarts, r.lost_steps);
  }
  if (r.usd_total)
    text += fmt::format("cost: {:.2f} USD so far, {:.2f} in all at this pace\n", *r.usd_so_far, *r.usd_total);
  for (const io::WatchEvent& e : r.events) text += fmt::format("{}: line {}: {}\n", e.kind, e.line, e.text);
  for (const io::WatchAlarm& a : r.alarms) text += fmt::format("ALARM {}: {}\n", a.kind, a.message);
  for (const io::WatchFailure& f : r.failures) text += failure_text(f);
  if (r.step == 0 && r.failures.empty()) text += "no step yet\n";
  return text;
}

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
  io::write_file(o.calibrate, keep_evidence(text, o.common, o.calibrate), o.force);
}

/// The profile that observations are added to: the one that is there, or one like --profile.
std::string profile_to_extend(const Options& o, const io::Catalog& catalog) {
  const bool there = fs::exists(o.record), file = o.common.profile.ends_with(".json");
  const std::string from = there ? o.record : o.common.profile;
  if (!there && !file) return io::profile_on(o.common.profile, fs::path(o.record).stem().string());
  std::string text = io::read_text(from);
  io::profile_from(io::parse_document(text, from), &catalog);  // nothing is added to what is no profile
  return text;
}

/// Adds what the log shows to the profile's evidence; the remark that says so.
std::string record_evidence(const Options& o, const Source& source, const std::string& text,
                            const launch::WatchContext& context, const models::Profile& profile,
                            const io::Catalog& catalog) {
  const std::string name = source.path;
  const auto found = launch::evidence_of(
      launch::advise(launch::find_failures(text, name), context.ran, profile), context.ran,
      launch::read_run_log(text, name).last_line, fs::path(name).filename().string(), io::sha256(text));
  if (found.empty())
    return "nothing to record: the log contradicts no verdict and shows no refused group or full memory";
  io::write_file(o.record, io::with_evidence(profile_to_extend(o, catalog), found), true);
  return fmt::format("{} observation{} recorded in {}", found.size(), found.size() == 1 ? "" : "s", o.record);
}

/// What was learnt, as a remark of the report; "" when the run is too short.
std::string calibrate(const Options& o, const std::string& text, const launch::WatchContext& context,
                      const models::Profile& profile, const io::Catalog& catalog) {
  if (!context.plan) return "nothing to learn from: there is no prediction";
  const auto learnt =
      launch::recalibrate(launch::read_run_log(text, o.targets.front()), *context.plan, profile);
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

struct Watcher {
  const Options& o;
  io::Catalog catalog;
  models::Profile profile;
  launch::WatchContext context;

  io::WatchReport look(const Source& source, const std::string& state, bool learn) {
    context.state = state;
    const std::string text = read_log(source);
    io::WatchReport r = launch::watch(text, source.path, context, profile);
    if (learn && !o.calibrate.empty()) r.remarks.push_back(calibrate(o, text, context, profile, catalog));
    if (learn && !o.record.empty())
      r.remarks.push_back(record_evidence(o, source, text, context, profile, catalog));
    return r;
  }

  void show(const io::WatchReport& r, bool whole) const {
    if (o.common.json()) return print(io::watch_json(r));
    std::string text = whole ? report_text(r) : status_line(r);
    for (const std::string& note : r.remarks) text += note + "\n";
    print(text);
  }
};

/// Something broke, and no step was done since.
bool failed(const io::WatchReport& r) {
  return !r.finished && std::any_of(r.failures.begin(), r.failures.end(),
                                    [](const io::WatchFailure& f) { return !f.went_on; });
}

int once(Watcher& watcher) {
  bool any = false;
  for (const std::string& target : watcher.o.targets) {
    const Source source = source_of(target);
    const io::WatchReport r =
        watcher.look(source, source.job.empty() ? "" : ask_slurm(source.job).state, true);
    watcher.show(r, true);
    any = any || failed(r);
  }
  return any ? kNoPlan : kDone;
}

/// A controller that restarts, or is busy, is no reason to stop watching. One that forgot the job is: it
/// ended.
std::string state_after(const std::string& before, const std::string& job) {
  try {
    return ask_slurm(job).state;
  } catch (const InputError& e) {
    if (before.empty()) throw;
    remark(e.faults().front());
    return e.faults().front().problem.starts_with("Slurm does not know") ? "FORGOTTEN" : before;
  }
}

/// Looks again until the run is over; a line for each change, and the whole report at the end.
int follow(Watcher& watcher) {
  const Source source = source_of(watcher.o.targets.front());
  std::uintmax_t size = 0;
  std::string state;
  for (bool first = true;; first = false) {
    std::error_code error;
    const std::uintmax_t now = fs::exists(source.path, error) ? fs::file_size(source.path, error) : 0;
    const std::string state_now = source.job.empty() ? "" : state_after(state, source.job);
    if (first || now != size || state_now != state) {
      size = now;
      state = state_now;
      const io::WatchReport r = watcher.look(source, state, false);
      const bool end = r.finished || over(state) || (source.job.empty() && failed(r));
      if (end) {
        const io::WatchReport last = watcher.look(source, state, true);
        return watcher.show(last, true), failed(last) ? kNoPlan : kDone;
      }
      watcher.show(r, false);
    }
    std::this_thread::sleep_for(std::chrono::seconds(watcher.o.interval));
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
  models::Profile profile = load_profile(catalog, o.common);
  WatchedContext watched = watched_context(o.ran, profile, catalog);
  remarks(watched.remarks);
  Watcher watcher{o, std::move(catalog), std::move(profile), std::move(watched.context)};
  return o.once ? once(watcher) : follow(watcher);
}

}  // namespace

void add_watch(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("watch", "Compare a run with its plan while it goes on; say why it failed");
  command->add_option("targets", o->targets, "a Slurm job id, or log files")->required()->check(not_empty());
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
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  add_common(*command, o->common);
  command->footer(
      "--format json prints one JSON object a line. Exit code 3: the log shows a failure and no step after\n"
      "it.\n"
      "Examples:\n"
      "  trnplan watch 1742 --plan my-plan/plan.json\n"
      "  trnplan watch train-1742.out --plan my-plan/plan.json --once --calibrate mine.json\n"
      "  trnplan watch slurm-17.out --once --record mine.json; trnplan topology --tp 16 --profile mine.json\n"
      "  trnplan watch slurm-17.out --once --format json | jq .failures");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
