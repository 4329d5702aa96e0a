#include "calibrate/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "calibrate/fit.h"
#include "models/collective_timing.h"
#include "topology/chip_graph.h"

namespace trnplan::calibrate {

namespace {

/// A point as a run on a cluster.
struct Setup {
  const MeasuredCollective* point;
  models::CollectiveRun run;
  int nodes;
};

std::optional<Setup> setup_of(const MeasuredCollective& p, const topology::Instance& instance) {
  const auto op = models::collective_op(p.op);
  if (!op) return std::nullopt;
  const int nodes = p.nodes > 0 ? p.nodes : (p.ranks + instance.cores() - 1) / instance.cores();
  if (p.ranks % nodes != 0 || p.ranks / nodes > instance.cores()) return std::nullopt;
  return Setup{&p, {*op, p.ranks, Bytes(p.bytes), models::Algorithm::automatic}, nodes};
}

/// Clusters of one instance by number of nodes; timers are made per profile.
class Bench {
 public:
  Bench(const topology::Instance& instance, std::vector<Setup> setups)
      : graph_(instance), setups_(std::move(setups)) {
    for (const Setup& s : setups_) clusters_.try_emplace(s.nodes, topology::Cluster{instance, s.nodes});
  }
  const std::vector<Setup>& setups() const { return setups_; }

  std::vector<models::CollectiveTiming> time(const models::Profile& profile) const {
    std::map<int, models::CollectiveTimer> timers;
    for (const auto& [nodes, cluster] : clusters_) timers.try_emplace(nodes, cluster, graph_, profile);
    std::vector<models::CollectiveTiming> all;
    for (const Setup& s : setups_) all.push_back(timers.at(s.nodes).time(s.run));
    return all;
  }

 private:
  topology::ChipGraph graph_;
  std::map<int, topology::Cluster> clusters_;
  std::vector<Setup> setups_;
};

models::Profile with_values(models::Profile profile, const std::vector<double>& values) {
  for (std::size_t i = 0; i < kCollectiveParameters.size(); ++i) {
    profile.value(kCollectiveParameters[i]).median = values[i];
  }
  return profile;
}

double four_digits(double x) {
  return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr);
}

void sum_up(CollectiveFit& fit) {
  std::vector<double> errors;
  for (const CollectiveFit::Row& row : fit.rows) {
    errors.push_back(std::abs(row.error));
    if (fit.worst != nullptr && errors.back() <= fit.worst_error) continue;
    fit.worst_error = errors.back();
    fit.worst = &row;
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  fit.median_error = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
}

}  // namespace

std::vector<MeasuredCollective> points_of(const NccomTable& table, const std::string& source) {
  std::vector<MeasuredCollective> points;
  if (table.op.empty() || !table.ranks) return points;
  for (const NccomRow& row : table.rows) {
    if (row.contradicts) continue;
    MeasuredCollective p;
    p.id = source + ":" + std::to_string(row.at.line);
    p.op = table.op;
    p.ranks = *table.ranks;
    p.nodes = table.nodes.value_or(0);
    p.bytes = row.bytes;
    p.type = row.type;
    p.seconds = row.seconds;
    p.algorithm = row.algorithm;
    p.source = source;
    p.at = row.at;
    points.push_back(std::move(p));
  }
  return points;
}

CollectiveFit fit_collectives(const std::vector<MeasuredCollective>& points,
                              const topology::Instance& instance, const models::Profile& prior,
                              double noise) {
  CollectiveFit out;
  std::vector<Setup> setups;
  for (const MeasuredCollective& p : points) {
    if (const auto s = setup_of(p, instance)) {
      setups.push_back(*s);
    } else {
      out.left_out.push_back(&p);
    }
  }
  if (setups.empty()) throw std::invalid_argument("no collective to fit to");
  const Bench bench(instance, std::move(setups));

  std::vector<FitParameter> parameters;
  for (const models::Parameter p : kCollectiveParameters) {
    parameters.push_back({std::string(models::to_string(p)), prior[p], prior.value(p).log_sd});
  }
  std::vector<Observation> observations;
  for (const Setup& s : bench.setups()) observations.push_back({s.point->seconds, noise});
  const FitResult result = fit(parameters, observations, [&](const std::vector<double>& values) {
    std::vector<double> seconds;
    for (const auto& t : bench.time(with_values(prior, values))) seconds.push_back(t.nccom_seconds.value);
    return seconds;
  });

  std::vector<double> rounded;
  for (const double x : result.median) rounded.push_back(four_digits(x));
  out.profile = with_values(prior, rounded);
  for (std::size_t i = 0; i < kCollectiveParameters.size(); ++i) {
    const models::Parameter p = kCollectiveParameters[i];
    out.profile.value(p).log_sd = four_digits(result.log_sd[i]);
    out.estimates.push_back(
        {p, prior.value(p), out.profile.value(p), result.prior_share[i], verdict(result.prior_share[i])});
  }
  const std::vector<models::CollectiveTiming> timings = bench.time(out.profile);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    const MeasuredCollective* point = bench.setups()[i].point;
    const double predicted = timings[i].nccom_seconds.value;
    out.rows.push_back({point, timings[i].algorithm, predicted, predicted / point->seconds - 1});
  }
  out.iterations = result.iterations;
  out.converged = result.converged;
  sum_up(out);
  return out;
}

}  // namespace trnplan::calibrate
