// The lanes of a step's program that take part in a transfer: one lane per stage where all its ranks do the
// same, one per class of ranks where some are slower, or one per core. Internal to the step model.
#pragma once

#include <memory>
#include <vector>

#include "models/step/column_classes.h"
#include "models/step/scenario.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

/// An end of a message over the boundary above stage `boundary`.
struct MessageEnd {
  int boundary = 0;
  bool activation = false;  ///< not a gradient
  bool above = false;       ///< the end at the stage above
};

/// The layout of a step's lanes and transfers.
class Layout {
 public:
  /// A transfer that several lanes of a stage make together.
  struct Share {
    std::vector<int> lanes;
    Fabric::Load load;
    double scale = 0;
  };
  /// The cores that a lane stands for, which do the same.
  struct Cores {
    int first = 0, count = 0;  ///< the first one, and their number
    double factor = 1;         ///< of the time of their work
    NodeState node;            ///< of the node of the first
  };
  virtual ~Layout() = default;
  /// The same for all stages.
  virtual int lanes(int stage) const = 0;
  virtual Cores cores(int stage, int lane) const = 0;
  /// Factor of the time of a lane's work.
  virtual double factor(int /*stage*/, int /*lane*/) const { return 1; }
  /// Data-parallel replica of a lane. Requires: lanes of one replica each, as where times are random.
  virtual int replica(int /*lane*/) const { return 0; }
  /// The item before a lane's first action, or null.
  virtual const Item* late(int /*stage*/, int /*lane*/) const { return nullptr; }
  /// True if each lane can run a pass as one task: the passes of its lanes do not wait for each other, nor
  /// share links.
  virtual bool passes_are_whole() { return false; }
  /// The least detail of a program that takes the same time as one of all operators.
  virtual Detail detail() { return passes_are_whole() ? Detail::passes : Detail::operators; }
  /// A pass as one task of a lane. Requires: passes_are_whole().
  virtual const Item& whole(int /*stage*/, int /*lane*/, const Pass& pass) { return pass.whole; }
  /// Length of that task where the lane's work takes `times` as long as usual.
  virtual SimTime length(int stage, int lane, const Pass& pass, double /*times*/) {
    return whole(stage, lane, pass).length;
  }
  /// A chain of such a pass as it runs on a lane whose work takes `times` as long as usual. The result lives
  /// until the next call.
  virtual const ChainRun& run(int /*stage*/, int /*lane*/, const Chain& chain, double /*times*/) {
    return *chain.run;
  }
  /// Time for which a message over a boundary occupies a queue of one of its ends.
  virtual SimTime hold(const MessageEnd& end, int lane) = 0;
  virtual const Fabric& fabric() const = 0;
  /// The transfers of an item of a stage, with the stage's `shift` applied.
  virtual const std::vector<Share>& shares(int stage, const Item& item) = 0;
  /// The transfers of an item over a boundary: lanes of the stage below first, then those of the stage above.
  virtual const std::vector<Share>& pair_shares(int boundary, const Item& item) = 0;
};

/// A layout with one lane per stage.
std::unique_ptr<Layout> lane_per_stage(const StepParts& parts);
/// A layout with one lane per class of columns.
std::unique_ptr<Layout> lane_per_class(const StepParts& parts, const Scenario& scenario);
/// A layout with one lane per core, for every node and every group.
std::unique_ptr<Layout> lane_per_core(const StepParts& parts, const Scenario& scenario = {});

}  // namespace trnplan::models
