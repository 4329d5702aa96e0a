#include "launch/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/session/beyond_peak.h"
#include "calibrate/session/samples.h"
#include "launch/watch/alarms.h"
#include "launch/watch/batches.h"
#include "launch/watch/job_states.h"
#include "launch/watch/progress.h"
#include "launch/watch/remedies.h"
#include "launch/watch/setting.h"
#include "logs/training/failures.h"
#include "logs/training/reserved_memory.h"
#include "units/median.h"
#include "units/quantity.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kEventsShown = 100;
constexpr std::int64_t kMostCounted = 1'000'000'000;  ///< steps

double tokens_a_step(const models::Job& job) {
  return static_cast<double>(job.training.sequence) * job.training.global_batch;
}

void time_steps(const RunLog& log, io::WatchReport& r) {
  const auto [seconds, without_saves, steps, smaller] = log.pace();
  r.smaller_batch = smaller;  // which fills pipelines less: a prediction of the whole one is not of it
  r.timed_steps = static_cast<int>(std::min<std::int64_t>(log.timed_steps(), kMostCounted));
  const std::size_t lines = recent_lines(log);
  r.recent_steps = static_cast<int>(
      std::min({steps, static_cast<std::int64_t>(lines) * log.interval, std::int64_t{kMostCounted}}));
  if (seconds.empty()) return;
  if (two_paces(seconds)) {
    r.step_seconds = mean_of(seconds);
    r.recent_seconds = mean_of(last_of(seconds, lines));
    return;
  }
  r.step_seconds = median(seconds);
  r.recent_seconds = mean_of(steady_recent(last_of(seconds, lines), *r.step_seconds));
}

void alarm(io::WatchReport& r, std::string kind, std::string message, std::string cause, std::string fix) {
  r.alarms.push_back(
      {std::move(kind), std::move(message), std::move(cause), std::move(fix), std::nullopt, 0});
}

void compare(const io::PlanFile& plan, const RunSetting& setting, io::WatchReport& r) {
  r.predicted = plan.step.value;
  r.predicted_90 = {plan.low.value, plan.high.value};
  if (plan.peak.value > 0) r.predicted_memory_bytes = plan.peak.value;
  if (!r.step_seconds) return;
  r.tokens_per_second = tokens_a_step(plan.job) / *r.step_seconds;
  const double error = *r.step_seconds / plan.step.value - 1;
  const std::string said =
      fmt::format("{:.4g} s a step against {:.4g} predicted ({:.4g} to {:.4g}): {:+.1f} %", *r.step_seconds,
                  plan.step.value, plan.low.value, plan.high.value, error * 100);
  if (*r.step_seconds > plan.high.value && !r.smaller_batch) {
    alarm(r, "slower", said + "; outside the 90 % interval",
          "the job differs from the plan, or something is slow",
          fmt::format(
              "compare what ran with the plan; time the fabric with {}, and time the loading of a batch",
              setting.words().fabric));
  }
  if (const auto beyond = calibrate::beyond_peak(*r.step_seconds, plan.job, plan.strategy, {})) {
    alarm(r, io::kBeyondPeak, beyond->problem,
          "what runs is not what it is compared with: no step of that job can be so fast", beyond->fix);
  } else if (*r.step_seconds < plan.low.value) {
    alarm(r, "faster", said + "; outside the 90 % interval",
          "the prediction is too slow, or the job differs from the plan", "--calibrate learns from it");
  }
}

/// Steps of the whole run: the fewer of those for the plan's tokens and those that the log counts, which may be of an
/// epoch. A remark says where they differ.
std::int64_t total_steps(const RunLog& log, const std::optional<io::PlanFile>& plan, io::WatchReport& r) {
  if (!plan || !(plan->job.training.tokens > 0)) return log.total;
  // Steps of a smaller batch, as in a ramp-up, are followed by as many more.
  const double steps =
      std::ceil(plan->job.training.tokens / tokens_a_step(plan->job) + progress_of(log, 0).missing);
  if (!(steps < 9e15)) return log.total;
  const auto planned = static_cast<std::int64_t>(steps);
  const std::int64_t fewer = log.total > 0 ? std::min(log.total, planned) : planned;
  const bool grows = log.share() < 1 && log.total > planned;  // what is left of a ramp-up is not known
  if (log.total > 0 && log.total != planned && !grows)
    r.remarks.push_back(
        fmt::format("the log counts {} steps, the tokens of the job are {}: time left and cost are for {}",
                    log.total, planned, fewer));
  return fewer;
}

