#include "calibrate/fit/site_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/log_update.h"
#include "models/parameters/common_parameters.h"
#include "models/step/step.h"
#include "models/uncertainty/posterior.h"
#include "models/uncertainty/spread.h"
#include "topology/chip_graph.h"
#include "units/square.h"

namespace trnplan::calibrate {

namespace {

using models::StackFactor;

constexpr int kMostSiteIterations = 12;

/// The profile with a calibration that has factors of the runs' sites and layouts; new ones are 1.
models::Profile with_sites(const models::Profile& prior, const std::vector<SiteRun>& runs) {
  auto c = std::make_shared<models::Calibration>();
  if (prior.calibration != nullptr) *c = *prior.calibration;
  const bool fitted = models::knows_stacks(prior);
  c->covariance = models::covariance_of(prior);
  if (prior.calibration == nullptr) {
    c->prior = prior.base.empty() ? prior.name : prior.base;
    for (std::size_t i = 0; i < c->covariance.size(); ++i) {
      const models::Parameter p = prior.schema->at(i);
      if (!p || models::time_sign(p) == 0) c->covariance[i][i] = 0;
    }
  }
  const auto add = [&](StackFactor f, double variance) {
    f.log_sd = std::sqrt(variance);
    c->stacks.push_back(std::move(f));
    for (auto& row : c->covariance) row.push_back(0);
    c->covariance.emplace_back(c->covariance.size() + 1, 0.0).back() = variance;
  };
  for (const SiteRun& run : runs) {
    const models::Software& software = run.job.software;
    const auto has = [&](const auto& wanted) {
      return std::any_of(c->stacks.begin(), c->stacks.end(), [&](const StackFactor& f) {
        return applies(f, run.job, &run.strategy) && wanted(f);
      });
    };
    const std::string& instance = run.job.cluster.instance.name;
    if (software.framework.empty()) continue;  // no factor could be found again
    if (!has([](const auto& f) { return f.is_site(); })) {
      double variance = square(prior[models::common::site_spread]);
      if (fitted && !has([](const auto& f) { return f.instance.empty() && f.release.empty(); }))
        variance += square(prior[models::common::stack_spread]);
      if (fitted && !has([](const auto& f) { return f.instance.empty() && !f.release.empty(); }))
        variance += square(prior[models::common::release_spread]);
      add({software.framework, software.release, 1, 0, instance, ""}, variance);
    }
    if (!has([](const auto& f) { return !f.layout.empty(); })) {
      add({software.framework, software.release, 1, 0, instance, layout_name(run.job, run.strategy),
           models::parameters(run.job.architecture)},
          square(models::own_spread(prior, run.job.architecture.causal)));
    }
  }
  models::Profile profile = prior;
  profile.calibration = std::move(c);
  return profile;
}

/// The profile with all logarithms moved.
models::Profile moved(const models::Profile& from, const std::vector<double>& delta) {
  models::Profile profile = from;
  auto c = std::make_shared<models::Calibration>(*from.calibration);
  const std::size_t parameters = from.schema->places();
  for (std::size_t i = 0; i < parameters; ++i) profile.values[i].median *= std::exp(delta[i]);
  for (std::size_t i = parameters; i < delta.size(); ++i)
    c->stacks[i - parameters].median *= std::exp(delta[i]);
  profile.calibration = std::move(c);
  return profile;
}

/// A run simulated with a profile.
struct Answer {
  models::StepReport report;
  std::vector<double> gradient;  ///< of parameters and factors
};

class Runs {
 public:
  explicit Runs(const std::vector<SiteRun>& runs) : runs_(runs) {
    for (const SiteRun& run : runs)
      graphs_.push_back(std::make_unique<topology::ChipGraph>(run.job.cluster.instance));
  }

  models::StepReport report(std::size_t i, const models::Profile& profile) const {
    return models::StepModel(runs_[i].job, runs_[i].strategy, profile, *graphs_[i]).simulate();
  }

  Answer at(std::size_t i, const models::Profile& profile) const {
    const SiteRun& run = runs_[i];
    Answer a{report(i, profile), {}};
    a.gradient =
        models::spread_parts(profile, run.job, run.strategy, models::log_gradient(a.report)).gradient;
    if (profile.factors == nullptr) return a;
    for (const models::Factors& f : *profile.factors) {
      if (!applies(f, run.job))
        continue;  // these values replace the profile's, which the run says nothing of
      for (const auto& [p, value] : f.values) a.gradient[p.place()] = 0;
    }
    return a;
  }

 private:
  const std::vector<SiteRun>& runs_;
  std::vector<std::unique_ptr<topology::ChipGraph>> graphs_;
};

/// Puts the posterior's covariance, and the standard deviations that follow from it, into the profile.
void set_covariance(models::Profile& profile, const models::Posterior& posterior) {
  auto c = std::make_shared<models::Calibration>(*profile.calibration);
  c->covariance = posterior.covariance();
  const std::size_t parameters = profile.schema->places();
  for (std::size_t i = 0; i < c->covariance.size(); ++i) {
    const double sd = std::sqrt(std::max(0.0, c->covariance[i][i]));
    const models::Parameter p = i < parameters ? profile.schema->at(i) : models::Parameter();
    if (i >= parameters) c->stacks[i - parameters].log_sd = sd;
    if (p && models::time_sign(p) != 0) profile.values[i].log_sd = sd;
  }
  profile.calibration = std::move(c);
}

}  // namespace

double spread_of_median(double log_sd, std::size_t steps) {
  return std::sqrt(std::numbers::pi / 2 / static_cast<double>(std::max<std::size_t>(1, steps))) * log_sd;
}

SiteFit fit_site(const std::vector<SiteRun>& runs, const models::Profile& prior) {
  SiteFit out;
  const Runs bench(runs);
  const models::Profile from = with_sites(prior, runs);
  const std::size_t size = from.calibration->covariance.size();
  const double repeat = square(prior[models::common::repeat_spread]);
  std::vector<double> delta(size, 0);
  models::Posterior posterior;
  for (; out.iterations < kMostSiteIterations && !out.converged; ++out.iterations) {
    const models::Profile now = moved(from, delta);
    posterior = models::Posterior(from.calibration->covariance);
    std::vector<LogResidual> rows;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Answer a = bench.at(i, now);
      rows.push_back({runs[i].log_seconds - std::log(a.report.step.value), std::move(a.gradient),
                      repeat + square(runs[i].log_sd)});
    }
    std::vector<double> mean = updated(posterior, delta, rows);
    out.converged = largest_move(mean, delta) < kConverged;
    delta = std::move(mean);
  }
  out.profile = moved(from, delta);
  set_covariance(out.profile, posterior);
  for (const models::Parameter p : prior.schema->parameters()) {
    const models::Value &was = from.value(p), &is = out.profile.value(p);
    if (models::time_sign(p) == 0 || was.log_sd == 0) continue;
    const double share = is.log_sd / was.log_sd;
    out.estimates.push_back(
        {p, was, is, share, verdict(share, std::log(is.median / was.median) / was.log_sd)});
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const models::StepReport before = bench.report(i, prior), after = bench.report(i, out.profile);
    SiteRow row{before.step.value, before.low.value, before.high.value,
                after.step.value,  after.low.value,  after.high.value};
    row.misses = std::log(layout_factor(out.profile, runs[i].job, runs[i].strategy)) /
                 models::own_spread(prior, runs[i].job.architecture.causal);
    out.rows.push_back(row);
  }
  return out;
}

}  // namespace trnplan::calibrate
