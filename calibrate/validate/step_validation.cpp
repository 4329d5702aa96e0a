#include "calibrate/validate/step_validation.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "logs/training/step_log.h"
#include "models/uncertainty/spread.h"
#include "units/normal.h"

namespace trnplan::calibrate {

using Row = StepValidation::Row;

std::string_view to_string(LeaveOut l) {
  constexpr std::string_view kNames[] = {"configuration", "run_group", "none"};
  return kNames[static_cast<std::size_t>(l)];
}

std::optional<LeaveOut> leave_out_from(std::string_view text) {
  for (const LeaveOut l : {LeaveOut::configuration, LeaveOut::run_group, LeaveOut::none}) {
    if (to_string(l) == text) return l;
  }
  return std::nullopt;
}

double Row::half_width() const {
  return (high - low) / (2 * predicted);
}

namespace {

double mean_of(const std::vector<std::pair<double, double>>& values) {
  double sum = 0, weights = 0;
  for (const auto& [value, weight] : values) {
    sum += value * weight;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

/// The least value with at least `share` of the weight at or below it.
double quantile(std::vector<std::pair<double, double>> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  double all = 0, sum = 0;
  for (const auto& v : values) all += v.second;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= share * all * (1 - 1e-12)) return value;
  }
  return values.back().first;
}

double flops_of(const MeasuredStep& s) {
  return models::model_flops_per_token(s.job.architecture, s.job.training.sequence) *
         s.job.training.sequence * s.job.training.global_batch / s.job.cluster.cores();
}

double slowness(const MeasuredStep& s) {
  return log_slowness(s, s.seconds);
}

void add_baselines(std::vector<Row>& rows) {
  using Same = std::tuple<std::string, models::Precision, int>;
  std::map<Same, std::vector<std::pair<double, double>>> by_configuration;
  const auto same = [](const Row& row) {
    return Same(row.step->configuration, row.step->strategy.precision, row.step->job.training.global_batch);
  };
  std::map<std::string, std::map<std::string, std::vector<std::pair<double, double>>>> by_kind;
  for (const Row& row : rows) {
    if (row.step->at_most) continue;
    by_configuration[same(row)].emplace_back(slowness(*row.step), row.weight);
    by_kind[row.step->kind][row.step->configuration].emplace_back(slowness(*row.step), row.weight);
  }
  for (Row& row : rows) {
    const double flops = flops_of(*row.step);
    const auto own = by_configuration.find(same(row));
    row.by_oracle =
        own == by_configuration.end() ? row.step->seconds : flops * std::exp(mean_of(own->second));
    std::vector<std::pair<double, double>> others;
    for (const auto& [name, values] : by_kind[row.step->kind]) {
      if (name != row.step->configuration) others.insert(others.end(), values.begin(), values.end());
    }
    row.by_mfu = others.empty() ? row.by_oracle : flops * std::exp(mean_of(others));
  }
}

/// Logarithm of the factors of a step.
double stack_effect(const models::Profile& profile, const models::Job& job, const models::Strategy& s) {
  double effect = 0;
  const std::vector<double> weights = factor_shares(profile, job, &s).weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) effect += weights[i] * std::log(profile.calibration->stacks[i].median);
  }
  return effect;
}

/// Name of the rows that a fold leaves out; "" with LeaveOut::none, which has one fold.
std::string fold_of(const StepObservation& o, const MeasuredStep& s, LeaveOut leave_out) {
  if (leave_out == LeaveOut::none) return "";
  if (leave_out == LeaveOut::configuration) return o.configuration;
  return s.group.empty() ? "row " + s.id : s.group;
}

}  // namespace

double log_slowness(const MeasuredStep& step, double seconds) {
  return std::log(seconds / flops_of(step));
}

