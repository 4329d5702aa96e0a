#include "models/framework/schedule.h"

#include <algorithm>
#include <stdexcept>

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

/// Adds sends and receives to a stage's computations.
std::vector<StageAction> with_transfers(const std::vector<StageAction>& order, int warm_up, bool below,
                                        bool above) {
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
  for (const StageAction& step : order) {
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

}  // namespace

std::vector<StageAction> one_f_one_b(int stage, int stages, int micro_batches) {
  const int warm_up = std::min(stages - 1 - stage, micro_batches);
  return with_transfers(compute_order(warm_up, micro_batches), warm_up, stage > 0, stage < stages - 1);
}

std::vector<StageAction> zero_bubble(int stage, int stages, int micro_batches) {
  const int warm_up = std::min(stages - 1 - stage, micro_batches);
  // The gradient of the weights lags behind by the stage's place: the last stages have the most to fill at
  // the end, the first one fills nothing and lags not at all.
  std::vector<StageAction> order;
  int weights = 0;
  for (const StageAction& step : compute_order(warm_up, micro_batches)) {
    order.push_back(step);
    if (step.kind == Kind::backward && step.micro_batch >= weights + stage)
      order.push_back({Kind::weights, weights++});
  }
  while (weights < micro_batches) order.push_back({Kind::weights, weights++});
  return order;
}

std::vector<StageAction> interleaved(int stage, int stages, int chunks, int micro_batches) {
  if (micro_batches % stages != 0) {
    throw std::invalid_argument(
        "the interleaved schedule needs a multiple of the pipeline's stages as micro-batches");
  }
  const int all = micro_batches * chunks;
  const int warm_up =
      micro_batches == stages ? all : std::min(2 * (stages - 1 - stage) + (chunks - 1) * stages, all);
  const auto nth = [&](int n, bool forward) {
    const int round = n / (stages * chunks), within = n % (stages * chunks);
    const int chunk = forward ? within / stages : chunks - 1 - within / stages;
    return StageAction{forward ? Kind::forward : Kind::backward, round * stages + within % stages, chunk};
  };
  std::vector<StageAction> order;
  int forward = 0, backward = 0;
  while (forward < warm_up) order.push_back(nth(forward++, true));
  while (forward < all) {
    order.push_back(nth(forward++, true));
    order.push_back(nth(backward++, false));
  }
  while (backward < all) order.push_back(nth(backward++, false));
  return order;
}

}  // namespace trnplan::models
