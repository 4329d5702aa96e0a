// cluster: several jobs on one cluster over time, with failures, spares, repairs and a scheduler.
//
// The step of each job is that of `simulate`, or of the plan that `plan` recommends, on its nodes. Jobs of
// several nodes share the spine of the cluster, whose capacity is that of all NICs over `oversubscription`, s.
// Of N nodes, n have all of it when they are alone, so their share of it per NIC is that of a spine
// oversubscribed max(1, s n / N); while a job of m nodes loads it too, of one of max(1, s (n + m) / N), as
// fair sharing gives. Both steps are predicted. The other job loads the spine for a share of its own step: the
// seconds of its collectives between nodes along the critical path. On average a step then takes
//
//   alone + share (shared - alone)
//
// which takes the two jobs' phases for independent, and leaves out traffic that is hidden behind computing; but no step
// is shorter than all its traffic takes at the rate that the other's leaves. If much is hidden, the truth lies nearer
// to `shared`, which the answer has too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "planner/cluster/cluster_question.h"
#include "planner/search/advisor.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Texts as a user writes them; empty = not stated.
struct ClusterRequest {
  std::string file;
  StatedFiles texts;             ///< `file`, and files that it names, if in memory
  std::string profile;           ///< "" = the catalogue's for the machine
  std::string spares;            ///< "0..8", "0,2,4": asks for each of them
  std::string checkpoint_steps;  ///< "best,100,200", "50..800" by doubling: likewise
  std::string pricing = "usual";
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
  int runs = 1000, seed = 1;
};

/// Throws InputError with every fault of the request and of the files that it names.
[[nodiscard]] planner::ClusterAnswer cluster(const ClusterRequest& request, Remarks& remarks);

}  // namespace trnplan::api
