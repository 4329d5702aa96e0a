// Which lanes of a step's program take part in a transfer: one lane per stage where all its ranks do the same,
// or one per core. Internal to the step model.
#pragma once

#include <memory>
#include <vector>

#include "models/step/step_parts.h"

namespace trnplan::models {

/// How a step's lanes and transfers are laid out.
class Layout {
 public:
  /// A transfer that a set of lanes of a stage make together.
  struct Share {
    std::vector<int> lanes;
    Fabric::Load load;
    double scale = 0;
  };
  virtual ~Layout() = default;
  virtual int lanes(int stage) const = 0;
  virtual const Fabric& fabric() const = 0;
  /// The transfers of an item of a stage; `shift` of the stage is applied.
  virtual const std::vector<Share>& shares(int stage, const Item& item) = 0;
  /// The same over a boundary: lanes of the stage below first, then those of the stage above.
  virtual const std::vector<Share>& pair_shares(int boundary, const Item& item) = 0;
};

/// One lane per stage.
std::unique_ptr<Layout> lane_per_stage(const StepParts& parts);
/// One lane per core, every node and every group of its own.
std::unique_ptr<Layout> lane_per_core(const StepParts& parts);

}  // namespace trnplan::models
