#include "planner/confidence/experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/collective/neuron_parameters.h"
#include "models/uncertainty/compare.h"
#include "models/uncertainty/posterior.h"
#include "models/uncertainty/spread.h"
#include "planner/confidence/plan_ratio.h"
#include "planner/search/explain.h"
#include "units/quantity.h"
#include "units/square.h"

namespace trnplan::planner {

using models::Parameter;
using models::Posterior;

namespace {

/// Maximum number of runs of each plan that are considered: their noise falls only with the root of their
/// number.
constexpr int kMostRuns = 6;
/// Smallest gain of a probability that counts.
constexpr double kNoGain = 1e-4;
/// Smallest additional gain that makes an experiment worth more money if none decides.
constexpr double kAsGood = 0.01;
/// Maximum difference between the steps of near twins, as a share.
constexpr double kTwin = 0.02;

/// log(cost of a token with b / with a), in seconds or USD.
models::LogRatio ratio_of(const models::Job& job, const Plan& a, const Plan& b, bool by_price,
                          const models::Profile& profile) {
  double scale = static_cast<double>(a.global_batch) / b.global_batch;
  if (by_price && a.usd_per_hour > 0 && b.usd_per_hour > 0) scale *= b.usd_per_hour / a.usd_per_hour;
  const models::Job of_a = as_planned(job, a), of_b = as_planned(job, b);
  return plan_ratio({of_a, a, profile}, {of_b, b, profile}, scale);
}

bool by_price(const models::Job& job) {
  return job.objective == models::Objective::cost;
}

/// True if plans can be compared. With a deadline fewer nodes go first, however fast.
bool comparable(const models::Job& job, const Plan& a, const Plan& b) {
  return job.objective != models::Objective::deadline || a.nodes == b.nodes;
}

bool same_step(const models::StepReport& a, const models::StepReport& b) {
  return a.step == b.step && a.by_parameter == b.by_parameter;
}

double price_of(const Plan& p, double node_hours) {
  return p.usd_per_hour / p.nodes * node_hours;
}

double run_hours(const Plan& p, int runs, const MeasuringTimes& times) {
  if (runs == 0) return 0;
  const Seconds all = times.compile + (times.start + p.report.step * kShortRunSteps) * runs;
  return p.nodes * all.value / kHour;
}

/// The unknowns of two plans, and what remains unknown after measurements.
class Analysis {
 public:
  Analysis(const models::Job& job, const Plan& a, const Plan& b, const models::Profile& profile,
           const ConfidenceOptions& options)
      : job_(job),
        a_(a),
        b_(b),
        profile_(profile),
        options_(options),
        posterior_(models::covariance_of(profile)),
        ratio_(ratio_of(job, a, b, by_price(job), profile)) {
    ratio_.states.clear();  // what runs and tables teach is worked out in the usual state of the network
    const models::SpreadParts of_a = parts_of(a), of_b = parts_of(b);
    repeat_ = of_a.repeat;
    const std::size_t shared = posterior_.add(of_a.shared);
    // The plans' own parts differ by the model's error for the operators in which they differ; the rest of an
    // own part is the same for both.
    const double apart = models::own_variance(a.report, b.report, profile) / 2;
    const std::size_t common = posterior_.add(std::max(0.0, of_a.own - apart));
    const double more = less_tested(a.untested_log_sd, b.untested_log_sd);
    weights_a_ = weights_of(of_a, shared, common, posterior_.add(apart + std::max(0.0, more)));
    weights_b_ = weights_of(of_b, shared, common, posterior_.add(apart + std::max(0.0, -more)));
    // What else tells them apart, as two machines do, is of either.
    const double known = posterior_.variance(minus(weights_b_, weights_a_));
    for (Weights* w : {&weights_a_, &weights_b_}) {
      w->resize(posterior_.add(std::max(0.0, square(ratio_.sd) - known) / 2) + 1, 0);
      w->back() = 1;
    }
    difference_ = minus(weights_b_, weights_a_);
    rates_ = posterior_.add(square(options.tables.rates));
    launch_ = posterior_.add(square(options.tables.launch));
    barrier_ = posterior_.add(square(options.tables.launch));
  }

