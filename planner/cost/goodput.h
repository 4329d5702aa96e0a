// Goodput: the share of the wall-clock time of a long run that is progress, with failures, checkpoints and
// restarts.
//
// Failures of the cluster are a Poisson process with mean time between them M = 1 / (nodes x hosts x rate), where
// hosts are those of a node as failing_hosts() counts them. The work of a step counts once a checkpoint that
// contains it is safe. Let tau be the work between checkpoints, delta the stall for each, w the time until an
// asynchronous one is safe (0 otherwise), and R the random length of a recovery, in which a further failure
// starts the recovery anew:
//
//   uptime    U = E[exp(-R/M)]                      share of the time in which the job computes or saves
//   goodput   G = U exp(-w/M) (tau/M) / (exp((tau+delta)/M) - 1)
//
// Derivation: between failures the job runs for a time X, exponential with mean M, and reaches a safe
// checkpoint at w + k (tau+delta), k = 1, 2, ...; the expected number of those before X is exp(-w/M) /
// (exp((tau+delta)/M) - 1). Recovery takes attempts of mean M (1-U), each successful with probability U. For
// constant R and w = 0 this is Daly's equation for the total time. If tau < w, training waits for the write,
// and max(tau, w) replaces tau in the second exponential. That is nearly exact, since the first interval
// after a recovery does not wait. Interruptions of spot nodes add to the rate, and each needs another node:
// with f failures and i interruptions a node and day, M = 1 / (nodes (f + i)), and a recovery waits for a
// node with probability (f share + i) / (f + i). The market takes whole nodes, and what is replaced is a whole
// node too, however many hosts it has. That another spot node can be had is assumed. Valid for failures without
// memory and without correlation between nodes.
// Not modelled: slow nodes, planned maintenance, waiting for the job to be scheduled, silent corruption,
// failures while the checkpoint itself is damaged.
// Sources: J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974.
// J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 22(3), 2006.
#pragma once

#include <cstdint>

#include "planner/cost/reliability.h"
#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::planner {

/// The restart of the job: by an agent such as HyperPod's auto-resume, or by a person.
enum class Recovery { automatic, manual };

/// Most steps between checkpoints that a user may state.
inline constexpr int kMostCheckpointSteps = 1'000'000'000;

/// Properties of a run that matter for failures.
struct RunShape {
  int nodes = 1;
  double hosts = 1;    ///< of a node, as failing_hosts() counts them
  Seconds step{};      ///< of one training step, above 0
  Bytes checkpoint{};  ///< of one checkpoint (models::checkpoint_bytes)
  Seconds work{};      ///< time of all steps without failures
  Recovery recovery = Recovery::automatic;
  bool asynchronous = false;  ///< checkpoints are written while training goes on
  int every_steps = 0;        ///< steps between checkpoints; 0 = the best number
  bool spot = false;          ///< nodes are also interrupted by the spot market
};

/// Accelerators of the hosts whose failures are published.
inline constexpr int kAcceleratorsOfHost = 8;

/// Hosts of a node that fail at failure_rate. The rate is that of hosts of eight GPUs (catalog/reliability.json), and
/// about 78 % of their failures were of hardware (replacement_share there), most of which goes with the
/// accelerators. So a node of one host counts as one, as Trainium's nodes do by the note there; each of several
/// counts as one too, or by its share of eight accelerators if it has fewer: 9 of GB200's rack of 18 hosts of four.
double failing_hosts(const topology::Instance& machine);

/// Parameters of the failure model, at the medians or as one sample.
struct FailureModel {
  Seconds mtbf{};         ///< M, of the whole cluster
  Seconds recovery{};     ///< the part of R that every recovery has
  Seconds replacement{};  ///< added with probability replacement_share
  double replacement_share = 0;
  double interruption_share = 0;  ///< of the failures, those by the spot market
  Seconds person{};               ///< added with probability person_share
  double person_share = 0;
  Seconds stall{};   ///< delta
  Seconds unsafe{};  ///< w

  /// Mean length of one undisturbed recovery.
  Seconds mean_recovery() const;
};

FailureModel failure_model(const Reliability& medians, const RunShape& run);

/// U and G above; between 0 and 1. Cost: constant.
double uptime(const FailureModel& m);
double goodput(const FailureModel& m, Seconds interval);

/// sqrt(2 delta M), Young 1974.
Seconds young_interval(Seconds stall, Seconds mtbf);
/// sqrt(2 delta M) (1 + 1/3 sqrt(delta/2M) + delta/18M) - delta where delta < 2M, else M: Daly 2006, eq. 37.
Seconds daly_interval(Seconds stall, Seconds mtbf);
/// The tau that makes G largest: (1 - tau/M) exp((tau+delta)/M) = 1, by bisection; at least `unsafe`, since
/// one checkpoint is written at a time.
Seconds best_interval(const FailureModel& m);
/// best_interval() in whole steps, at least 1: of the two neighbours the one with the larger G.
int best_steps(const FailureModel& m, Seconds step);

/// One run, event by event: steps up to a checkpoint, saves, failures, recoveries.
struct SimulatedRun {
  Seconds wall{};
  Seconds recovering{};
  int failures = 0;
  double goodput = 0, uptime = 0;
};
/// Deterministic in `seed`. Cost: O(checkpoints + failures); the caller bounds work / interval.
SimulatedRun simulate_run(const FailureModel& m, Seconds interval, Seconds work, std::uint64_t seed);

struct Interval {
  double low = 0, high = 0;
};

/// Goodput below which a run counts as making no progress: a day of work would take 2,700 years.
inline constexpr double kNoProgress = 1e-6;

struct GoodputEstimate {
  /// Medians of simulated runs, goodput 0 below kNoProgress; without draws the closed form at the medians of the
  /// parameters.
  double goodput = 0, uptime = 0;
  Interval goodput_90, uptime_90;  ///< their 5th and 95th percentile
  int every_steps = 0;
  Seconds interval{}, young{}, daly{};  ///< of checkpoints: the one used, and two approximations
  FailureModel model;                   ///< at the medians
};

struct SamplingOptions {
  int draws = 1000;
  std::uint64_t seed = 1;
};

/// Goodput of a run. Each draw takes every parameter from its distribution (stratified, and the same for all runs) and
/// simulates one run with the interval that is best at the medians; a run of more than 300 failures and intervals is
/// drawn from the normal distribution of its length instead (run_spread.h). If a run would need more than a million events, or makes
/// hardly any progress, the closed form at the drawn parameters replaces it. Deterministic. Cost: milliseconds.
GoodputEstimate estimate_goodput(const Reliability& reliability, const RunShape& run,
                                 const SamplingOptions& options = {});

/// The failure_rate at which a run would have this uptime, all else at the medians: U solved for the
/// rate by bisection. Throws std::invalid_argument unless `uptime` is strictly between 0 and 1.
double implied_failure_rate(double uptime, const Reliability& medians, const RunShape& run);

}  // namespace trnplan::planner
