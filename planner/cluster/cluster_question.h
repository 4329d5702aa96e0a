// Questions about a cluster over time: how many spares, and which checkpoint interval.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cluster/cluster_estimate.h"

namespace trnplan::planner {

/// The cluster with one setting changed.
struct ClusterOption {
  int value = 0;              ///< of the setting; 0 steps between checkpoints: each job's best number
  OverRuns span;              ///< seconds until the last job ends
  double ended = 0;           ///< share of the runs in which every job ended
  std::optional<double> usd;  ///< of all nodes and spares for the median span; absent without a price
};

struct ClusterOptions {
  std::vector<ClusterOption> rows;  ///< ascending by value
  int recommended = -1;             ///< index; -1: none ends, or nothing was asked
  /// Indices of the others that the runs do not distinguish from it: over the same draws the mean difference in
  /// days is within two standard errors.
  std::vector<int> tied;
};

/// A job of the answer, as it was resolved.
struct AnsweredClusterJob {
  std::string model, strategy;  ///< the strategy as for `simulate --strategy`
  double tokens = 0;
  Seconds low{}, high{};  ///< 90 % interval of the step alone
  double on_spine = 0;    ///< share of its step in which it loads the spine that others share
  /// Mean step while all others train; if not all fit on the cluster, the one of them that slows it most.
  Seconds together{};
  Seconds together_most{};  ///< if the others loaded the spine all the time
};

struct ClusterAnswer {
  std::string instance, scheduler, reliability;
  double oversubscription = 1;
  std::optional<double> usd_per_node_hour;
  int runs = 0;
  ClusterSetup setup;
  std::vector<AnsweredClusterJob> jobs;  ///< in the order of the setup
  bool all_fit = true;                   ///< all jobs fit on nodes and spares at once
  ClusterEstimate estimate;
  ClusterOptions spares, checkpoints;
};

/// USD of nodes and spares for so many seconds.
[[nodiscard]] std::optional<double> cluster_usd(const ClusterSetup& setup,
                                                std::optional<double> usd_per_node_hour, double seconds);

/// The cluster with each number of spares, on the same draws. Recommended is the cheapest at the median, the
/// fewest of equals; without a price the fewest of those within 1 % of the shortest span. Requires: ascending
/// values. Cost: an estimate a value.
[[nodiscard]] ClusterOptions ask_spares(const ClusterSetup& setup, const Reliability& reliability,
                                        const std::vector<int>& values,
                                        std::optional<double> usd_per_node_hour,
                                        const SamplingOptions& options);
/// `setup` with so many steps between the checkpoints of every job; 0: each job's best.
[[nodiscard]] ClusterSetup with_checkpoints(ClusterSetup setup, int steps, const Reliability& reliability);
/// The cluster with each of these. Recommended is the shortest span at the median, which costs least.
[[nodiscard]] ClusterOptions ask_checkpoints(const ClusterSetup& setup, const Reliability& reliability,
                                             const std::vector<int>& values,
                                             std::optional<double> usd_per_node_hour,
                                             const SamplingOptions& options);

}  // namespace trnplan::planner
