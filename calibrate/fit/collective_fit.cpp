#include "calibrate/fit/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/fit/fit.h"
#include "models/collective/collective_memory.h"
#include "models/collective/collective_timing.h"
#include "topology/chip_graph.h"

namespace trnplan::calibrate {

namespace {

/// Run of a point on a cluster.
struct Setup {
  const logs::MeasuredCollective* point;
  models::CollectiveRun run;
  int nodes;
};

/// A run, or the reason why there is none.
struct Attempt {
  std::optional<Setup> setup;
  std::string reason, fix;
};

Attempt attempt(const logs::MeasuredCollective& p, const topology::Instance& instance) {
  if (!p.left_out.empty())
    return {{}, "its table says so: " + printable(p.left_out), "clear the field left_out to use it"};
  const auto op = models::collective_op(p.op);
  if (!op) {
    return {{},
            p.op + " is not modelled",
            "give all_reduce, all_gather, reduce_scatter, all_to_all, permute or send_recv"};
  }
  const int cores = instance.cores();
  const int nodes = p.nodes > 0 ? p.nodes : (p.ranks + cores - 1) / cores;
  const std::string on = fmt::format("{} node{} of {}", nodes, nodes == 1 ? "" : "s", instance.name);
  if (nodes > topology::kMostNodes) {
    return {{}, fmt::format("{} nodes are more than any cluster has", nodes), "correct the number"};
  }
  if (p.ranks % nodes != 0) {
    return {{},
            fmt::format("{} ranks do not sit equally on {}", p.ranks, on),
            "state the nodes it ran on, or where, with --instance"};
  }
  if (p.ranks / nodes > cores) {
    return {{},
            fmt::format("{} ranks do not fit on {}, which has {} cores", p.ranks, on, nodes * cores),
            "state the nodes it ran on, or where, with --instance"};
  }
  if (nodes > 1 && instance.nics == 0) {
    return {{},
            fmt::format("it ran on {} nodes, and {} has no EFA device", nodes, instance.name),
            "say where it was measured, with --instance"};
  }
  return {Setup{&p, {*op, p.ranks, Bytes(p.bytes), models::Algorithm::automatic}, nodes}, "", ""};
}

/// Key of a point; points with the same key are one.
auto identity(const logs::MeasuredCollective& p) {
  return std::tie(p.op, p.ranks, p.nodes, p.instance, p.bytes, p.type, p.seconds, p.build, p.algorithm);
}

/// Output of nccom-test for a point.
struct Answer {
  std::string algorithm;
  double seconds = 0;
};

/// Clusters of one instance by number of nodes. One thread at a time.
class Bench {
 public:
  Bench(const topology::Instance& instance, std::vector<Setup> setups)
      : graph_(instance), setups_(std::move(setups)) {
    for (const Setup& s : setups_) machines_.try_emplace(s.nodes, topology::Cluster{instance, s.nodes});
  }
  const std::vector<Setup>& setups() const { return setups_; }

  std::vector<Answer> time(const models::Profile& profile) const {
    std::map<int, models::Fabric> fabrics;
    for (auto& [nodes, machine] : machines_)
      fabrics.try_emplace(nodes, machine.cluster, graph_, machine.placement, profile, &machine.memory);
    std::vector<Answer> all;
    for (const Setup& s : setups_) {
      const models::Fabric& fabric = fabrics.at(s.nodes);
      const std::vector<int> ranks = models::ranks_of(fabric.cluster(), s.run.ranks);
      models::Collective c = models::collective(fabric, s.run.op, {ranks}, s.run.bytes, s.run.algorithm);
      const double seconds = models::nccom_seconds(fabric, c, s.nodes > 1 && s.run.ranks > 1).value;
      all.push_back({c.algorithm.empty() ? "none" : std::move(c.algorithm), seconds});
    }
    return all;
  }

