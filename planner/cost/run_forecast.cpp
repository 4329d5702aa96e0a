#include "planner/cost/run_forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "models/memory/host_memory.h"
#include "models/uncertainty/mixture.h"
#include "models/uncertainty/spread.h"
#include "units/normal.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

/// Ratio to the median that the run's time does not exceed with that probability.
double stretch(const RunForecast& f, double probability) {
  if (!f.states.empty() && probability != 0.5)
    return std::exp(models::mixture_quantile(f.states, probability)) * f.tokens_per_second;
  const double z = normal_quantile(probability);
  if (z == 0) return 1;
  return std::exp(z * (z > 0 ? f.longer : f.shorter) / kNinetyPercent);
}

/// Time that deadline and budget allow; infinite if neither ends the run.
double time_left(const RunQuestion& q, const std::optional<Bill>& bill) {
  double left = q.deadline ? q.deadline->value : kInfinity;
  if (q.budget && bill) left = std::min(left, bill->time_for(*q.budget).value);
  return left;
}

std::string why_no_time(const RunQuestion& q, const std::optional<Bill>& bill, double left) {
  if (q.budget && !bill)
    return "price: no price of a node is known, so the budget does not say how long the run may be";
  if (!(left < kInfinity)) return "price: the cluster costs nothing, so no budget limits the run";
  return {};
}

double whole_steps(double tokens, const models::Job& job) {
  const double step = static_cast<double>(job.training.sequence) * job.training.global_batch;
  return std::floor(tokens / step) * step;
}

RunShape shape_of(const models::Job& job, const Plan& plan, const RunTerms& terms, Bytes checkpoint) {
  RunShape run;
  run.nodes = job.cluster.nodes;
  run.hosts = failing_hosts(job.cluster.instance);
  run.step = plan.report.step;
  run.checkpoint = checkpoint;
  run.recovery = terms.recovery;
  run.asynchronous = terms.asynchronous;
  run.every_steps = terms.checkpoint_steps;
  return run;
}

/// Sets the tokens that are reached in the available time.
void solve_for_tokens(RunAnswer& a, const models::Job& job, const RunQuestion& q) {
  a.time = Seconds(time_left(q, a.bill));
  a.time_90 = {a.time.value, a.time.value};
  a.time_at_90 = a.time;
  a.tokens_50 = whole_steps(a.forecast.tokens_in(a.time), job);
  a.tokens_90 = whole_steps(a.forecast.tokens_in(a.time, kSureRun), job);
  if (!(a.tokens_50 > 0)) a.why = fmt::format("time: {:.4g} s is less than one step", a.time.value);
}

void solve_for_time(RunAnswer& a, const RunQuestion& q) {
  a.time = a.forecast.time_of(q.tokens);
  if (!(a.time.value < kInfinity)) {
    a.why = "goodput: failures come more often than a checkpoint is reached";
    return;
  }
  a.time_90 = {a.time.value * std::exp(-a.forecast.shorter), a.time.value * std::exp(a.forecast.longer)};
  a.time_at_90 = a.forecast.time_of(q.tokens, kSureRun);
  if (q.deadline) a.in_time = a.forecast.probability(q.tokens, *q.deadline);
  if (!q.budget) return;
  const double left = time_left({.budget = q.budget}, a.bill);
  a.in_budget = !a.bill ? 0 : left < kInfinity ? a.forecast.probability(q.tokens, Seconds(left)) : 1;
}

}  // namespace

Seconds RunForecast::time_of(double tokens, double probability) const {
  return Seconds(tokens / tokens_per_second * stretch(*this, probability));
}

double RunForecast::tokens_in(Seconds time, double probability) const {
  return time.value * tokens_per_second / stretch(*this, probability);
}

double RunForecast::probability(double tokens, Seconds time) const {
  if (time.value <= 0) return 0;
  if (!states.empty()) return models::mixture_probability(states, std::log(time.value / tokens));
  const double distance = std::log(time / time_of(tokens));
  const double width = distance > 0 ? longer : shorter;
  if (!(width > 0)) return distance >= 0 ? 1 : 0;
  return normal_probability(distance / (width / kNinetyPercent));
}

