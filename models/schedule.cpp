#include "models/schedule.h"

#include <algorithm>

namespace trnplan::models {

namespace {

using Kind = StageAction::Kind;

/// Forwards and backwards of a stage, without communication.
std::vector<StageAction> compute_order(int warm_up, int micro_batches) {
  std::vector<StageAction> order;
  int forward = 0, backward = 0;
  while (forward < warm_up) order.push_back({Kind::forward, forward++});
  while (forward < micro_batches) {
    order.push_back({Kind::forward, forward++});
    order.push_back({Kind::backward, backward++});
  }
  while (backward < micro_batches) order.push_back({Kind::backward, backward++});
  return order;
}

}  // namespace

std::vector<StageAction> one_f_one_b(int stage, int stages, int micro_batches) {
  const bool below = stage > 0, above = stage < stages - 1;
  const int warm_up = std::min(stages - 1 - stage, micro_batches);
  std::vector<StageAction> actions;
  StageAction pending{};  // the result of the previous computation, not sent yet
  bool has_pending = false;
  const auto send = [&] {
    if (!has_pending) return;
    has_pending = false;
    if (pending.kind == Kind::forward && above) actions.push_back({Kind::activation_up, pending.micro_batch});
    if (pending.kind == Kind::backward && below)
      actions.push_back({Kind::gradient_down, pending.micro_batch});
  };
  for (const StageAction& step : compute_order(warm_up, micro_batches)) {
    // A warm-up activation goes out at once: the next stage needs it before it can return a gradient.
    const bool send_first = has_pending && (pending.kind == Kind::backward || pending.micro_batch < warm_up);
    if (step.kind == Kind::forward) {
      send();
      if (below) actions.push_back({Kind::activation_down, step.micro_batch});
    } else {
      if (send_first) send();
      if (above) actions.push_back({Kind::gradient_up, step.micro_batch});
      send();
    }
    actions.push_back(step);
    pending = step;
    has_pending = true;
  }
  send();
  return actions;
}

}  // namespace trnplan::models