 private:
  struct Machine {
    topology::Cluster cluster;
    topology::Placement placement;
    models::CollectiveMemory memory;
    explicit Machine(topology::Cluster c)
        : cluster(std::move(c)), placement(topology::Placement::uniform(cluster)) {}
  };
  topology::ChipGraph graph_;
  mutable std::map<int, Machine> machines_;  ///< by number of nodes; their memories grow
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

std::vector<Setup> setups_of(const std::vector<logs::MeasuredCollective>& points,
                             const topology::Instance& instance) {
  if (points.empty()) throw std::invalid_argument("no collective to compare with");
  std::vector<Setup> setups;
  for (const logs::MeasuredCollective& p : points) {
    const Attempt a = attempt(p, instance);
    if (!a.setup) throw std::invalid_argument(p.id + ": " + a.reason);
    setups.push_back(*a.setup);
  }
  return setups;
}

/// Compares the rows with the profile: predictions and errors.
void compare(CollectiveFit& fit, const Bench& bench) {
  const std::vector<Answer> answers = bench.time(fit.profile);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Setup& s = bench.setups()[i];
    const double predicted = answers[i].seconds;
    fit.rows.push_back({s.point, s.nodes, answers[i].algorithm, predicted, predicted / s.point->seconds - 1});
  }
  sum_up(fit);
}

}  // namespace

std::vector<logs::MeasuredCollective> points_of(const logs::NccomTable& table, const std::string& source) {
  std::vector<logs::MeasuredCollective> points;
  if (table.op.empty() || !table.ranks || !table.partners.empty()) return points;
  for (const logs::NccomRow& row : table.rows) {
    if (row.contradicts) continue;
    logs::MeasuredCollective p;
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

Selection select_points(const std::vector<logs::MeasuredCollective>& points,
                        const topology::Instance& instance, const models::Profile& profile) {
  Selection out;
  std::set<decltype(identity(points.front()))> known;
  std::vector<Setup> setups;
  for (const logs::MeasuredCollective& p : points) {
    if (!known.insert(identity(p)).second) {
      ++out.repeated;
      continue;
    }
    Attempt a = attempt(p, instance);
    if (a.setup) {
      setups.push_back(*a.setup);
    } else {
      out.left_out.push_back({p, std::move(a.reason), std::move(a.fix)});
    }
  }
  const Bench bench(instance, std::move(setups));
  const std::vector<Answer> answers = bench.time(profile);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const logs::MeasuredCollective& p = *bench.setups()[i].point;
    if (std::isfinite(answers[i].seconds)) {
      out.points.push_back(p);
    } else {
      out.left_out.push_back({p, fmt::format("there is no path for its bytes on {}", instance.name),
                              "say where it was measured, with --instance"});
    }
  }
  return out;
}

struct CollectivePoints::State {
  Bench bench;
};
CollectivePoints::CollectivePoints(const std::vector<logs::MeasuredCollective>& points,
                                   const topology::Instance& instance)
    : state_(new State{Bench(instance, setups_of(points, instance))}) {}
CollectivePoints::~CollectivePoints() = default;
CollectivePoints::CollectivePoints(CollectivePoints&&) noexcept = default;
CollectivePoints& CollectivePoints::operator=(CollectivePoints&&) noexcept = default;

std::vector<double> CollectivePoints::seconds(const models::Profile& profile) const {
  std::vector<double> all;
  for (const Answer& answer : state_->bench.time(profile)) all.push_back(answer.seconds);
  return all;
}

CollectiveFit predict_collectives(const std::vector<logs::MeasuredCollective>& points,
                                  const topology::Instance& instance, const models::Profile& profile) {
  CollectiveFit out;
  out.profile = profile;
  compare(out, Bench(instance, setups_of(points, instance)));
  return out;
}

CollectiveFit fit_collectives(const std::vector<logs::MeasuredCollective>& points,
                              const topology::Instance& instance, const models::Profile& prior,
                              double noise) {
  const Bench bench(instance, setups_of(points, instance));
  CollectiveFit out;
  std::vector<FitParameter> parameters;
  for (const models::Parameter p : kCollectiveParameters) {
    parameters.push_back({std::string(models::to_string(p)), prior[p], prior.value(p).log_sd});
  }
  std::vector<Observation> observations;
  for (const Setup& s : bench.setups()) observations.push_back({s.point->seconds, noise});
  FitOptions options;
  options.scale_noise = true;
  options.least_gain = 1e-6;  // below the visible noise: along a kink steps gain little for long
  const FitResult result = fit(
      parameters, observations,
      [&](const std::vector<double>& values) {
        std::vector<double> seconds;
        for (const Answer& a : bench.time(with_values(prior, values))) seconds.push_back(a.seconds);
        return seconds;
      },
      options);

  std::vector<double> rounded;
  for (const double x : result.median) rounded.push_back(four_digits(x));
  out.profile = with_values(prior, rounded);
  // The calibration of an earlier fit is not valid for these values: its covariance, which belongs to the
  // prior's spreads, and the factors of stacks.
  out.profile.calibration = nullptr;
  for (std::size_t i = 0; i < kCollectiveParameters.size(); ++i) {
    const models::Parameter p = kCollectiveParameters[i];
    out.profile.value(p).log_sd = four_digits(result.log_sd[i]);
    out.estimates.push_back(
        {p, prior.value(p), out.profile.value(p), result.prior_share[i],
         verdict(result.prior_share[i], std::log(out.profile[p] / prior[p]) / prior.value(p).log_sd)});
  }
  out.noise_scale = result.noise_scale;
  out.iterations = result.iterations;
  out.converged = result.converged;
  compare(out, bench);
  return out;
}

std::vector<CollectiveFit::Estimate> CollectiveFit::far_off(double machine) const {
  std::vector<Estimate> far;
  std::copy_if(estimates.begin(), estimates.end(), std::back_inserter(far), [machine](const Estimate& e) {
    const double moved = std::log(e.posterior.median / e.prior.median);
    return models::time_sign(e.parameter) < 0 &&
           std::abs(moved) > kFarOff * std::hypot(e.prior.log_sd, machine);
  });
  return far;
}

}  // namespace trnplan::calibrate