std::string why_too_few_tokens(double tokens, const models::Training& t) {
  const double step = static_cast<double>(t.sequence) * t.global_batch;
  if (tokens < 1) return "a run of less than one token";
  return tokens < step ? fmt::format("{:.0f} tokens are less than one step, of {:.0f}", tokens, step) : "";
}

RunForecast forecast_of(const models::StepReport& step, const GoodputEstimate& g) {
  const auto width = [](double wide, double narrow) {
    return narrow > 0 ? std::log(wide / narrow) : kInfinity;
  };
  const double better = width(g.goodput_90.high, g.goodput), worse = width(g.goodput, g.goodput_90.low);
  const double faster = width(step.step.value, step.low.value),
               slower = width(step.high.value, step.step.value);
  RunForecast f{
      step.tokens_per_second * g.goodput, std::hypot(faster, better), std::hypot(slower, worse), {}};
  if (!(f.tokens_per_second > 0) || !(std::max({better, worse, faster, slower}) < kInfinity)) return f;
  const double tokens =
      std::log(f.tokens_per_second * step.step.value);  // of a step, less what failures cost
  models::Mixture steps = models::mixture_of(step);
  for (models::MixturePart& part : steps) part.mean -= tokens;
  f.states = models::plus_halves(steps, better / kNinetyPercent, worse / kNinetyPercent);
  const double median = models::mixture_quantile(f.states, 0.5);
  f.tokens_per_second = std::exp(-median);
  f.shorter = median - models::mixture_quantile(f.states, 0.05);
  f.longer = models::mixture_quantile(f.states, 0.95) - median;
  return f;
}

int best_checkpoint_steps(const models::Job& job, const Plan& plan, const Reliability& reliability) {
  const RunShape run = shape_of(job, plan, {}, models::checkpoint_bytes(job, plan.strategy));
  return best_steps(failure_model(reliability, run), run.step);
}

RunAnswer answer_run(const models::Job& job, const Plan& plan, const RunQuestion& q, const RunTerms& terms,
                     const Reliability& reliability) {
  RunAnswer a;
  a.works = plan.works.value_or(1);
  a.compiles = plan.graph.is_limited();
  const double rate = plan.report.tokens_per_second;
  a.checkpoint = models::checkpoint_bytes(job, plan.strategy);
  a.bill = bill_of(job.cluster.instance, job.cluster.nodes, terms.prices);
  RunShape run = shape_of(job, plan, terms, a.checkpoint);
  run.spot = a.bill ? a.bill->spot : terms.prices.pricing == Pricing::spot;
  if (q.asks_for_tokens()) {
    const double left = time_left(q, a.bill);
    a.why = why_no_time(q, a.bill, left);
    if (!a.why.empty()) return a;
    // Steps of that time, by the closed form, which needs no length of the run.
    run.work = Seconds(left * estimate_goodput(reliability, run, {.draws = 0}).goodput);
  } else if (const std::string few = why_too_few_tokens(q.tokens, job.training); !few.empty()) {
    a.why = "tokens: " + few;
    return a;
  } else {
    run.work = Seconds(q.tokens / rate);
  }
  a.goodput = estimate_goodput(reliability, run, terms.sampling);
  a.forecast = forecast_of(plan.report, a.goodput);
  if (q.asks_for_tokens()) {
    solve_for_tokens(a, job, q);
  } else {
    solve_for_time(a, q);
  }
  if (a.why.empty() && a.bill) {
    a.usd = a.bill->usd(a.time);
    a.usd_at_90 = a.bill->usd(a.time_at_90);
    // Dividing and multiplying may round to more than the budget.
    if (q.asks_for_tokens() && q.budget) a.usd = a.usd_at_90 = std::min(*a.usd, *q.budget);
  }
  return a;
}

}  // namespace trnplan::planner
