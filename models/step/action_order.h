// The actions of all stages of a step in one order: that in which make_program() writes them down. Internal
// to the step model.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "models/framework/schedule.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

/// Of each stage, in the order of its queue: passes, and messages where they are meetings.
using StageActions = std::vector<std::vector<StageAction>>;

/// The pass of each stage and chunk that is the last to make gradients of its weights. Nothing where these are
/// not reduced early (StepParts::reduces_early()).
class LastGradients {
 public:
  LastGradients(const StepParts& parts, int micro_batches);
  bool is(int stage, const StageAction& action) const;

 private:
  std::vector<std::vector<StageAction>> of_;  ///< by stage and chunk
};

/// Before it no weights of the chunk were needed.
[[nodiscard]] inline bool is_first_forward(const StageAction& action) {
  return action.kind == StageAction::Kind::forward && action.micro_batch == 0;
}

/// Who listens to the order.
class ActionVisitor {
 public:
  virtual ~ActionVisitor() = default;
  /// Before everything else.
  virtual void start(const StageActions& actions) { (void)actions; }
  /// Each stage goes as far as it can, then the next one does: a wave. `places`: of each stage in its list.
  virtual void wave(const std::vector<std::size_t>& places) { (void)places; }
  /// Messages under the stage below; the end of the step once, under stage 0.
  virtual void action(int stage, const StageAction& action) = 0;
};

/// Walks through a step of so many micro-batches. Throws std::logic_error when the schedule deadlocks. Cost
/// and memory: O(micro-batches x stages x chunks).
void each_action(const StepParts& parts, int micro_batches, ActionVisitor& visitor);
void each_action(const StepParts& parts, int micro_batches,
                 const std::function<void(int stage, const StageAction& action)>& visit);

}  // namespace trnplan::models
