// The strategies a job may use.
#pragma once

#include <functional>
#include <vector>

#include "models/framework/framework.h"
#include "models/job/job.h"
#include "planner/plan/target.h"

namespace trnplan::planner {

/// True if the job runs on GPUs, where rules of NxD's send and receive and of its kernels do not apply.
bool on_gpus(const models::Job& job);
/// Tokens of a tile of NxD's ring-attention kernel (kernels/ring_attention_kernel.py).
inline constexpr int kContextTile = 1024;
/// True if each of so many context-parallel ranks gets what its kernel takes: whole tiles, or on GPUs two equal
/// pieces of the sequence (NVIDIA/Megatron-LM@d98e8a6:megatron/training/arguments.py).
bool context_divides(const models::Job& job, int context);

/// Every strategy of the job's cluster that its framework offers, each once, in canonical form
/// (models::canonical) and order. It varies:
/// - TP, up to the cores of a node
/// - CP that context_divides(), where it leaves 1024 tokens or more
/// - PP, up to the layers
/// - VPP that leaves equal chunks (2 to 4 where none does)
/// - DP, which is the rest of the cluster
/// - EP that divides the experts, and DP x CP (x TP / ETP)
/// - micro-batches that divide the batch of a data-parallel rank (1 where none does)
/// - sequence parallel on and off, flash and plain attention
/// - the recomputation that the framework offers (of single layers every second, where each stage has an even
///   number)
/// - schedules
/// - precision and ZeRO-1, where the job leaves them free
/// A pin fixes a part and is taken as it is, legal or not. No other rule is applied here.
///
/// Four parts are not enumerated. The depth of the runtime's queue (models::Software::in_flight) is the
/// job's: from two requests on none changes the time, and one request takes longer (tests/property). Pipeline
/// cuts are optimised for each strategy (models::StepBounds::best_layers). The KV replicator is the smallest
/// that TP allows and the bucket the largest that works: more copies and smaller buckets only add work
/// (tests/property). The placement of ranks is NxD's own (topology::RankOrder), which no setting changes.
/// Behind a non-blocking fabric it makes no difference which node gets which rank.
std::vector<models::Strategy> enumerate(const models::Job& job);
/// Calls `found` with the same strategies, in no order and some more than once, until it returns false. False
/// if it did.
bool each_strategy(const models::Job& job, const std::function<bool(const models::Strategy&)>& found);

/// Kinds of recomputation that the framework offers besides sets of module classes and all, the fastest
/// first: SelectiveOp with flash attention, and every second layer.
std::vector<models::Recompute> recomputes_besides(const models::Framework& framework, bool flash);

/// The strategies that a plan is chosen from.
struct Space {
  std::vector<models::Strategy> strategies;  ///< in canonical order
  int inexpressible = 0;                     ///< number left out because the target cannot express them
  /// True if the target can express no strategy of the job; then none is left out.
  bool beyond_target = false;
  /// False if `stop` ended the enumeration: then `strategies` are those of the highest degrees, some 65,000.
  bool complete = true;
};
/// Strategies of enumerate() that the target can express; null: all. `stop` is called now and then.
Space space_of(const models::Job& job, const Target* target, const std::function<bool()>& stop = {});
/// Space::beyond_target alone. Cost: up to the first strategy that the target can express.
bool is_beyond_target(const models::Job& job, const Target* target, const std::function<bool()>& stop = {});
/// Calls `found` with the strategies of space_of(), in no order and some more than once, until it returns
/// false. `beyond_target`: as is_beyond_target() says. Cost: that of the strategies visited, without a list.
void each_in_space(const models::Job& job, const Target* target, bool beyond_target,
                   const std::function<bool(const models::Strategy&)>& found);

/// The global batch of a strategy: the job's. Where the job gives a range, it is the largest that the
/// data-parallel ranks and the micro-batch divide, because more micro-batches never take longer per token;
/// the end of the range where they divide none.
int batch_of(const models::Job& job, const models::Strategy& s);

/// Default of the strategy grammar for this job: everything 1, SP when TP > 1, ZeRO-1, no recompute, KV
/// replication max(1, TP / KV heads), flash attention as in the model's shipped config. The job's pins
/// replace these, and DP is the rest of the cluster.
models::Strategy default_strategy(const models::Job& job);

}  // namespace trnplan::planner
