#include "calibrate/validate/collective_validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/parameters/common_parameters.h"
#include "units/median.h"
#include "units/normal.h"

namespace trnplan::calibrate {

namespace {

constexpr double kStep = 1e-2;  ///< of the differences, in logarithms

using Points = std::vector<logs::MeasuredCollective>;

/// Log-sd of each point's time, by the spreads of `profile`.
std::vector<double> spreads_of(const CollectivePoints& points, const models::Profile& profile,
                               const std::vector<double>& seconds) {
  const double missed = profile[models::common::collective_spread];
  std::vector<double> variance(seconds.size(), missed * missed);
  for (const models::Parameter p : kCollectiveParameters) {
    models::Profile more = profile;
    more.value(p).median *= std::exp(kStep);
    const std::vector<double> then = points.seconds(more);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double slope = std::log(then[i] / seconds[i]) / kStep;
      variance[i] += std::pow(slope * profile.value(p).log_sd, 2);
    }
  }
  for (double& v : variance) v = std::sqrt(v);
  return variance;
}

LeftOutTable predicted(const Points& table, const Points& others, const topology::Instance& instance,
                       const models::Profile& prior) {
  const models::Profile profile = others.empty() ? prior : fit_collectives(others, instance, prior).profile;
  const CollectivePoints points(table, instance);
  const std::vector<double> seconds = points.seconds(profile);
  const std::vector<double> spreads = spreads_of(points, profile, seconds);
  LeftOutTable out{table[0].build, table[0].op, table[0].ranks, table[0].nodes, table.size(), others.size()};
  std::vector<double> errors, widths;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double log_ratio = std::log(seconds[i] / table[i].seconds);
    errors.push_back(std::abs(std::exp(log_ratio) - 1));
    widths.push_back(kNinetyPercent * spreads[i]);
    out.bias += log_ratio / static_cast<double>(table.size());
    if (std::abs(log_ratio) <= widths.back()) ++out.covered;
  }
  out.median_error = median(errors);
  out.half_width = median(widths);
  return out;
}

}  // namespace

std::vector<LeftOutTable> leave_tables_out(
    const Points& points, const topology::Instance& instance,
    const std::function<models::Profile(const std::string& build)>& priors) {
  std::map<std::string, std::map<std::tuple<std::string, int, int>, Points>> builds;
  for (const logs::MeasuredCollective& p : points) builds[p.build][{p.op, p.ranks, p.nodes}].push_back(p);
  std::vector<LeftOutTable> out;
  for (const auto& [build, tables] : builds) {
    const models::Profile prior = priors(build);
    for (const auto& [key, table] : tables) {
      Points others;
      for (const auto& [other, its] : tables) {
        if (other != key) others.insert(others.end(), its.begin(), its.end());
      }
      out.push_back(predicted(table, others, instance, prior));
    }
  }
  return out;
}

}  // namespace trnplan::calibrate
