// Collectives of chips behind a switch, in NCCL's form.
//
// A model of NCCL's tuning chooses ring, tree, NVLS, NVLSTree or PAT, and protocol LL, LL128 or Simple
// (models/collective/nccl_tuning.h). Each is a list of stages of messages (models/collective/nccl_stages.h).
// An all-gather or reduce-scatter of G over N ranks by rings is N - 1 steps of G/N, in as many channels as
// ranks on a node. Each channel leaves the node through another NIC, so that all links and all rails work. An
// all-reduce is both. An all-to-all is one step, a send another. EFA's plugin enters through the machine's
// network values (Instance::network_latency). Not modelled: the multiprocessors that channels take from
// compute, and the ranges of sizes in which the plugin decides instead.
#pragma once

#include "models/collective/collective_runtime.h"

namespace trnplan::models {

namespace switched {
/// The ring, by the same name as Neuron's: a request for a ring is valid on both.
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
  using CollectiveRuntime::describe;
  Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                       Algorithm algorithm) const override;
  std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const override;
};

}  // namespace trnplan::models