  std::vector<Experiment> all() const {
    std::vector<Experiment> list;
    for (int n = 1; n <= kMostRuns; ++n) {
      list.push_back(runs(n, n));
      list.push_back(runs(n, 0));
      list.push_back(runs(0, n));
    }
    add_tables(list);
    const double now = std::max(ratio_.positive(), 1 - ratio_.positive());
    std::erase_if(list, [&](const Experiment& m) { return m.probability < now + kNoGain; });
    std::stable_sort(list.begin(), list.end(),
                     [](const Experiment& x, const Experiment& y) { return x.node_hours < y.node_hours; });
    return list;
  }

 private:
  using Weights = Posterior::Weights;

  static Weights minus(Weights x, const Weights& y) {
    x.resize(std::max(x.size(), y.size()), 0);
    for (std::size_t i = 0; i < y.size(); ++i) x[i] -= y[i];
    return x;
  }

  models::SpreadParts parts_of(const Plan& p) const {
    return models::spread_parts(profile_, as_planned(job_, p), p.strategy, models::log_gradient(p.report));
  }
  static Weights weights_of(const models::SpreadParts& parts, std::size_t shared, std::size_t common,
                            std::size_t own) {
    Weights w = parts.gradient;
    w.resize(own + 1, 0);
    w[shared] = w[common] = w[own] = 1;
    return w;
  }

  void judge(Experiment& m, const Posterior& after) const {
    const double left = std::sqrt(std::max(0.0, after.variance(difference_)));
    m.probability = models::probability_of_right_choice(ratio_.mean, ratio_.sd, left);
    m.gain = models::expected_gain(ratio_.mean, ratio_.sd, left);
    m.gain_usd = m.gain * a_.usd_per_hour * a_.run.value / kHour;
    const Seconds run = a_.run.value > 0 ? a_.run : options_.unstated_run;
    m.gain_node_hours = m.gain * a_.nodes * run.value / kHour;
  }

  /// An experiment of runs of the first and of the second plan; equally many if both run.
  Experiment runs(int of_a, int of_b) const {
    Experiment m;
    m.runs_of_first = of_a;
    m.runs_of_second = of_b;
    const bool both = of_a > 0 && of_b > 0;
    const Weights& w = both ? difference_ : of_a > 0 ? weights_a_ : weights_b_;
    const double noise = (both ? 2 : 1) * repeat_ / std::max(of_a, of_b);
    // The value at which the mean of the difference, given the observation, changes its sign.
    const double spread = posterior_.variance(w) + noise;
    const double slope = spread > 0 ? posterior_.covariance(difference_, w) / spread : 0;
    const double seen =
        both ? std::log(b_.report.step / a_.report.step) : std::log((of_a > 0 ? a_ : b_).report.step.value);
    if (slope != 0) m.threshold = std::exp(seen - ratio_.mean / slope);
    m.above = slope < 0;
    Posterior after = posterior_;
    after.observe(w, noise);
    judge(m, after);
    const double hours_a = run_hours(a_, of_a, options_.times), hours_b = run_hours(b_, of_b, options_.times);
    m.node_hours = hours_a + hours_b;
    m.usd = price_of(a_, hours_a) + price_of(b_, hours_b);
    return m;
  }

  Weights row_weights(const TableRow& row) const {
    Weights w(barrier_ + 1, 0);
    for (std::size_t i = 0; i < row.gradient.size(); ++i) {
      const Parameter p = options_.tables.parameters[i];
      if (p == models::common::host_launch) {
        w[launch_] += row.gradient[i];
      } else if (p == models::neuron::barrier) {
        w[barrier_] += row.gradient[i];
      } else {
        w[p.place()] += row.gradient[i];
        if (models::time_sign(p) < 0) w[rates_] += row.gradient[i];  // a share of a bandwidth
      }
    }
    return w;
  }

  /// Adds each table alone, and all together.
  void add_tables(std::vector<Experiment>& list) const {
    const bool understood = a_.instance == options_.tables.instance && b_.instance == a_.instance;
    if (options_.tables.parameters.empty() || !understood) return;
    const topology::Instance instance = as_planned(job_, a_).cluster.instance;
    if (instance.hosts > 1) return;  // nccom-test counts hosts, and tables count nodes
    const Tables tables(instance, profile_, options_.tables);
    Experiment together;
    Posterior after_all = posterior_;
    for (const TableRequest& table : tables_of(job_, a_, b_, profile_)) {
      const std::vector<TableRow> rows = tables.rows(table);
      if (rows.empty()) continue;
      Experiment one;
      Posterior after = posterior_;
      for (const TableRow& row : rows) {
        after.observe(row_weights(row), square(options_.tables.row));
        after_all.observe(row_weights(row), square(options_.tables.row));
      }
      one.tables = {table};
      one.node_hours = table.nodes * options_.times.nccom_test.value / kHour;
      judge(one, after);
      one.usd = price_of(a_, one.node_hours);
      together.tables.push_back(table);
      together.node_hours += one.node_hours;
      list.push_back(std::move(one));
    }
    if (together.tables.size() < 2) return;
    judge(together, after_all);
    together.usd = price_of(a_, together.node_hours);
    list.push_back(std::move(together));
  }

