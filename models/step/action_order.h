// The order of the actions of all stages of a step, in which make_program() writes them. Internal to the step
// model.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "models/framework/schedule.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

/// Actions of each stage, in the order of its queue: passes, and messages where they are meetings.
using StageActions = std::vector<std::vector<StageAction>>;

/// The last pass of each stage and chunk that makes gradients of its weights. Empty where these are not
/// reduced early (StepParts::reduces_early()).
class LastGradients {
 public:
  LastGradients(const StepParts& parts, int micro_batches);
  bool is(int stage, const StageAction& action) const;

 private:
  std::vector<std::vector<StageAction>> of_;  ///< by stage and chunk
};

/// True if the action is the first to need the weights of its chunk.
[[nodiscard]] inline bool is_first_forward(const StageAction& action) {
  return action.kind == StageAction::Kind::forward && action.micro_batch == 0;
}

/// A receiver of the actions in their order.
class ActionVisitor {
 public:
  virtual ~ActionVisitor() = default;
  /// Called before everything else.
  virtual void start(const StageActions& actions) { (void)actions; }
  /// Called at the start of a wave, in which each stage in turn goes as far as it can. `places` has the
  /// position of each stage in its list.
  virtual void wave(const std::vector<std::size_t>& places) { (void)places; }
  /// Called for each action. A message belongs to the stage below; the end of the step comes once, for stage
  /// 0.
  virtual void action(int stage, const StageAction& action) = 0;
};

/// Walks through a step of `micro_batches` micro-batches. Throws std::logic_error when the schedule
/// deadlocks. Cost and memory: O(micro-batches x stages x chunks).
void each_action(const StepParts& parts, int micro_batches, ActionVisitor& visitor);
void each_action(const StepParts& parts, int micro_batches,
                 const std::function<void(int stage, const StageAction& action)>& visit);

}  // namespace trnplan::models
