// The network between nodes by a measured all-reduce, in place of what a profile assumes of it.
//
// The share of the NICs is that with which the runtime's model of the same all-reduce (same ranks and bytes)
// gives the measured bus bandwidth: one unknown and one equation, monotone. With e = -d log time / d log share
// there, log-sd(share) = log-sd(measurement) / e.
// On a cluster whose profile knows the effect of its network's states (NetworkState), that law gives the
// share and the host's time in calls of a congested one instead: its all-reduce is that of a run at its start.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan::models {

/// A large message of an all-reduce between nodes: of its time on p5, latency is 9 % on 64 nodes and 15 % on 1,875.
inline constexpr Bytes kLargeMessage(0x1p30);

/// A measurement of which no network follows, and the remedy.
class UnusableMeasurement : public std::invalid_argument {
 public:
  UnusableMeasurement(const std::string& problem, std::string with, bool too_fast = false)
      : std::invalid_argument(problem), fix(std::move(with)), beyond(too_fast) {}
  std::string fix;
  bool beyond;  ///< more than the cluster's network can carry
};

/// The profile of the job's cluster by Job::all_reduce; unchanged if the job has none, or one of another
/// type of machine. The job's framework and cluster decide which factors count. Applying it again changes
/// nothing. Throws UnusableMeasurement: a bandwidth that the nodes cannot have or that is far below theirs,
/// one of messages too small to measure it, or one that something other than the network limits. Cost: some
/// 60 collectives, O(ranks) each.
[[nodiscard]] Profile in_measured_network(Profile profile, const Job& job);

/// The profile of a cluster with that law of its network's states, by an all-reduce measured there. Requires: the
/// law's usual bandwidth is stated; `profile` has the factors of the job. Cost: a copy of the profile.
[[nodiscard]] Profile in_network_state(Profile profile, const NetworkState& law, const Job& job,
                                       const MeasuredAllReduce& measured);

/// The slow state of a network that was not measured.
struct SlowState {
  double probability = 0;
  Profile profile;  ///< of the job's cluster in that state
};

/// The slow state of the job's cluster by SlowNetwork: by the law of the cluster's states if it has one, else
/// by a smaller share of the NICs. Absent on one node, of a measured network, of a site that was measured,
/// and where the profile states none. Cost: a copy of the profile.
[[nodiscard]] std::optional<SlowState> in_slow_network(const Profile& profile, const Job& job);

}  // namespace trnplan::models
