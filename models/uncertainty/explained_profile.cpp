#include "models/uncertainty/explained_profile.h"

#include <algorithm>

#include <cmath>

#include "models/uncertainty/spread.h"

namespace trnplan::models {

namespace {

std::optional<Value> value_in(const Profile* profile, Parameter p) {
  if (profile == nullptr || !profile->schema->contains(p)) return std::nullopt;
  return profile->value(p);
}

}  // namespace

std::optional<double> ExplainedParameter::spread_left() const {
  if (!prior || !(prior->log_sd > 0)) return std::nullopt;
  return value.log_sd / prior->log_sd;
}

std::optional<double> ExplainedParameter::apart() const {
  if (!other || !(other->median > 0) || !(value.median > 0)) return std::nullopt;
  const double sd = std::hypot(value.log_sd, other->log_sd);
  if (!(sd > 0)) return std::nullopt;
  return std::log(other->median / value.median) / sd;
}

ExplainedProfile explained(const Profile& profile, const Profile* prior, const Profile* other) {
  ExplainedProfile out;
  out.name = profile.name;
  out.schema = profile.schema->name();
  out.instance = profile.instance;
  if (prior != nullptr) out.prior = prior->name;
  if (other != nullptr) out.compared = other->name;
  if (const Calibration* c = profile.calibration.get()) {
    out.tool = c->tool;
    out.files = c->files;
    out.stacks = c->stacks;
    out.ranges = c->ranges;
  }
  if (profile.factors != nullptr) {
    for (const Factors& f : *profile.factors) {
      const std::string name = f.framework.empty() ? f.cluster
                               : f.cluster.empty() ? f.framework
                                                   : f.framework + " on " + f.cluster;
      if (!name.empty() &&
          std::find(out.own_values.begin(), out.own_values.end(), name) == out.own_values.end())
        out.own_values.push_back(name);
    }
  }
  for (const Parameter p : profile.schema->parameters())
    out.parameters.push_back({p, value_in(prior, p), profile.value(p), value_in(other, p), {}, {}});
  return out;
}

void add_step(ExplainedProfile& out, const Profile& profile, const Job& job, const Strategy& strategy,
              const StepReport& report) {
  const std::vector<double> gradient = log_gradient(report);
  const SpreadParts parts = spread_parts(profile, job, strategy, gradient);
  const double sigma = log_spread(profile, job, strategy, gradient);
  const std::vector<std::vector<double>> covariance = covariance_of(profile);
  double by_parameters = 0;
  for (ExplainedParameter& e : out.parameters) {
    const std::size_t at = e.parameter.place();
    if (at >= gradient.size()) continue;
    double row = 0;
    for (std::size_t i = 0; i < parts.gradient.size() && i < covariance.size(); ++i)
      row += covariance[at][i] * parts.gradient[i];
    e.value = profile.value(e.parameter);
    e.step_share = gradient[at];
    e.doubt_share = sigma > 0 ? gradient[at] * row / (sigma * sigma) : 0;
    by_parameters += *e.doubt_share;
  }
  out.plan = ExplainedStep{"", report.step, report.low, report.high, std::nullopt, 1 - by_parameters};
}

}  // namespace trnplan::models