  const models::Job& job_;
  const Plan &a_, &b_;
  const models::Profile& profile_;
  const ConfidenceOptions& options_;
  Posterior posterior_;
  models::LogRatio ratio_;
  double repeat_ = 0;
  Weights weights_a_, weights_b_, difference_;
  std::size_t rates_ = 0, launch_ = 0, barrier_ = 0;
};

bool pays(const Experiment& m) {
  return m.gain_node_hours > m.node_hours;
}

/// Chooses the cheapest of the paying experiments that is good enough; else the cheapest of those about as
/// good as the best. `considered` is sorted by cost.
void choose(Comparison& c, double sure) {
  double most = 0;
  for (const Experiment& m : c.considered) {
    if (!pays(m)) continue;
    c.pays = true;
    most = std::max(most, m.probability);
  }
  const double wanted = std::min(sure, most - (most < sure ? kAsGood : 0));
  const auto found = std::find_if(c.considered.begin(), c.considered.end(),
                                  [&](const Experiment& m) { return pays(m) && m.probability >= wanted; });
  if (found == c.considered.end()) return;
  c.best = *found;
  c.decides = found->probability >= sure;
}

}  // namespace

std::optional<models::LogRatio> cost_ratio(const models::Job& job, const Plan& a, const Plan& b,
                                           const models::Profile& profile) {
  if (!comparable(job, a, b)) return std::nullopt;
  return ratio_of(job, a, b, by_price(job), profile);
}

std::optional<double> first_is_better(const models::Job& job, const Plan& first, const Plan& other,
                                      const models::Profile& profile) {
  const auto ratio = cost_ratio(job, first, other, profile);
  return ratio ? std::optional(ratio->positive()) : std::nullopt;
}

bool near_twins(const Plan& a, const Plan& b) {
  const models::Strategy &x = a.strategy, &y = b.strategy;
  if (!same_layout(x, y) || !same_experts(x, y) || x.virtual_pipeline != y.virtual_pipeline ||
      x.micro_batch != y.micro_batch || a.nodes != b.nodes || a.instance != b.instance)
    return false;
  return std::abs(std::log(a.report.step / b.report.step)) <= kTwin &&
         models::unshared_seconds(a.report, b.report).value <=
             kTwin * std::max(a.report.step, b.report.step).value;
}

namespace {

/// Runner-up with which the recommended plan is compared: the fastest, else the next best that is no near
/// twin.
std::size_t runner_up(const std::vector<Plan>& plans, std::size_t recommended) {
  if (recommended != 0) return 0;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    if (!near_twins(plans[0], plans[i])) return i;
  }
  return 1;
}

}  // namespace

Confidence confidence_of(const models::Job& job, const std::vector<Plan>& plans, const Plan* baseline,
                         const models::Profile& profile, const ConfidenceOptions& options,
                         std::size_t recommended) {
  Confidence out;
  out.sure = options.sure;
  if (plans.empty()) return out;
  const Plan& first = plans.front();
  for (std::size_t i = 1; i < plans.size(); ++i)
    out.first_is_better.push_back(first_is_better(job, first, plans[i], profile));
  if (baseline != nullptr)
    out.beats_baseline = ratio_of(job, plans[recommended], *baseline, false, profile).positive();
  if (plans.size() < 2) return out;
  Comparison c;
  c.first = recommended;
  c.second = runner_up(plans, recommended);
  const Plan &chosen = plans[c.first], &second = plans[c.second];
  const std::optional<double> better = first_is_better(job, chosen, second, profile);
  if (!better) return out;
  c.probability = *better;
  c.told_apart = std::max(c.probability, 1 - c.probability) >= options.sure;
  c.equal = c.probability == 0.5 && same_step(chosen.report, second.report);
  if (!c.told_apart && !c.equal) {
    c.considered = Analysis(job, chosen, second, profile, options).all();
    choose(c, options.sure);
  }
  out.comparison = std::move(c);
  return out;
}

}  // namespace trnplan::planner
