// The groups of ranks that a training loop's collectives run on.
#pragma once

namespace trnplan::models {

enum class ProcessGroup {
  none,
  tensor,
  kv_replicas,
  context,
  expert,
  data,         ///< over which optimizer states are sharded: DP x CP
  replicas,     ///< DP alone
  expert_data,  ///< as data, for the weights of experts: DP x CP / EP
  pipeline
};

}  // namespace trnplan::models
