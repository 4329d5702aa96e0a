// The lanes of a step's program that take part in a transfer: one lane per stage where all its ranks do the
// same, or one per core. Internal to the step model.
#pragma once

#include <memory>
#include <vector>

#include "models/step/step_parts.h"

namespace trnplan::models {

/// The layout of a step's lanes and transfers.
class Layout {
 public:
  /// A transfer that several lanes of a stage make together.
  struct Share {
    std::vector<int> lanes;
    Fabric::Load load;
    double scale = 0;
  };
  virtual ~Layout() = default;
  virtual int lanes(int stage) const = 0;
  virtual const Fabric& fabric() const = 0;
  /// The transfers of an item of a stage, with the stage's `shift` applied.
  virtual const std::vector<Share>& shares(int stage, const Item& item) = 0;
  /// The transfers of an item over a boundary: lanes of the stage below first, then those of the stage above.
  virtual const std::vector<Share>& pair_shares(int boundary, const Item& item) = 0;
};

/// A layout with one lane per stage.
std::unique_ptr<Layout> lane_per_stage(const StepParts& parts);
/// A layout with one lane per core, for every node and every group.
std::unique_ptr<Layout> lane_per_core(const StepParts& parts);

}  // namespace trnplan::models
