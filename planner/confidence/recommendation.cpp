#include "planner/confidence/recommendation.h"

#include <algorithm>
#include <cmath>

#include "models/job/limits.h"
#include "models/memory/memory.h"
#include "models/step/graph_size.h"
#include "models/uncertainty/mixture.h"
#include "models/uncertainty/spread.h"
#include "planner/check/rules.h"
#include "planner/confidence/plan_ratio.h"
#include "units/normal.h"
#include "units/product.h"

namespace trnplan::planner {

namespace {

/// Least probability to divide by: what surely does not work costs this much more.
constexpr double kLeastWorks = 1e-6;

double mean_factor(double sd) {
  return std::exp(sd * sd / 2);
}

double spread_of(const models::Profile& profile) {
  return profile[models::common::configuration_spread];
}

std::optional<UnmeasuredStack> unmeasured_stack(const models::Job& on, const models::Profile& profile) {
  const models::Software& own = on.software;
  const std::vector<std::size_t> borrowed = factor_shares(profile, on).borrowed;
  if (borrowed.empty() || own.framework.empty()) return std::nullopt;
  UnmeasuredStack out{models::stack_name(own.framework, own.release), {}};
  for (const std::size_t i : borrowed) {
    const models::StackFactor& f = profile.calibration->stacks[i];
    const bool here = f.instance == on.cluster.instance.name;
    out.measured.push_back(models::stack_name(f.framework, f.release) + (here ? "" : " on " + f.instance));
  }
  return out;
}

/// Observations of full memory that count: more of them teach nothing, and each takes the time of a memory.
constexpr std::size_t kMostFull = 64;

/// P(fits) of a plan, `before` without the run, after one that ran out of memory at another point.
double after_full(double before, const models::FitPoint& own, const models::FitPoint& full,
                  const RecommendingParameters& parameters) {
  const auto deviations = [](double p) {
    constexpr double kLeast = 1e-12;  // deviations stay finite
    return normal_quantile(std::clamp(p, kLeast, 1 - kLeast));
  };
  const double sure = deviations(1 - parameters.mistaken), of_full = deviations(full.probability);
  const double scale = std::max(1.0, of_full / sure);
  const double a = of_full / scale, b = deviations(before) / scale;
  double alike = 0;
  for (std::size_t i = 0; i < own.direction.size(); ++i) alike += own.direction[i] * full.direction[i];
  const double both = both_below(a, b, std::min(1.0, alike)), fits = normal_probability(b),
               full_fits = normal_probability(a), misleading = parameters.misleading;
  const double after = misleading * both + (1 - misleading) * std::max(0.0, fits - both);
  return after / (misleading * full_fits + (1 - misleading) * (1 - full_fits));
}

}  // namespace

RiskAdvisor::RiskAdvisor(const models::Job& job, const models::Profile& profile, const RecordedRuns& known,
                         const RecommendingParameters& parameters, const MeasuringTimes& times,
                         RiskAttitude attitude, double sure, const std::vector<Observation>& observations)
    : job_(job),
      profile_(profile),
      known_(known),
      parameters_(parameters),
      times_(times),
      attitude_(attitude),
      sure_(sure),
      observations_(observations) {
  const std::vector<topology::Instance> types =
      job.space.instances.empty() ? std::vector{job.cluster.instance} : job.space.instances;
  for (const Observation& o : observations) {
    for (const topology::Instance& type : types) {
      if (full_.size() == kMostFull) return;
      if (auto point = full_point(o, type)) full_.push_back({type.name, *point});
    }
  }
}

std::optional<models::FitPoint> RiskAdvisor::full_point(const Observation& o,
                                                        const topology::Instance& machine) const {
  if (o.rule != "memory" || o.accepted || !o.strategy_whole || o.instance != machine.name ||
      !machine.changes.empty() || !is_of(o, job_.architecture))
    return std::nullopt;
  const models::Strategy& s = o.strategy;
  const std::int64_t ranks =
      saturating_product({s.tensor_parallel, s.pipeline_parallel, s.context_parallel, s.data_parallel});
  const std::int64_t slice = saturating_product({s.micro_batch, s.data_parallel});
  if (ranks < 1 || slice < 1 || ranks % machine.cores() != 0) return std::nullopt;
  const std::int64_t nodes = ranks / machine.cores();
  const std::int64_t passes = std::max<std::int64_t>(1, job_.training.global_batch / slice);
  if (nodes > topology::kMostNodes || passes > models::run_limits.global_batch / slice) return std::nullopt;
  models::Job ran = job_;
  ran.space = {};
  ran.pin = {};
  ran.cluster.instance = machine;
  ran.cluster.nodes = static_cast<int>(nodes);
  ran.training.sequence = o.sequence;
  ran.training.global_batch = static_cast<int>(slice * passes);  // as many passes of it as a rank has
  ran.training.precision = s.precision;
  if (breaks_a_rule(ran, s, nullptr)) return std::nullopt;
  const models::Memory memory = models::memory_of(ran, s, profile_);
  return models::fit_point(memory, std::max(memory.limit, Bytes(o.bytes)), profile_,
                           known_.memory_log_sd(distance(ran, s)));
}

double RiskAdvisor::distance(const models::Job& on, const models::Strategy& s) const {
  return learnt_layout(profile_, on, s) ? 0 : known_.value(on, s);
}

double RiskAdvisor::time_log_sd(const models::Job& on, const models::Strategy& s, double distance) const {
  const double d = profile_.transferred && distance > 0 ? known_.value_on_one_machine(on, s) : distance;
  return known_.time_log_sd(d, spread_of(profile_));
}

Advisor::Risk RiskAdvisor::least_risk(const models::Job& on, const models::Strategy& s) const {
  const double d = distance(on, s);
  return {known_.runs_at_all(d), time_log_sd(on, s, d)};
}

Advisor::Risk RiskAdvisor::risk(const models::Job& on, const models::Strategy& s,
                                const models::Memory& memory) const {
  const double d = distance(on, s), doubt = known_.memory_log_sd(d);
  const Chances own = after_runs(on, s, memory, doubt,
                                 {models::fit_distribution(memory, profile_, doubt).probability,
                                  models::largest_graph(on, s, profile_).compile_probability(doubt)});
  return {known_.runs_at_all(d) * own.fits * own.compiles, time_log_sd(on, s, d)};
}

double RiskAdvisor::after_others(const models::Job& on, const models::Memory& memory, double doubt,
                                 double before) const {
  double after = before;
  std::optional<models::FitPoint> own;
  for (const Full& f : full_) {
    if (f.instance != on.cluster.instance.name) continue;
    if (!own) own = models::fit_point(memory, memory.limit, profile_, doubt);
    after = std::min(after, after_full(before, *own, f.point, parameters_));
  }
  return after;
}

RiskAdvisor::Chances RiskAdvisor::after_runs(const models::Job& on, const models::Strategy& s,
                                             const models::Memory& memory, double doubt,
                                             Chances before) const {
  const std::optional<bool> seen = seen_to_fit(observations_, on, s);
  if (!seen && !learnt_layout(profile_, on, s))
    return {after_others(on, memory, doubt, before.fits), before.compiles};
  const double odds = (1 - parameters_.misleading) / parameters_.misleading;
  const auto after = [&](double p, double times) {
    p = std::clamp(p, parameters_.mistaken, 1 - parameters_.mistaken);
    return p * times / (p * times + 1 - p);
  };
  if (!seen.value_or(true)) return {after(before.fits, 1 / odds), before.compiles};
  return {after(before.fits, odds), after(before.compiles, odds)};
}

double RiskAdvisor::safe_cost(double cost, const Risk& r) const {
  return cost * std::exp(kNinetyPercent * r.log_sd) / std::max(kLeastWorks, r.works);
}

double RiskAdvisor::failed(double fallback, double second) const {
  const Seconds lost = times_.compile + times_.start + parameters_.failed_try;
  const double tokens = job_.training.tokens;
  return tokens > 0 ? lost.value * second / tokens : fallback * (lost / parameters_.unstated_run);
}

double RiskAdvisor::expected_cost(double cost, const Risk& r, double fallback, double second) const {
  return r.works * cost * mean_factor(r.log_sd) + (1 - r.works) * (fallback + failed(fallback, second));
}

bool RiskAdvisor::is_surely_better(const Plan& first, const Plan& other) const {
  std::optional<models::LogRatio> ratio = cost_ratio(job_, first, other, profile_);
  if (!ratio) return true;
  // Plans within a search do not know how little they are tested. Risk that only the other has is no reason to prefer
  // the other.
  const Risk of_first = risk(as_planned(job_, first), first.strategy, first.memory);
  const double of_other = known_time_log_sd(other);
  count_less_tested(*ratio, of_first.log_sd, std::min(of_first.log_sd, of_other));
  return of_first.works * ratio->positive() >= sure_;
}

double RiskAdvisor::known_time_log_sd(const Plan& plan) const {
  const models::Job on = as_planned(job_, plan);
  return time_log_sd(on, plan.strategy, distance(on, plan.strategy));
}

Outlook RiskAdvisor::outlook(const Plan& plan, const Plan& fallback) const {
  const models::Job on = as_planned(job_, plan);
  Outlook out;
  out.distance = known_.distance(on, plan.strategy);
  if (learnt_layout(profile_, on, plan.strategy)) out.distance = {0, out.distance.nearest, {}, {}};
  const double d = out.distance.value;
  if (out.distance.nearest >= 0) out.nearest = known_.words(out.distance.nearest);
  out.compared = known_.compared(on, plan.strategy);
  out.unmeasured = unmeasured_stack(on, profile_);
  const double doubt = known_.memory_log_sd(d);
  const Chances own = after_runs(on, plan.strategy, plan.memory, doubt,
                                 {models::fit_distribution(plan.memory, profile_, doubt).probability,
                                  plan.graph.compile_probability(doubt)});
  out.fits = own.fits;
  out.compiles = own.compiles;
  out.runs = known_.runs_at_all(d);
  out.log_sd = time_log_sd(on, plan.strategy, d);
  const double next = mean_factor(known_time_log_sd(fallback)) / fallback.report.tokens_per_second;
  out.expected_tokens_per_second =
      1 / expected_cost(1 / plan.report.tokens_per_second, {out.works(), out.log_sd}, next, 1);
  return out;
}

void tell_risk(Plan& plan, const Outlook& outlook) {
  plan.works = outlook.works();
  plan.fits = outlook.fits;
  plan.compiles = outlook.compiles;
  plan.compared_runs = outlook.compared;
  plan.unmeasured = outlook.unmeasured;
  plan.untested_log_sd = outlook.log_sd;
  const models::StepReport& r = plan.report;
  if (r.high > r.step && r.step.value > 0) models::widen(plan.report, outlook.log_sd);
}

}  // namespace trnplan::planner
