// The strategies a job may use.
#pragma once

#include <functional>
#include <vector>

#include "models/framework/framework.h"
#include "models/job/job.h"
#include "planner/plan/target.h"

namespace trnplan::planner {

/// Every strategy of the job's cluster that its framework offers, in canonical form (models::canonical) and
/// order, each once: TP up to the cores of a node, CP that leaves multiples of 1024 tokens, PP up to the
/// layers, VPP that leaves equal chunks (2 to 4 where none does), DP what is left, EP that divides experts
/// and DP, micro-batches that divide the batch of a data-parallel rank (1 where none does), sequence parallel
/// on and off, flash and plain attention, what the framework can recompute (of single layers every second, where each
/// stage has an even number), each schedule. Precision and ZeRO-1 only where the job frees them. Pins fix a part; what
/// is pinned is taken as it is, legal or not. No other rule is applied here.
///
/// Four parts are not enumerated. The depth of the runtime's queue (models::Software::in_flight) is that of the
/// job: from two requests on none changes the time, and one request takes longer (tests/property). Pipeline cuts are optimised for each strategy
/// (models::StepBounds::best_layers). The KV replicator is the smallest that TP allows and the bucket the
/// largest that works: more copies and smaller buckets only add work (tests/property). The placement of ranks
/// is NxD's own (topology::RankOrder), which no setting changes; which node gets which rank makes no
/// difference behind a non-blocking fabric.
std::vector<models::Strategy> enumerate(const models::Job& job);
/// The same one by one, in no order and some more than once, until `found` returns false; then false.
bool each_strategy(const models::Job& job, const std::function<bool(const models::Strategy&)>& found);

/// What it can recompute besides classes of modules and all, first what takes the least time: with flash attention
/// SelectiveOp, and every second layer.
std::vector<models::Recompute> recomputes_besides(const models::Framework& framework, bool flash);

/// The strategies among which a plan is sought.
struct Space {
  std::vector<models::Strategy> strategies;  ///< in canonical order
  int inexpressible = 0;                     ///< left out, because the target cannot say them
  /// The target can say no strategy of the job; then none is left out.
  bool beyond_target = false;
  bool complete =
      true;  ///< `stop` did not end the enumeration; else those of the highest degrees, some 65,000
};
/// What enumerate() gives without what the target cannot say; null: nothing is left out. `stop` is asked now and then.
Space space_of(const models::Job& job, const Target* target, const std::function<bool()>& stop = {});

/// The global batch a strategy uses: the job's, or of a free range the largest that it divides, because more
/// micro-batches never take longer per token. The end of the range where none divides.
int batch_of(const models::Job& job, const models::Strategy& s);

/// The defaults of the strategy grammar for this job: everything 1, SP when TP > 1, ZeRO-1, no recompute, KV
/// replication max(1, TP / KV heads), flash attention as the model's shipped config; then the pins; DP what
/// is left of the cluster.
models::Strategy default_strategy(const models::Job& job);

}  // namespace trnplan::planner
