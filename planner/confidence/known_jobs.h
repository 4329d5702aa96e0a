// Jobs that others published of which is known whether they ran, and the nearest of them to a plan.
//
// The distance of two jobs is a sum: |log2| of the ratio of parameters, TP, PP, CP, EP, micro-batch and
// sequence, half of that for virtual pipeline and a quarter for data-parallel ranks; 1 for each of: another set
// of what is recomputed, flash attention, sequence parallel, ZeRO-1, what is sharded besides, framework, precision, the MLP or experts, cuts by hand
// where the other has none, another kind of machine. A judgement of what changes memory and graphs, not fitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

struct KnownJob {
  std::string id, source;
  std::string known;      ///< "ran", "ran out of memory", "kept a limit of 2.58 GiB a core"
  bool compiled = false;  ///< it ran, so its graphs compiled
  models::Job job;
  models::Strategy strategy;
};

class KnownJobs {
 public:
  /// Counts the instructions of all that compiled. Cost: microseconds a job.
  KnownJobs(std::vector<KnownJob> jobs, const models::Profile& profile);

  /// Of those on the job's kind of device; of equally near ones the first; nullopt where there is none. Cost: microseconds.
  [[nodiscard]] std::optional<Experience> nearest(const models::Job& job,
                                                  const models::Strategy& strategy) const;
  /// Of those that compiled on the device of `job`, the instructions of the largest graph; 0 where there is none.
  struct LargestGraph {
    std::string id, device;
    double instructions = 0;
  };
  [[nodiscard]] LargestGraph largest_graph(const models::Job& job) const;

 private:
  std::vector<KnownJob> jobs_;
  std::vector<LargestGraph> largest_;  ///< of each device
};

}  // namespace trnplan::planner