void account(const RunLog& log, const std::optional<io::PlanFile>& plan, io::WatchReport& r) {
  if (log.stretches.empty() || !r.step_seconds) return;
  const Progress done = progress_of(log, *r.step_seconds);
  r.lost_steps = done.lost;
  const double wall = wall_of(log.stretches);
  r.wall_seconds = wall;
  if (wall > 0) r.goodput = std::clamp((done.seconds - done.useless) / wall, 0.0, 1.0);
  const std::int64_t before_log = std::min(done.unlogged, log.stretches.front().first - 1);
  if (before_log >= log.interval) r.steps_before = before_log;
  const std::int64_t left = std::max<std::int64_t>(0, r.total - r.step);
  // A run that learns nothing has no end.
  if (r.total > 0 && done.seconds > 0 && wall > 0 && !io::is_lost(r)) {
    const double losses =
        std::max(1.0, (wall - first_start(log, *r.step_seconds)) / std::max(done.seconds, paced(log, r)));
    // What is left is done at the pace of the last steps, if that has changed.
    r.eta_seconds =
        static_cast<double>(left) * (io::drifts(r) ? *r.recent_seconds : *r.step_seconds) * losses;
  }
  if (!plan || !(plan->usd_per_hour > 0)) return;
  const double usd_per_second = plan->usd_per_hour / 3600;
  r.usd_so_far = wall * usd_per_second;
  const double before = static_cast<double>(done.unlogged) * *r.step_seconds;
  if (r.eta_seconds) r.usd_total = *r.usd_so_far + (before + *r.eta_seconds) * usd_per_second;
}

void read_memory(const logs::Detected& content, const std::optional<io::PlanFile>& plan, io::WatchReport& r) {
  bool reserved = false;
  for (const logs::MemorySample& m : content.memory) {
    if (!m.bytes || !(m.core || m.reserved)) continue;
    if (*m.bytes > r.memory_bytes.value_or(0)) reserved = m.reserved;
    r.memory_bytes = std::max(r.memory_bytes.value_or(0), *m.bytes);
  }
  if (!r.memory_bytes || !plan || !(plan->peak.value > 0)) return;
  const double limit = plan->job.cluster.instance.core.memory.value;
  if (*r.memory_bytes > (reserved ? 1 + logs::kReservedMore : 1) * plan->peak.value) {
    alarm(r, "memory",
          fmt::format("a {} {} {:.2f} GiB; {:.2f} was predicted, and it has {:.0f}", r.device,
                      reserved ? "reserves" : "uses", *r.memory_bytes / kGiB, plan->peak.value / kGiB,
                      limit / kGiB),
          "the prediction is too low, or another plan runs",
          "keep the log: if memory grows further, the run ends; more recomputation, TP or PP needs less");
  }
}

/// The plan, if the log can be of its job. A log that states another batch or sequence is of another one: that
/// is an alarm, and nothing is compared, projected or paid by the plan.
std::optional<io::PlanFile> plan_of(const logs::Detected& content, const std::optional<io::PlanFile>& plan,
                                    io::WatchReport& r) {
  if (!plan || content.steps.empty()) return plan;
  const logs::StepSample& s = content.steps.back();
  bool other = false;
  const auto differs = [&](const std::optional<double>& stated, int planned, const char* what) {
    if (!stated || planned <= 0 || *stated == planned) return;
    other = true;
    alarm(r, io::kOtherJob,
          fmt::format("{} is {:.0f} in the log but {} in what it is compared with: another job ran", what,
                      *stated, planned),
          "the plan, config or job that was named is not what runs",
          "name what runs, or correct the batch of the run");
  };
  differs(s.global_batch, plan->job.training.global_batch, "global batch");
  differs(s.sequence, plan->job.training.sequence, "sequence");
  if (const std::string tokens = calibrate::other_tokens(s, plan->job); !other && !tokens.empty()) {
    other = true;
    alarm(r, io::kOtherJob, tokens + " in what it is compared with: another job ran",
          "batch, sequence or number of nodes are not those of the run",
          "name what runs, or correct batch, sequence or nodes of the job");
  }
  if (const std::string layout = calibrate::other_layout(s, plan->job, plan->strategy);
      !other && !layout.empty()) {
    other = true;
    alarm(r, io::kOtherJob, layout + " in what it is compared with: another job ran",
          "the plan, config or job that was named is not what runs", "name what runs");
  }
  if (const std::string flops = calibrate::other_flops(s, plan->job); !other && !flops.empty())
    r.remarks.push_back(flops + "; " + calibrate::kWhatFlopsDecides);
  return other ? std::nullopt : plan;
}

/// Summary of all steps at the end of a run or an epoch.
void take_mean(const logs::StepSample& mean, io::WatchReport& r) {
  r.step = r.timed_steps = r.recent_steps = mean.count;
  r.step_seconds = r.recent_seconds = mean.seconds;
  r.wall_seconds = mean.seconds * mean.count;
}

