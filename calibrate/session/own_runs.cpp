#include "calibrate/session/own_runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "models/step/step.h"
#include "text/figures.h"
#include "units/square.h"

namespace trnplan::calibrate {

namespace {

bool is_uneven(const MeasuredStep& s) {
  return logs::is_uneven(s.low, s.high);
}

/// Change of the pace within a log from which it is said. Our own value.
constexpr double kTrend = 0.1;

bool is_short(const MeasuredStep& s) {
  return s.count > 0 && s.count < logs::kFewestSteps;  // 0: the log does not say
}

bool has_trend(const MeasuredStep& s) {
  return std::abs(std::log(s.trend)) > std::log1p(kTrend);
}

/// Log-sd of the step that a log shows. Steps without a common pace leave half of their range open, however
/// many there are; so does a pace that changes. Too few steps may differ by `repeat`, as runs do.
double spread_of(const logs::StepSample& s, const MeasuredStep& step, double repeat) {
  if (is_uneven(step)) return std::log(step.high / step.low) / 2;
  const double single = std::max(s.spread.value_or(0) / s.seconds, is_short(step) ? repeat : 0);
  return std::hypot(spread_of_median(single, static_cast<std::size_t>(std::max(1, s.count))),
                    has_trend(step) ? std::log(s.trend) / 2 : 0);
}

}  // namespace

void add_samples(const RanSamples& log, const models::Profile& profile, MappedRuns& runs) {
  if (!log.ran || !log.ran->strategy) return;
  for (const logs::StepSample& s : log.samples) {
    MeasuredStep step;
    const std::string name = std::filesystem::path(s.at.file).filename().string();
    const std::string file = log.folder.empty() ? name : log.folder + "/" + name;
    step.id = s.at.line > 0 ? fmt::format("{}:{}", file, s.at.line) : file;
    step.at = s.at;
    step.own = true;
    step.group = file;
    step.quality = "A";
    step.kind = log.ran->job.architecture.causal ? "decoder" : "bert";
    step.job = log.ran->job;
    if (!s.framework.empty()) step.job.software.framework = s.framework;
    step.job.software.release = s.release.empty() ? models::site_release(profile, step.job) : s.release;
    step.strategy = *log.ran->strategy;
    step.configuration = layout_name(step.job, step.strategy);
    step.seconds = s.wall_seconds.value_or(s.seconds);
    if (s.wall_seconds && s.seconds < *s.wall_seconds) step.printed = s.seconds;
    step.by_rate = s.wall_by_rate;
    step.low = s.low;
    step.high = s.high;
    step.trend = s.trend;
    step.count = s.count;
    step.log_sd = spread_of(s, step, profile[models::common::repeat_spread]);
    const std::string reason = models::StepModel::not_modelled(step.job, step.strategy);
    if (!reason.empty()) {
      runs.excluded.push_back({step.id, "not modelled: " + reason});
    } else if (step.seconds > 0) {
      runs.steps.push_back(std::move(step));
    }
  }
}

namespace {

/// Adds to runs of one layout what they differ by beyond `repeat`, so that a further run may differ as much from their
/// mean.
void widen_unlike(std::vector<SiteRun>& runs, double repeat) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<SiteRun*>> layouts;
  for (SiteRun& run : runs)
    layouts[{layout_key(run.job, run.strategy), run.job.software.framework, run.job.software.release}]
        .push_back(&run);
  for (auto& [name, same] : layouts) {
    const auto n = static_cast<double>(same.size());
    double mean = 0, sum = 0;
    for (const SiteRun* run : same) mean += run->log_seconds / n;
    for (const SiteRun* run : same) sum += square(run->log_seconds - mean);
    if (same.size() < 2 || sum / (n - 1) <= square(repeat)) continue;
    for (SiteRun* run : same)
      run->log_sd = std::hypot(run->log_sd, std::sqrt(n * (sum / (n - 1) - square(repeat))));
  }
}

}  // namespace

std::vector<SiteRun> site_runs(const StepData& data, double repeat) {
  std::vector<SiteRun> runs;
  for (const StepObservation& o : data.bench->observations()) {
    const MeasuredStep& first = data.runs.steps[o.rows.front()];
    if (!first.own || first.job.software.framework.empty()) continue;
    runs.push_back({first.group, first.job, first.strategy, o.log_seconds, o.log_sd});
  }
  widen_unlike(runs, repeat);
  return runs;
}

std::vector<Diagnostic> uneven_runs(const StepData& data) {
  std::vector<Diagnostic> doubts;
  // The quickest sample of each program and stack.
  std::map<std::tuple<std::size_t, std::string, std::string>, const MeasuredStep*> quickest;
  const auto each = [&](const auto& use) {
    for (const StepObservation& o : data.bench->observations()) {
      for (const std::size_t row : o.rows) {
        const MeasuredStep& s = data.runs.steps[row];
        if (s.own) use(s, quickest[{o.program, s.job.software.framework, s.job.software.release}]);
      }
    }
  };
  each([](const MeasuredStep& s, const MeasuredStep*& quick) {
    if (quick == nullptr || s.seconds < quick->seconds) quick = &s;
  });
  each([&](const MeasuredStep& s, const MeasuredStep* quick) {
    if (s.seconds <= logs::kUneven * quick->seconds) return;
    doubts.push_back(
        {s.at, "step",
         fmt::format("{:.4g} s is {} times the {:.4g} s of {}, of the same layout: no one "
                     "factor describes both",
                     s.seconds, factor_text(s.seconds / quick->seconds), quick->seconds,
                     printable(quick->id, 200)),
         "find what differs (nodes, network, settings), and calibrate with the steps of one pace"});
  });
  for (const MeasuredStep& s : data.runs.steps) {
    if (!s.own || !is_uneven(s)) continue;
    doubts.push_back({s.at, "step",
                      fmt::format("{}: {}", logs::kNoCommonPace, logs::range_words(s.count, s.low, s.high)),
                      "find what slows a part of the steps (data loading, checkpoints, a slow node), and "
                      "calibrate with the steps of one pace"});
  }
  return doubts;
}

void remark_paces(const StepData& data, Remarks& remarks) {
  for (const MeasuredStep& s : data.runs.steps) {
    if (!s.own || is_uneven(s)) continue;
    if (is_short(s)) {
      remarks.add(Diagnostic{
          s.at, "step",
          fmt::format("{} to learn from: the pace of a run shows from {} on",
                      s.count == 1 ? "one step is little" : counted(s.count, "step") + " are little",
                      logs::kFewestSteps),
          "give a longer log of the run"});
    } else if (has_trend(s)) {
      remarks.add(Diagnostic{
          s.at, "step",
          fmt::format("the last third of the steps takes {:.3g} times as long as the first: what is "
                      "learnt is the pace between them",
                      s.trend),
          "find what changes (memory, heat, the data loader), or give the steps of one pace"});
    }
  }
}

void tell_misses(const std::vector<SiteRun>& runs, const std::vector<SiteRow>& rows,
                 const models::Profile& fitted, Remarks& remarks) {
  constexpr double kMuch = 2;  // standard deviations of the model's error for a configuration
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SiteRow& row = rows[i];
    const double factor = layout_factor(fitted, runs[i].job, runs[i].strategy);
    if (std::abs(row.misses) <= kMuch) continue;
    remarks.add(fmt::format(
        "{} does not agree with the rest: {} takes {:.3g} times as long as your cluster's factor and the "
        "model "
        "say; check its nodes, batch and strategy. The profile keeps this factor for this layout alone",
        printable(runs[i].name, 200), describe(runs[i].strategy), factor));
  }
}

}  // namespace trnplan::calibrate
