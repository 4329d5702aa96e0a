// Times of groups of one shape, each found once. Internal to the costs of stages (stage_costs.h).
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collective/collective_memory.h"
#include "models/framework/framework.h"
#include "models/operators/operators.h"
#include "models/step/launched_work.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

/// Kind of a unit sharding, and the ranks over which weights are gathered; zero if they are not gathered by
/// unit, or over all ranks together.
using UnitKey = std::array<int, 2>;

/// Groups of one shape: work on them takes the same time wherever they are. Keeps a reference to the layout.
class GroupClass {
 public:
  GroupClass(const StepLayout& layout, StageGroups groups)
      : layout_(layout), groups_(std::move(groups)), operator_items_(layout.fabric, groups_) {}
  GroupClass(const GroupClass&) = delete;
  GroupClass& operator=(const GroupClass&) = delete;

  SimTime time(const Call& call) { return time(call, groups_.of(call.process_group)); }
  SimTime time(const Call& call, const Groups& groups);
  SimTime time(const Operator& o);
  /// Time of operators of which some run at the same time: overlapped ones are put on the engine, the others
  /// add up.
  SimTime time(const OperatorList& list, double slowdown);

  const StageGroups& groups() const { return groups_; }

  /// A list of operators; the pass may wait for the host besides (HostQueue).
  struct Timed {
    SimTime time;
    Launches launches;
  };
  /// The layers of one micro-batch, and the work before and after them.
  struct Chains {
    Timed embedding, embedding_back, head, head_back, message;
    std::array<Timed, 4> layer,
        layer_back;  ///< by LayerTurn; the first alone if weights are not gathered by unit
  };
  using Key = std::tuple<int, bool, Recompute, bool, Precision, int, const Framework*, UnitKey>;
  /// Also by LayerModel::waits() and overlaps_exchanges().
  std::map<std::tuple<Key, double, bool>, Chains> chains;

 private:
  /// Time on the engine. The same few parts recur: each round of ring attention, under each recompute policy.
  SimTime length_of(const OperatorList& part, double slowdown);

  const StepLayout& layout_;
  StageGroups groups_;
  OperatorItems operator_items_;
  std::map<const Groups*, ScaledLoads> loads_;
  std::map<Call, SimTime> times_;
  std::map<std::vector<double>, SimTime> lengths_;  ///< of parts, by their content
};

}  // namespace trnplan::models
