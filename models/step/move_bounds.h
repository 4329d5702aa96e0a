// Bounds of steps that differ from one in two stages. Internal to the distribution of layers (layer_split.h).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/step/pipeline_time.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Bounds of a step with messages that are meetings of both their stages, some of whose layers are moved from one
/// stage to another.
///
/// step_bound() goes through the stages from the first on with two times, `before` and `drain`. What a stage makes of
/// each is a maximum of sums, and so is what several stages make of them. So the stages above one are known together,
/// as are those below, and one bound takes as long as two stages. Ticks are integers, whose sums have no order: the
/// bounds are those of step_bound().
class MoveBounds {
 public:
  /// Keeps a reference to `costs`, which must stay as they are. Cost: O(stages).
  explicit MoveBounds(const StepCosts& costs);

  /// Gives stage `from` another cost, instead of the stage that was given one before. Cost: O(stages).
  void take_from(int from, const StageCost& cost);
  /// The bound if another stage has another cost too. Throws std::overflow_error beyond the clock. Cost: O(1).
  SimTime give_to(int to, const StageCost& cost) const;

 private:
  /// Ticks of a stage.
  struct Stage {
    std::int64_t waits, ready, up, down, reduced;  ///< each with what comes before it on the stage
    std::int64_t passes, end, tail;
  };
  /// Times that the stages below one make of the start of a step.
  struct Below {
    std::int64_t most = 0, before = 0, drain = 0, tail = 0;
    void add(const Stage& s);
  };
  /// Sums that a stage and those above it make of `before` and `drain`: the largest of the sums with one of them, both,
  /// and none.
  struct Above {
    static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min() / 2;
    std::int64_t with_before = kNothing, with_both = kNothing, with_drain = kNothing, with_none = kNothing;
    std::int64_t tail = 0;
    Above and_below(const Stage& s) const;
    std::int64_t most(const Below& b) const;
  };

  Stage stage(int i, const StageCost& cost) const;
  double size(const StageCost& cost) const;

  const StepCosts& costs_;
  int count_;
  double size_;                           ///< no sum is larger, but for what a move adds
  std::vector<SimTime> messages_;         ///< by stage, of a micro-batch
  std::vector<Stage> stages_;             ///< empty if sums may leave the range of the clock
  std::vector<Below> below_, new_below_;  ///< by stage; as the costs are; with the layer taken away
  std::vector<Above> above_, new_above_;
  int from_ = 0;
  StageCost taken_{};
};

}  // namespace trnplan::models
