#include "models/step/action_order.h"
#include "units/index.h"

#include <vector>

namespace trnplan::models {

namespace {

using Kind = StageAction::Kind;
using Actions = std::vector<std::vector<StageAction>>;
using Visit = std::function<void(int, const StageAction&)>;

bool computes(Kind kind) {
  return kind == Kind::forward || kind == Kind::backward || kind == Kind::weights;
}

/// Messages are meetings.
void meetings_in_order(const Actions& actions, const Visit& visit) {
  std::vector<std::size_t> next(actions.size(), 0);
  const auto waits_for = [&](std::size_t stage, const StageAction& action) {
    return next[stage] < actions[stage].size() && actions[stage][next[stage]] == action;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t s = 0; s < actions.size(); ++s) {
      for (; next[s] < actions[s].size(); ++next[s], progress = true) {
        const StageAction action = actions[s][next[s]];
        if (!computes(action.kind)) {
          const bool up = action.kind == Kind::activation_up, down = action.kind == Kind::gradient_up;
          const Kind other = up ? Kind::activation_down : Kind::gradient_down;
          if (!(up || down) || !waits_for(s + 1, {other, action.micro_batch})) break;
          ++next[s + 1];
        }
        visit(static_cast<int>(s), action);
      }
    }
  }
}

/// Passes wait for what others have made.
void passes_in_order(const Actions& actions, int chunks, int micro_batches, const Visit& visit) {
  const int stages = static_cast<int>(actions.size()), parts = stages * chunks;
  std::vector<bool> made(2 * at(parts) * at(micro_batches));
  const auto place = [&](bool forward, int part, int micro_batch) {
    return (at(part) * 2 + (forward ? 1 : 0)) * at(micro_batches) + at(micro_batch);
  };
  std::vector<std::size_t> next(actions.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < stages; ++s) {
      for (; next[at(s)] < actions[at(s)].size(); ++next[at(s)], progress = true) {
        const StageAction action = actions[at(s)][next[at(s)]];
        if (action.kind != Kind::weights) {
          const bool forward = action.kind == Kind::forward;
          const int part = action.chunk * stages + s, source = forward ? part - 1 : part + 1;
          if (source >= 0 && source < parts && !made[place(forward, source, action.micro_batch)]) break;
          made[place(forward, part, action.micro_batch)] = true;
        }
        visit(s, action);
      }
    }
  }
}

}  // namespace

void each_action(const StepParts& parts, int micro_batches, const Visit& visit) {
  Actions actions;
  for (int s = 0; s < parts.stages; ++s) {
    actions.push_back(parts.blocking()     ? one_f_one_b(s, parts.stages, micro_batches)
                      : parts.chunks() > 1 ? interleaved(s, parts.stages, parts.chunks(), micro_batches)
                                           : zero_bubble(s, parts.stages, micro_batches));
  }
  if (parts.blocking()) {
    meetings_in_order(actions, visit);
  } else {
    passes_in_order(actions, parts.chunks(), micro_batches, visit);
  }
  visit(0, {Kind::weights, -1});
}

}  // namespace trnplan::models
