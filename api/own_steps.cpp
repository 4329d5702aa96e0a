#include "api/own_steps.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "api/predictor.h"
#include "api/resolve.h"

namespace trnplan::api {

namespace {

constexpr double kSameStep = 1e-6;  ///< relative difference of two predictions that are the same

void state_interval(const calibrate::MeasuredStep& run, std::shared_ptr<const models::Profile> profile,
                    double step, double& low, double& high) {
  Remarks unsaid;
  const ResolvedJob resolved =
      resolve(run.job, {}, {.one_strategy = true, .refuses = false, .profile = std::move(profile)}, unsaid);
  const Prediction p = Predictor(resolved).predict(resolved.job(), models::canonical(run.strategy));
  if (!p.judgement.plan || std::abs(p.judgement.plan->report.step.value / step - 1) > kSameStep) return;
  low = p.judgement.plan->report.low.value;
  high = p.judgement.plan->report.high.value;
}

}  // namespace

std::string planned_loop(const models::Job& job, const models::Strategy& strategy) {
  Remarks unsaid;
  const ResolvedJob resolved = resolve(job, {}, {.one_strategy = true, .refuses = false}, unsaid);
  return resolved.stack_of(resolved.job(), strategy)->job.software.framework;
}

void state_intervals(calibrate::StepCalibration& c, const models::Profile& prior) {
  const auto before = std::make_shared<const models::Profile>(prior);
  const auto after = std::make_shared<const models::Profile>(c.fit.profile);
  const auto& steps = c.data->runs.steps;
  for (calibrate::OwnStep& own : c.own) {
    const auto run = std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.id == own.id; });
    if (run == steps.end()) continue;
    state_interval(*run, before, own.before, own.before_low, own.before_high);
    state_interval(*run, after, own.after, own.after_low, own.after_high);
  }
}

}  // namespace trnplan::api
