// The strategies a job may use.
#pragma once

#include <vector>

#include "models/job.h"

namespace trnplan::planner {

/// Every strategy of the job's cluster that NxDT can express, in canonical form (models::canonical) and
/// order, each once: TP up to the cores of a node, PP up to the layers, DP what is left, micro-batches that
/// divide the batch of a data-parallel rank (1 where none does), sequence parallel on and off, recompute none
/// / CoreAttention / CoreAttention+LlamaMLP / full. Pins fix a part; what is pinned is taken as it is, legal
/// or not. ZeRO-1, precision, context, expert and virtual pipeline parallel stay at their defaults unless
/// pinned. No rule is applied here.
std::vector<models::Strategy> enumerate(const models::Job& job);

/// The defaults of the strategy grammar for this job: everything 1, SP when TP > 1, ZeRO-1, no recompute, KV
/// replication max(1, TP / KV heads), flash attention as the model's shipped config; then the pins; DP what
/// is left of the cluster.
models::Strategy default_strategy(const models::Job& job);

}  // namespace trnplan::planner
