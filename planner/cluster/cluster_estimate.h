// Days, goodput and node hours of the jobs of a cluster over many runs, and the same with other settings.
#pragma once

#include <vector>

#include "planner/cluster/cluster_run.h"

namespace trnplan::planner {

/// A number over all runs; infinite in runs in which a job does not end, its goodput 0.
struct OverRuns {
  double median = 0;
  Interval ninety;  ///< 5th and 95th percentile
};

struct JobEstimate {
  OverRuns wall, queued, recovering;  ///< seconds
  OverRuns failures, node_seconds, goodput;
  double alone = 0;  ///< goodput by the closed form: the job alone, without waiting, at the medians
};

struct ClusterEstimate {
  std::vector<JobEstimate> jobs;  ///< in the order of the setup
  OverRuns span, use;             ///< the span in seconds
  double ended = 0;               ///< share of the runs in which every job ended
  std::vector<double> spans;      ///< of each run, in the order of the draws
  double given_up = 0;            ///< seconds at which the others were given up, their median
};

/// Each run draws the failure parameters and the error of all steps from their distributions; run i of two
/// setups with the same jobs draws the same. Deterministic. Cost: options.draws runs.
ClusterEstimate estimate_cluster(const ClusterSetup& setup, const Reliability& reliability,
                                 const SamplingOptions& options = {});

/// Steps between checkpoints that lose least, for the job alone at the medians (best_steps).
int best_checkpoint_steps(const ClusterJob& job, const Reliability& reliability);

}  // namespace trnplan::planner
