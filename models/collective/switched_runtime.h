// Collectives of chips behind a switch, as NCCL runs them.
//
// Its own tuning chooses ring, tree, NVLS, NVLSTree or PAT, and protocol LL, LL128 or Simple
// (models/collective/nccl_tuning.h); each is stages of messages (models/collective/nccl_stages.h). An all-gather or
// reduce-scatter of G over N ranks by rings is N - 1 steps of G/N, in as many channels as ranks on a node, each
// leaving the node through another NIC, so that all links and all rails work; an all-reduce is both. An
// all-to-all is one step, a send another. EFA's plugin shows in what the machine says of its network
// (Instance::network_latency). Not modelled: the multiprocessors that channels take from compute, and the plugin's
// own regions of sizes where it decides instead.
#pragma once

#include "models/collective/collective_runtime.h"

namespace trnplan::models {

namespace switched {
/// By the name of Neuron's: who asks for a ring means a ring.
inline constexpr Algorithm ring{"ring"};
inline constexpr Algorithm tree{"tree"}, in_switch{"nvls"}, in_switch_tree{"nvls-tree"},
    logarithmic_tree{"pat"};
}  // namespace switched

class SwitchedRuntime final : public CollectiveRuntime {
 public:
  std::string_view name() const override { return "nccl"; }
  const RuntimeParameters& parameters() const override;
  Latencies latencies(const Profile& profile, int protocol) const override;
  std::vector<Algorithm> algorithms() const override;
  Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                       Algorithm algorithm) const override;
  std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const override;
};

}  // namespace trnplan::models
