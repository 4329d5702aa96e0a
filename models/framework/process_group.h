// The groups of ranks that a training loop's collectives run on.
#pragma once

namespace trnplan::models {

enum class ProcessGroup {
  none,
  tensor,
  kv_replicas,
  context,
  expert,
  data,          ///< ranks that shard optimizer states: DP x CP
  replicas,      ///< DP only
  expert_data,   ///< like `data`, for the weights of experts: DP x CP x TP / EP / ETP
  shard,         ///< ranks that shard a unit's weights: neighbours within `data`
  shard_copies,  ///< ranks with the same shard, one from each group of `shard`
  pipeline
};

}  // namespace trnplan::models
