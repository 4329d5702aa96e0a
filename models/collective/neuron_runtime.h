// The collectives of the Neuron runtime. The sizes that a profile states select the algorithm.
#pragma once

#include "models/collective/collective_runtime.h"

namespace trnplan::models {

class NeuronRuntime final : public CollectiveRuntime {
 public:
  std::string_view name() const override { return "neuron"; }
  const RuntimeParameters& parameters() const override;
  std::vector<Algorithm> algorithms() const override;
  Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                       Algorithm algorithm) const override;
  std::optional<AlgorithmChoice> choice(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                        Bytes bytes, Algorithm algorithm) const override;
  Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                       const AlgorithmChoice& choice) const override;
  std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const override;
};

}  // namespace trnplan::models
