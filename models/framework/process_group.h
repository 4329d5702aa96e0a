// The groups of ranks that a training loop's collectives run on.
#pragma once

namespace trnplan::models {

enum class ProcessGroup {
  none,
  tensor,
  kv_replicas,
  context,
  expert,
  data,          ///< over which optimizer states are sharded: DP x CP
  replicas,      ///< DP alone
  expert_data,   ///< as data, for the weights of experts: DP x CP / EP
  shard,         ///< over which a unit's weights are sharded: neighbours of `data`
  shard_copies,  ///< the same shard in each of the groups of `shard`
  pipeline
};

}  // namespace trnplan::models
