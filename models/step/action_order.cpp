#include "models/step/action_order.h"
#include "units/index.h"

#include <stdexcept>
#include <vector>

namespace trnplan::models {

namespace {

using Kind = StageAction::Kind;

bool computes(Kind kind) {
  return kind == Kind::forward || kind == Kind::backward || kind == Kind::weights;
}

/// Goes through the stages in waves. `may_go` returns true if a stage's next action is possible, and marks
/// the work that goes with it as done.
template <class MayGo>
void walk(const StageActions& actions, std::vector<std::size_t>& next, ActionVisitor& visitor,
          const MayGo& may_go) {
  for (bool progress = true; progress;) {
    visitor.wave(next);
    progress = false;
    for (std::size_t s = 0; s < actions.size(); ++s) {
      for (; next[s] < actions[s].size(); ++next[s], progress = true) {
        const StageAction& action = actions[s][next[s]];
        if (action.kind == Kind::end_of_step || !may_go(s, action)) break;
        visitor.action(static_cast<int>(s), action);
      }
    }
  }
  for (std::size_t s = 0; s < actions.size(); ++s) {
    if (actions[s][next[s]].kind != Kind::end_of_step)
      throw std::logic_error("the pipeline schedule deadlocks");
  }
  visitor.action(0, kEndOfStep);
}

/// A message goes when both its stages have reached it, so that the order of every queue is the order of its
/// schedule.
void walk_meetings(const StageActions& actions, ActionVisitor& visitor) {
  std::vector<std::size_t> next(actions.size(), 0);
  const auto meets = [&](std::size_t stage, const StageAction& other) {
    if (!(actions[stage][next[stage]] == other)) return false;
    ++next[stage];
    return true;
  };
  walk(actions, next, visitor, [&](std::size_t s, const StageAction& a) {
    if (computes(a.kind)) return true;
    // The stage below does it for both stages.
    if (a.kind == Kind::activation_up) return meets(s + 1, {Kind::activation_down, a.micro_batch});
    return a.kind == Kind::gradient_up && meets(s + 1, {Kind::gradient_down, a.micro_batch});
  });
}

/// Passes wait for the results of other passes.
void walk_passes(const StageActions& actions, const Strategy& strategy, int micro_batches,
                 ActionVisitor& visitor) {
  const int parts = shape_of(strategy).parts();
  std::vector<bool> made(2 * at(parts) * at(micro_batches));
  const auto place = [&](bool forward, int part, int micro_batch) {
    return (at(part) * 2 + (forward ? 1 : 0)) * at(micro_batches) + at(micro_batch);
  };
  std::vector<std::size_t> next(actions.size(), 0);
  walk(actions, next, visitor, [&](std::size_t s, const StageAction& a) {
    if (a.kind == Kind::weights) return true;
    const bool forward = a.kind == Kind::forward;
    const int part = part_of(strategy, static_cast<int>(s), a.chunk), source = forward ? part - 1 : part + 1;
    if (source >= 0 && source < parts && !made[place(forward, source, a.micro_batch)]) return false;
    made[place(forward, part, a.micro_batch)] = true;
    return true;
  });
}

class Calls : public ActionVisitor {
 public:
  explicit Calls(const std::function<void(int, const StageAction&)>& visit) : visit_(visit) {}
  void action(int stage, const StageAction& action) override { visit_(stage, action); }

 private:
  const std::function<void(int, const StageAction&)>& visit_;
};

}  // namespace

LastGradients::LastGradients(const StepParts& parts, int micro_batches) {
  if (!parts.reduces_early()) return;
  const PipelineSchedule& schedule = parts.schedule();
  const Kind makes = schedule.last_pass();
  for (int s = 0; s < parts.stages; ++s) {
    std::vector<StageAction>& last = of_.emplace_back(at(parts.chunks()));
    for (const StageAction& a : schedule.passes(s, shape_of(parts.strategy, micro_batches))) {
      if (a.kind == makes) last[at(a.chunk)] = a;
    }
  }
}

bool LastGradients::is(int stage, const StageAction& action) const {
  return !of_.empty() && of_[at(stage)][at(action.chunk)] == action;
}

void each_action(const StepParts& parts, int micro_batches, ActionVisitor& visitor) {
  const PipelineSchedule& schedule = parts.schedule();
  const PipelineShape shape = shape_of(parts.strategy, micro_batches);
  StageActions actions;
  for (int s = 0; s < parts.stages; ++s)
    actions.push_back(parts.blocking() ? schedule.meetings(s, shape) : schedule.passes(s, shape));
  visitor.start(actions);
  if (parts.blocking()) {
    walk_meetings(actions, visitor);
  } else {
    walk_passes(actions, parts.strategy, micro_batches, visitor);
  }
}

void each_action(const StepParts& parts, int micro_batches,
                 const std::function<void(int, const StageAction&)>& visit) {
  Calls calls(visit);
  each_action(parts, micro_batches, calls);
}

}  // namespace trnplan::models
