#include "api/watch_learning.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "api/fitted_profile.h"
#include "api/log_files.h"
#include "api/observations.h"
#include "api/published.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "io/output/atomic_write.h"
#include "models/framework/strategy_words.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "text/version.h"
#include "units/median.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

constexpr double kSamePace =
    0.05;  ///< log of a ratio of two steps that are the same but for the clock's ticks

/// The samples, or if they are not of the pace at which the run goes on, one of that pace: after a restart at
/// another speed the steps before it are those of a run that is no more.
std::vector<logs::StepSample> of_pace(std::vector<logs::StepSample> samples, const launch::RunLog& run) {
  const std::vector<double> pace = run.pace().seconds;
  if (samples.empty() || pace.empty()) return samples;
  const double middle = median(pace);
  if (std::all_of(samples.begin(), samples.end(), [&](const logs::StepSample& s) {
        return std::abs(std::log(s.wall_seconds.value_or(s.seconds) / middle)) <= kSamePace;
      }))
    return samples;
  logs::StepSample one = samples.back();
  std::vector<double> off = pace;
  for (double& s : off) s = std::abs(s - middle);
  one.seconds = middle;
  one.spread = kDeviationToSigma * median(std::move(off));
  one.count = static_cast<int>(pace.size());
  one.wall_seconds.reset();
  set_range(pace, one);
  return {one};
}

/// The log's steps with the plan that ran.
calibrate::StepInputs inputs_of(const WatchRequest& o, const FollowedLog& log,
                                const launch::LogReading& reading, const io::PlanFile& plan,
                                Remarks& remarks) {
  const std::string from = !o.ran.plan.empty() ? o.ran.plan : !o.ran.job.empty() ? o.ran.job : o.ran.config;
  const calibrate::WhatRan ran{plan.job, plan.strategy, from};
  const calibrate::LogFile file{log.name(), log.sha256(), reading.content, log.bytes()};
  calibrate::StepInputs inputs;
  calibrate::SeenSteps none;
  inputs.logs.push_back({of_pace(calibrate::step_samples({file}, ran, none, remarks), reading.run), ran, ""});
  inputs.files.push_back(file.fingerprint());
  inputs.tool = std::string("trnplan ") + program_version();
  return inputs;
}

/// "10 steps of 3.6 s", for each sample of the log.
std::string steps_text(const calibrate::StepInputs& inputs) {
  std::string text;
  for (const logs::StepSample& s : inputs.logs.front().samples) {
    text += fmt::format("{}{} of {:.4g} s", text.empty() ? "" : " and ", counted(s.count, "step"),
                        s.wall_seconds.value_or(s.seconds));
    const bool shorter = s.wall_seconds && s.seconds < *s.wall_seconds;
    text += calibrate::measured_as(s.wall_by_rate, shorter ? s.seconds : 0);
  }
  return text;
}

/// "; PP 2 is now the best plan: ...", or that the one that runs stays the best.
std::string best_with(const models::Profile& profile, const io::PlanFile& plan, double step,
                      const launch::FindPlans& find) {
  models::Job job = plan.job;
  job.pin = {};
  const std::vector<planner::Plan> plans = find(job, profile, 1);
  if (plans.empty() || plans.front().report.step.value >= step ||
      models::canonical(plans.front().strategy) == models::canonical(plan.strategy))
    return "; the same plan stays the best with it";
  const double better = plans.front().report.step.value;
  return fmt::format("; {} is now the best plan: {:.4g} s a step, {:.4g} s less ({:.1f} %)",
                     models::strategy_words(plans.front().strategy), better, step - better,
                     (step - better) / step * 100);
}

}  // namespace

Learnt learn_from_run(const WatchRequest& o, const FollowedLog& log, const launch::LogReading& reading,
                      const launch::WatchContext& context, const models::Profile& profile,
                      const launch::FindPlans& find, const io::Catalog& catalog, Remarks& remarks) {
  const io::PlanFile& plan = *context.plan;
  const calibrate::StepInputs inputs = inputs_of(o, log, reading, plan, remarks);
  const std::string said = steps_text(inputs);
  if (!calibrate::has_own_steps(inputs)) return {"nothing to learn: no step of the log is of this job"};
  try {
    calibrate::refuse_learnt(inputs.files, learnt_starts(log.source().path, log.bytes(), profile), profile);
  } catch (const InputError& e) {
    remarks.add(e.faults().front());
    return {o.calibrate + " is not written, for the reason in the remarks"};
  }
  const calibrate::StepCalibration c = calibrate::calibrate_steps(
      inputs, profile, published(catalog), fs::path(o.calibrate).stem().string(), remarks);
  if (c.own.empty()) return {"nothing to learn: no step of the log can be timed"};
  if (!o.force && !(c.doubts.empty() && c.fit.converged))
    return {o.calibrate + " is not written, for the reasons in the remarks; --force writes it all the same"};
  io::update_file(o.calibrate, o.force, [&] {
    return keep_observations(step_profile_json(c, {{log.name(), log.sha256(), {}}}, catalog), o.profile,
                             o.calibrate, remarks);
  });
  const calibrate::OwnStep& last = c.own.back();
  return {fmt::format("{} written: {}; the plan's step goes from {:.4g} to {:.4g} s{}", o.calibrate, said,
                      last.before, last.after, best_with(c.fit.profile, plan, last.after, find)),
          true};
}

}  // namespace trnplan::api
