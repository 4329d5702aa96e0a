#include "models/uncertainty/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/device/devices.h"
#include "models/framework/framework.h"
#include "units/square.h"

namespace trnplan::models {

double log_variance(const Profile& profile, const std::vector<double>& g) {
  double variance = 0;
  if (profile.calibration == nullptr) {
    for (const Parameter p : profile.schema->parameters()) {
      if (p.place() < g.size()) variance += square(g[p.place()] * profile.value(p).log_sd);
    }
    return variance;
  }
  const auto& covariance = profile.calibration->covariance;
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < g.size() && g[i] != 0; ++j) variance += g[i] * covariance[i][j] * g[j];
  }
  return std::max(0.0, variance);
}

std::vector<double> log_gradient(const StepReport& report) {
  std::vector<double> g(report.schema->places(), 0);
  for (const Parameter p : report.schema->parameters()) {
    g[p.place()] = time_sign(p) * (report.by_parameter[p.place()] / report.step);
  }
  return g;
}

bool knows_stacks(const Profile& profile) {
  if (profile.calibration == nullptr) return false;
  const auto& all = profile.calibration->stacks;
  return std::any_of(all.begin(), all.end(), [](const StackFactor& f) { return f.instance.empty(); });
}

bool has_releases(const topology::Instance& instance) {
  return instance.traits.accelerator == topology::Accelerator::neuron_core;
}

double own_spread(const Profile& profile, bool causal) {
  return profile[causal ? common::configuration_spread : common::encoder_spread];
}

std::optional<std::size_t> learnt_layout(const Profile& profile, const Job& job, const Strategy& strategy) {
  if (profile.calibration == nullptr) return std::nullopt;
  const std::vector<StackFactor>& known = profile.calibration->stacks;
  const auto found = std::find_if(known.begin(), known.end(), [&](const StackFactor& f) {
    return !f.layout.empty() && applies(f, job, &strategy);
  });
  if (found == known.end()) return std::nullopt;
  return profile.schema->places() + static_cast<std::size_t>(found - known.begin());
}

SpreadParts spread_parts(const Profile& profile, const Job& job, const Strategy& strategy,
                         std::vector<double> g) {
  SpreadParts parts{std::move(g), square(own_spread(profile, job.architecture.causal)), 0,
                    square(profile[common::repeat_spread]), knows_stacks(profile)};
  bool framework = false, release = false, site = false;
  const FactorShares shares = factor_shares(profile, job, &strategy);
  parts.shared = shares.variance;
  parts.gradient.insert(parts.gradient.end(), shares.weights.begin(), shares.weights.end());
  for (std::size_t i = 0; i < shares.weights.size(); ++i) {
    const StackFactor& f = profile.calibration->stacks[i];
    if (shares.weights[i] < 1) continue;
    if (!f.layout.empty()) parts.own = 0;
    (f.is_site() ? site : f.release.empty() ? framework : release) = true;
  }
  if (site) {
    parts.repeats = true;
  } else if (parts.repeats) {
    if (!framework) parts.shared += square(profile[common::stack_spread]);
    if (!release) parts.shared += square(profile[common::release_spread]);
  } else if (job.software.framework.empty() || job.software.release.empty() ||
             !has_releases(job.cluster.instance)) {
    parts.shared += square(profile[common::stack_spread]);
  }
  const Parameter dispatch = device_of(job.cluster.instance.core).spread_of_dispatch();
  if (!site && dispatch && expert_dispatch(job.architecture, strategy))
    parts.shared += square(profile[dispatch]);
  if (profile.network) parts.own += square(profile.network->step_spread * std::log2(job.cluster.nodes));
  return parts;
}

std::vector<std::vector<double>> covariance_of(const Profile& profile) {
  if (profile.calibration != nullptr) return profile.calibration->covariance;
  const std::size_t places = profile.schema->places();
  std::vector<std::vector<double>> all(places, std::vector<double>(places, 0));
  for (const Parameter p : profile.schema->parameters())
    all[p.place()][p.place()] = square(profile.value(p).log_sd);
  return all;
}

std::vector<std::pair<std::string, double>> traits_of(const Job& job, const Strategy& s) {
  return {{"nodes", job.cluster.nodes},
          {"tensor_parallel", s.tensor_parallel},
          {"pipeline_parallel", s.pipeline_parallel},
          {"sequence", job.training.sequence},
          {"parameters", static_cast<double>(parameters(job.architecture))}};
}

std::vector<Extrapolation> extrapolations(const Profile& profile, const Job& job, const Strategy& strategy) {
  std::vector<Extrapolation> all;
  if (profile.calibration == nullptr) return all;
  for (const auto& [name, value] : traits_of(job, strategy)) {
    for (const FittedRange& range : profile.calibration->ranges) {
      if (range.of == name && (value < range.low || value > range.high)) all.push_back({range, value});
    }
  }
  return all;
}

double log_spread(const Profile& profile, const Job& job, const Strategy& strategy, std::vector<double> g) {
  const SpreadParts parts = spread_parts(profile, job, strategy, std::move(g));
  const double repeat = parts.repeats ? parts.repeat : 0;
  return std::sqrt(parts.own + repeat + parts.shared + log_variance(profile, parts.gradient));
}

}  // namespace trnplan::models
