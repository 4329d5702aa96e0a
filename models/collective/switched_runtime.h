// Collectives of chips behind a switch: rings, whose order does not matter there.
//
// An all-gather or reduce-scatter of G over N ranks is N - 1 steps of G/N, in as many channels as ranks on a
// node, each leaving the node from another one, so that all links and NICs work; an all-reduce is both. An
// all-to-all is one step, a send another. It stands for NCCL,
// of which it has the rings. Not modelled: trees, reductions inside the switch, protocols.
#pragma once

#include "models/collective/collective_runtime.h"

namespace trnplan::models {

namespace switched {
/// By the name of Neuron's: who asks for a ring means a ring.
inline constexpr Algorithm ring{"ring"};
}  // namespace switched

class SwitchedRuntime final : public CollectiveRuntime {
 public:
  std::string_view name() const override { return "nccl"; }
  const RuntimeParameters& parameters() const override;
  std::vector<Algorithm> algorithms() const override { return {switched::ring}; }
  Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                       Algorithm algorithm) const override;
  std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const override;
};

}  // namespace trnplan::models
