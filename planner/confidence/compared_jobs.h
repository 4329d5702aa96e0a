// Published jobs of which it is known whether they ran, and the one nearest to a plan.
//
// The distance of two jobs is a sum. It adds |log2| of the ratio of parameters, TP, PP, CP, EP, micro-batch
// and sequence, half of that for virtual pipeline and a quarter for data-parallel ranks. It adds 1 for each
// difference in: the set of recomputed parts, flash attention, sequence parallel, ZeRO-1, further sharding,
// framework, precision, the MLP or experts, cuts by hand against none, kind of machine. The weights are a
// judgement of what changes memory and graphs; they are not fitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

struct ComparedJob {
  std::string id, source;
  std::string known;      ///< "ran", "ran out of memory", "kept a limit of 2.58 GiB a core"
  bool compiled = false;  ///< it ran, so its graphs compiled
  models::Job job;
  models::Strategy strategy;
};

class ComparedJobs {
 public:
  /// Counts the instructions of all graphs that compiled. Cost: microseconds a job.
  ComparedJobs(std::vector<ComparedJob> jobs, const models::Profile& profile);

  /// The nearest job on the same kind of device; the first of equally near ones; nullopt if there is none.
  /// Cost: microseconds.
  [[nodiscard]] std::optional<Experience> nearest(const models::Job& job,
                                                  const models::Strategy& strategy) const;
  /// The largest graph that compiled on the device of `job`, by instructions; 0 if there is none.
  struct LargestGraph {
    std::string id, device;
    double instructions = 0;
  };
  [[nodiscard]] LargestGraph largest_graph(const models::Job& job) const;

 private:
  std::vector<ComparedJob> jobs_;
  std::vector<LargestGraph> largest_;  ///< one for each device
};

}  // namespace trnplan::planner
