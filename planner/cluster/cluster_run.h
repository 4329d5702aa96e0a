// A cluster over time: several jobs on one cluster whose nodes fail, with spare nodes, repairs, checkpoints and
// a scheduler that starts failed jobs again.
//
// The simulation goes from event to event: a job is submitted, fails, is noticed, gets nodes, starts again,
// ends; a node comes back from repair. Between events a job trains in closed form (planner/cluster/progress.h),
// so a run of months costs its failures alone, however many steps and checkpoints it has.
//
// Failures strike the nodes that a job uses, at the rate of planner/cost/goodput.h for each, from its start until
// the scheduler has noticed a failure. Each takes a whole node. A node in repair is down, and idle ones do not
// fail, whether they are free or kept by a job that waits: that is one rule for all schedulers. A failure needs
// another node with probability replacement_share, and a person with person_share. Interruptions of spot nodes count
// as in planner/cost/goodput.h; another node comes after `replacement`, not after a repair. A failure is noticed and
// answered as the scheduler's rule says (planner/cluster/requeue.h); then the broken node goes to repair, and the job
// waits for free nodes: a spare, or one that comes back. Then it needs the restart and the loading of its checkpoint. A
// failure meanwhile begins the recovery anew. The first start is free, as in planner/cost/goodput.h, whose closed form
// is the special case of one job, no spare, a rule that keeps nodes and adds no time, and a repair of `replacement`.
//
// A job's step may be longer while others train: `slowed` has the seconds that each adds. Added up over
// several, they are a first order.
//
// Not modelled: jobs that preempt each other, backfill (a run of months has no time limit that would fit before
// the next), a file system that two jobs write to at once, slow nodes, planned maintenance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/uncertainty/mixture.h"
#include "planner/cluster/requeue.h"
#include "planner/cost/goodput.h"
#include "planner/cost/reliability.h"
#include "units/quantity.h"

namespace trnplan::planner {

struct ClusterJob {
  std::string name;
  int nodes = 1;
  double hosts = 1;  ///< of a node, as failing_hosts() counts them
  int priority = 0;  ///< the higher one starts first; of equals the one that waits longer
  Seconds submitted{};
  Seconds step{};  ///< alone on the cluster, above 0; where its network was not measured, in the usual state
  models::Mixture error;  ///< of the logarithm of the step over `step`; empty: none
  double steps = 0;       ///< of the whole run, at least 1
  int every_steps = 1;    ///< steps between checkpoints
  Bytes checkpoint{};
  bool asynchronous = false;
  bool spot = false;  ///< its nodes are also interrupted by the spot market
};

/// The job as its failure model sees it (failure_model()).
[[nodiscard]] RunShape shape_of(const ClusterJob& job);

struct ClusterSetup {
  int nodes = 1;  ///< without spares
  int spares = 0;
  std::optional<Seconds> repair;  ///< of a node; none: Reliability's `replacement`
  int repair_slots = 0;           ///< nodes repaired at a time; 0: all
  std::vector<ClusterJob> jobs;   ///< each needs at most all nodes and spares
  /// [j][k]: seconds that a step of job j takes longer while job k trains. Empty: none.
  std::vector<std::vector<Seconds>> slowed;
  std::shared_ptr<const RequeueRule> rule;  ///< never null
};

/// A job in one run.
struct JobRun {
  Seconds wall{};        ///< from its submission to its end; infinite if the run gave up before
  Seconds queued{};      ///< without the nodes it needs, before its first start and after failures
  Seconds recovering{};  ///< from failures until it trains again, without what is in `queued`
  int failures = 0;
  double node_seconds = 0;  ///< of the nodes that it held
  double goodput = 0;       ///< time of its steps alone over the time since its first start
};

struct ClusterRun {
  std::vector<JobRun> jobs;  ///< in the order of the setup
  Seconds span{};            ///< until the last job ends; infinite if one does not
  Seconds given_up{};        ///< the last instant simulated, if a job does not end
  double use = 0;            ///< share of the time of all nodes and spares in which a job trained
  std::uint64_t events = 0;
};

/// Longest run, and most failures of one job.
inline constexpr Seconds kLongestRun{100 * 365 * kDay};
inline constexpr int kMostFailures = 100'000;

/// One run with these parameters. `stretch`: factor of the steps of each job; empty: 1. Deterministic in `seed`. It
/// gives up a job that at its pace since its first start, from 256 failures on, would need more than twice kLongestRun or
/// kMostFailures, and all of them after kLongestRun or a million events. Cost: O(jobs) an event.
ClusterRun simulate_cluster(const ClusterSetup& setup, const Reliability& reliability, std::uint64_t seed,
                            std::vector<double> stretch = {});

}  // namespace trnplan::planner