void tell_failures(const std::vector<Advice>& advice, int last_step_line, io::WatchReport& r) {
  for (const Advice& a : advice) {
    io::WatchFailure f{std::string(to_string(a.failure.kind)),
                       a.rule,
                       a.failure.text,
                       a.problem,
                       a.fix,
                       a.failure.at.file,
                       a.failure.at.line,
                       a.failure.count,
                       a.ranks,
                       a.chips,
                       "",
                       {},
                       last_step_line > a.failure.last_line};
    if (a.next) {
      f.next = models::describe(a.next->strategy);
      f.next_step_seconds = a.next->report.step.value;
    }
    r.failures.push_back(std::move(f));
  }
}

/// The scheduler's state of the job's end, if the log does not show it.
void tell_end(const std::string& name, const RunSetting& setting, io::WatchReport& r) {
  const JobStateTraits state = job_state(r.state);
  if (!state.failed || io::failed(r)) return;
  io::WatchFailure f;
  f.text = "Slurm: " + r.state;
  f.file = name;
  f.kind = "failed";
  f.problem = "the job ended with an error that the log does not show";
  f.fix = kLookAtRanks;
  if (state.kind) {
    logs::Failure said;
    said.kind = *state.kind;
    Remedy remedy = remedy_of(said, setting);
    f.kind = to_string(*state.kind);
    f.problem = std::move(remedy.problem);
    f.fix = std::move(remedy.fix);
  }
  r.failures.push_back(std::move(f));
}

}  // namespace

void take_whole_steps(LogReading& reading, const std::optional<io::PlanFile>& plan) {
  take_whole_batch(reading, plan);
  if (reading.content.steps.empty()) return;
  std::optional<logs::StepSample> s = reading.content.steps.back();
  Remarks unsaid;
  if (plan) s = calibrate::completed(*std::move(s), {plan->job, std::nullopt, ""}, unsaid);
  if (!s || !(s->wall_seconds > s->seconds)) return;
  const double whole = *s->wall_seconds / s->seconds;
  for (Stretch& stretch : reading.run.stretches) {
    for (StepTime& step : stretch.steps) step.seconds *= whole;
    if (!s->wall_by_rate) continue;  // a clock shows all of the run
    for (double* seconds : {&stretch.elapsed, &stretch.before_first, &stretch.with_first}) *seconds *= whole;
  }
  if (whole > 1 + kWorthSaying)
    reading.whole_steps = fmt::format("a step takes {:.4g} s{}", *s->wall_seconds,
                                      calibrate::measured_as(s->wall_by_rate, s->seconds));
}

io::WatchReport watch(const LogReading& reading, const std::vector<Advice>& advice, const std::string& name,
                      const WatchContext& context) {
  const RunLog& log = reading.run;
  const RunSetting setting = setting_of(context.ran);
  io::WatchReport r;
  if (setting.machine != nullptr) r.device = topology::device_word(setting.machine->accelerator);
  r.source = name;
  r.state = context.state;
  r.step = log.last;
  const std::optional<io::PlanFile> plan = plan_of(reading.content, context.plan, r);
  r.total = total_steps(log, plan, r);
  if (r.total > 0) r.total = std::max(r.total, r.step);
  // Log lines of scripts with flags do not state the number of steps; the plan does.
  r.finished = log.finished || (r.total > 0 && r.step >= r.total);
  r.loss = log.loss;
  r.loss_lost = log.loss_lost;
  const std::vector<double> seconds = log.seconds();
  for (const std::string& said : {reading.whole_batch, reading.whole_steps})
    if (!said.empty()) r.remarks.push_back(said);
  time_steps(log, r);
  if (log.mean) take_mean(*log.mean, r);
  if (plan) compare(*plan, setting, r);
  look_for_drift(log, setting, r);
  look_at_learning(log, r);
  look_for_gaps(log, r);
  if (context.silent) look_for_silence(*context.silent, seconds, setting, r);
  read_memory(reading.content, plan, r);
  account(log, plan, r);
  look_for_pause(log, r);
  look_for_slow_part(log, r);
  r.restarts = static_cast<int>(std::max<std::size_t>(1, log.stretches.size())) - 1 + log.idle_starts;
  for (const RunEvent& e : log.events) {
    if (r.events.size() < kEventsShown) r.events.push_back({e.kind, e.text, e.at.line});
  }
  tell_failures(advice, log.last_line, r);
  tell_end(name, setting, r);
  return r;
}

io::WatchReport watch(std::string_view text, const std::string& name, const WatchContext& context,
                      const models::Profile& profile, const FindPlans& find) {
  WatchedLog log(name);
  log.feed(text);
  LogReading reading = log.now();
  take_whole_steps(reading, context.plan);
  return watch(reading, advise(reading.failures, context.ran, profile, find), name, context);
}

}  // namespace trnplan::launch