StepValidation validate_steps(const StepBench& bench, const CollectiveBench* collectives,
                              const models::Profile& profile, LeaveOut leave_out,
                              const StepFitOptions& options,
                              const std::function<bool(const MeasuredStep&)>& score) {
  const std::vector<MeasuredStep>& steps = bench.steps();
  std::map<std::string, std::vector<const StepObservation*>> folds;
  for (const StepObservation& o : bench.observations()) {
    const bool wanted = std::any_of(o.rows.begin(), o.rows.end(),
                                    [&](std::size_t row) { return !score || score(steps[row]); });
    if (wanted) folds[fold_of(o, steps[o.rows.front()], leave_out)].push_back(&o);
  }
  StepValidation out;
  for (const auto& [fold, left_out] : folds) {
    models::Profile fitted = profile;
    if (leave_out != LeaveOut::none) {
      StepFitOptions without = options;
      // A fit for each fold: intervals are somewhat narrower than a profile's.
      without.profile_widths = false;
      without.use = [&, name = fold](const StepObservation& o) {
        return fold_of(o, steps[o.rows.front()], leave_out) != name && (!options.use || options.use(o));
      };
      fitted = fit_steps(bench, collectives, profile, without).profile;
    }
    const auto shared_fit = std::make_shared<const models::Profile>(fitted);
    for (const StepObservation* o : left_out) {
      const ProgramTime time = bench.time(o->program, fitted);
      const MeasuredStep& first = steps[o->rows.front()];
      const double center = time.log_seconds + stack_effect(fitted, first.job, first.strategy);
      models::Job job = first.job;
      if (!options.stacks) job.software = {};  // a fit without stacks has no difference for any
      const double spread = models::log_spread(fitted, job, first.strategy, time.gradient);
      const auto report = std::make_shared<const models::StepReport>(bench.report(o->program, fitted));
      for (const std::size_t i : o->rows) {
        if (score && !score(steps[i])) continue;
        Row row;
        row.step = &steps[i];
        row.spread = spread;
        row.fit = shared_fit;
        row.report = report;
        row.predicted = std::exp(center);
        row.low = row.predicted * std::exp(-kNinetyPercent * spread);
        row.high = row.predicted * std::exp(kNinetyPercent * spread);
        row.error = row.predicted / row.step->seconds - 1;
        row.weight = 1.0 / static_cast<double>(o->rows.size());
        out.rows.push_back(row);
      }
    }
  }
  std::sort(out.rows.begin(), out.rows.end(),
            [](const Row& a, const Row& b) { return a.step->id < b.step->id; });
  add_baselines(out.rows);
  return out;
}

StepSummary summary_of(const std::vector<const Row*>& rows) {
  StepSummary s;
  std::vector<std::pair<double, double>> errors, biases, covered, widths, mfu, oracle;
  for (const Row* row : rows) {
    const double measured = row->step->seconds, w = row->weight;
    errors.emplace_back(std::abs(row->error), w);
    biases.emplace_back(std::log(row->predicted / measured), w);
    covered.emplace_back(row->covered() ? 1 : 0, w);
    widths.emplace_back(row->half_width(), w);
    mfu.emplace_back(std::abs(row->by_mfu / measured - 1), w);
    oracle.emplace_back(std::abs(row->by_oracle / measured - 1), w);
    s.groups += w;
  }
  s.rows = rows.size();
  s.mape = mean_of(errors);
  s.median_ape = quantile(errors, 0.5);
  s.p90_ape = quantile(errors, 0.9);
  s.bias = std::exp(mean_of(biases)) - 1;
  s.coverage_90 = mean_of(covered);
  s.median_half_width = quantile(widths, 0.5);
  s.mape_mfu = mean_of(mfu);
  s.mape_oracle = mean_of(oracle);
  return s;
}

BoundsKept bounds_kept(const std::vector<const Row*>& rows) {
  BoundsKept b;
  for (const Row* row : rows) {
    if (!row->step->at_most) continue;
    ++b.rows;
    if (row->predicted <= row->step->seconds) ++b.kept;
    if (row->covered()) ++b.covered;
  }
  return b;
}

std::vector<Regret> regrets_of(const std::vector<Row>& rows) {
  struct Choice {
    std::vector<std::pair<double, double>> measured, predicted;
  };
  std::map<std::string, std::map<models::Strategy, Choice>> jobs;
  for (const Row& row : rows) {
    const MeasuredStep& s = *row.step;
    if (s.at_most) continue;
    const std::string job = fmt::format("{} on {} nodes, sequence {}, global batch {}, {}",
                                        s.job.architecture.name, s.job.cluster.nodes, s.job.training.sequence,
                                        s.job.training.global_batch, to_string(s.strategy.precision));
    Choice& c = jobs[job][s.strategy];
    c.measured.emplace_back(std::log(s.seconds), row.weight);
    c.predicted.emplace_back(std::log(row.predicted), row.weight);
  }
  std::vector<Regret> out;
  for (const auto& [job, of_job] : jobs) {
    const auto& choices = of_job;  // clang 14 captures no structured binding
    if (choices.size() < 2) continue;
    const auto least = [&](auto member) {
      return std::min_element(choices.begin(), choices.end(), [&](const auto& a, const auto& b) {
        return mean_of(a.second.*member) < mean_of(b.second.*member);
      });
    };
    const auto picked = least(&Choice::predicted), best = least(&Choice::measured);
    out.push_back({job, describe(picked->first), describe(best->first), static_cast<int>(choices.size()),
                   std::exp(mean_of(picked->second.measured) - mean_of(best->second.measured)) - 1});
  }
  return out;
}

}  // namespace trnplan::calibrate
