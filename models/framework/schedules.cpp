// All schedules, and the table of them at the end.
//
// Source of 1F1B and interleaved: aws-neuron/neuronx-distributed fbac349
// src/neuronx_distributed/pipeline/scheduler.py, pipeline/comm.py.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "models/framework/schedule.h"

namespace trnplan::models {

namespace {

using Kind = StageAction::Kind;
using Actions = std::vector<StageAction>;

/// `warm_up` forwards, then forward and backward in turn, then the backwards that are left.
Actions in_turn(int warm_up, int micro_batches) {
  Actions order;
  int forward = 0, backward = 0;
  while (forward < warm_up) order.push_back({Kind::forward, forward++});
  while (forward < micro_batches) {
    order.push_back({Kind::forward, forward++});
    order.push_back({Kind::backward, backward++});
  }
  while (backward < micro_batches) order.push_back({Kind::backward, backward++});
  order.push_back(kEndOfStep);
  return order;
}

/// Adds sends and receives to a stage's computations, of which the first `warm_up` are forwards that the next
/// stage needs before it can return a gradient.
Actions with_messages(const Actions& order, int warm_up, bool below, bool above) {
  Actions actions;
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
    } else if (step.kind == Kind::backward) {
      if (send_first) send();
      if (above) actions.push_back({Kind::gradient_up, step.micro_batch});
      send();
    } else {
      send();
    }
    actions.push_back(step);
    pending = step;
    has_pending = true;
  }
  return actions;
}

/// Residency of a stage with a constant number of live passes, each over the same number of layers.
Residency always(int passes, int layers) {
  const Alive most{passes, passes * layers};
  return {most, most, {}};
}

/// Shape with at most as many micro-batches as a schedule takes to become steady.
PipelineShape few(PipelineShape shape) {
  shape.micro_batches = std::min(shape.micro_batches, 4 * shape.stages);
  return shape;
}

/// Residency of a walk through passes with a split backward, one after the other.
Residency walked(const Actions& passes, std::span<const int> layers) {
  Residency all;
  Alive now;
  // A stage may have no layers.
  const auto more = [&](const Alive& than) {
    return std::pair(now.layers, now.passes) > std::pair(than.layers, than.passes);
  };
  for (const StageAction& a : passes) {
    const auto chunk = static_cast<std::size_t>(a.chunk);
    if (a.kind == Kind::forward) {
      ++now.passes;
      now.layers += layers[chunk];
      if (chunk + 1 == layers.size() && more(all.at_loss)) all.at_loss = now;
    } else if (a.kind == Kind::backward) {
      now.deferred += layers[chunk];
      if (more(all.most)) all.most = now;
      if (now.deferred > all.late.deferred) all.late = now;
    } else if (a.kind == Kind::weights) {
      --now.passes;
      now.layers -= layers[chunk];
      now.deferred -= layers[chunk];
    }
  }
  return all;
}

/// 1F1B as NxD runs it: min(PP-1-stage, m) warm-up forwards, then forward and backward in turn, then the
/// remaining backwards. In the steady state the gradient is received before the pending activation is sent,
/// and the pending gradient sent before the activation is received. Sends and receives are two-rank
/// all-gathers, so both sides take part at the same time.
class OneFOneB : public PipelineSchedule {
 public:
  using PipelineSchedule::PipelineSchedule;
  Actions passes(int stage, const PipelineShape& shape) const override {
    return in_turn(warm_up(stage, shape), shape.micro_batches);
  }
  Actions meetings(int stage, const PipelineShape& shape) const override {
    return with_messages(passes(stage, shape), warm_up(stage, shape), stage > 0, stage < shape.stages - 1);
  }
  bool meets() const override { return true; }
  bool has_closed_time() const override { return true; }
  Residency residency(int stage, const PipelineShape& shape, std::span<const int> layers) const override {
    return always(std::min(shape.micro_batches, shape.stages - stage), layers[0]);
  }

 protected:
  static int warm_up(int stage, const PipelineShape& shape) {
    return std::min(shape.stages - 1 - stage, shape.micro_batches);
  }
};

/// Zero bubble (ZB-H1; P. Qi et al., ICLR 2024, section 3): 1F1B with each backward split into the gradient
/// of the input, which the stage before waits for, and that of the weights, which fills the bubble. A stage
/// has fewer micro-batches in flight than the first stage; the difference is micro-batches that wait for the
/// gradients of their weights.
class ZeroBubble : public OneFOneB {
 public:
  using OneFOneB::OneFOneB;
  Actions passes(int stage, const PipelineShape& shape) const override {
    // The gradient of the weights lags by the stage's index: the last stages have the most to fill at the
    // end; the first stage fills nothing and does not lag.
    Actions order;
    int weights = 0;
    for (const StageAction& step : OneFOneB::passes(stage, shape)) {
      while (step.kind == Kind::end_of_step && weights < shape.micro_batches)
        order.push_back({Kind::weights, weights++});
      order.push_back(step);
      if (step.kind == Kind::backward && step.micro_batch >= weights + stage)
        order.push_back({Kind::weights, weights++});
    }
    return order;
  }
  Actions meetings(int, const PipelineShape&) const override { return {}; }
  bool meets() const override { return false; }
  bool splits_backward() const override { return true; }
  bool drains() const override { return false; }
  bool has_closed_time() const override { return false; }
  Residency residency(int stage, const PipelineShape& shape, std::span<const int> layers) const override {
    return walked(passes(stage, few(shape)), layers);
  }
};

/// Interleaved (virtual pipeline): stage i holds V chunks of layers. min(2(PP-1-i) + (V-1)PP, mV) warm-up
/// forwards, all mV when m == PP; then forward and backward in turn; forwards go through PP micro-batches of
/// a chunk before the next chunk, backwards likewise from the last chunk (Megatron-LM's order; D. Narayanan
/// et al., SC 2021, section 2.2.2).
class Interleaved : public PipelineSchedule {
 public:
  using PipelineSchedule::PipelineSchedule;
  std::string obstacle(const PipelineShape& shape) const override {
    if (shape.micro_batches % shape.stages == 0) return PipelineSchedule::obstacle(shape);
    return "the interleaved schedule needs a multiple of PP as micro-batches";
  }
  Actions passes(int stage, const PipelineShape& shape) const override {
    const std::string missing = obstacle(shape);
    if (!missing.empty()) throw std::invalid_argument(missing);
    const int stages = shape.stages, chunks = shape.chunks;
    const std::int64_t all = forwards(shape), first = warm_up(stage, shape);
    const auto nth = [&](std::int64_t n, bool forward) {
      const auto round = static_cast<int>(n / (stages * chunks)),
                 within = static_cast<int>(n % (stages * chunks));
      const int chunk = forward ? within / stages : chunks - 1 - within / stages;
      return StageAction{forward ? Kind::forward : Kind::backward, round * stages + within % stages, chunk};
    };
    Actions order;
    std::int64_t forward = 0, backward = 0;
    while (forward < first) order.push_back(nth(forward++, true));
    while (forward < all) {
      order.push_back(nth(forward++, true));
      order.push_back(nth(backward++, false));
    }
    while (backward < all) order.push_back(nth(backward++, false));
    order.push_back(kEndOfStep);
    return order;
  }
  int round(const PipelineShape& shape) const override { return shape.stages; }
  Residency residency(int stage, const PipelineShape& shape, std::span<const int> layers) const override {
    // PP micro-batches through chunk 0, the same through chunk 1, ..., then the next PP.
    const std::int64_t round = std::int64_t{shape.stages} * shape.chunks, all = forwards(shape);
    const auto chunk_of = [&](std::int64_t step) {
      return static_cast<std::size_t>(step % round / shape.stages);
    };
    std::int64_t done = std::min(warm_up(stage, shape) + 1, all);
    int alive = 0;
    for (std::int64_t k = 0; k < done; ++k) alive += layers[chunk_of(k)];
    Alive most{static_cast<int>(done), alive};
    // The last stage's first forward after warming up is of the last chunk, and as long as its forwards are,
    // its backwards are too: nothing changes while losses are computed.
    const Alive at_loss = most;
    // Chunks of unequal length: one backward and one forward at a time, for one round.
    for (std::int64_t k = 0; k < round && done < all; ++k, ++done) {
      alive += layers[chunk_of(done)] - layers[layers.size() - 1 - chunk_of(k)];
      most.layers = std::max(most.layers, alive);
    }
    return {most, at_loss, {}};
  }

 private:
  static std::int64_t forwards(const PipelineShape& shape) {
    return std::int64_t{shape.micro_batches} * shape.chunks;
  }
  static std::int64_t warm_up(int stage, const PipelineShape& shape) {
    const std::int64_t all = forwards(shape);
    if (shape.micro_batches == shape.stages) return all;
    return std::min(
        std::int64_t{2} * (shape.stages - 1 - stage) + std::int64_t{shape.chunks - 1} * shape.stages, all);
  }
};

/// GPipe (Y. Huang et al., NeurIPS 2019, section 2.3): all forwards, then all backwards, the last micro-batch
/// first. It takes as long as 1F1B if nothing is sent, but keeps every micro-batch alive. The logits that
/// wait for their backward on the last stage are counted for one micro-batch only.
class Gpipe : public PipelineSchedule {
 public:
  using PipelineSchedule::PipelineSchedule;
  Actions passes(int, const PipelineShape& shape) const override {
    Actions order;
    for (int m = 0; m < shape.micro_batches; ++m) order.push_back({Kind::forward, m});
    for (int m = shape.micro_batches; m-- > 0;) order.push_back({Kind::backward, m});
    order.push_back(kEndOfStep);
    return order;
  }
  Actions meetings(int stage, const PipelineShape& shape) const override {
    return with_messages(passes(stage, shape), shape.micro_batches, stage > 0, stage < shape.stages - 1);
  }
  bool meets() const override { return true; }
  Residency residency(int, const PipelineShape& shape, std::span<const int> layers) const override {
    return always(shape.micro_batches, layers[0]);
  }
};

/// Zero bubble in a V (P. Qi et al., ICLR 2024, section 6; pytorch/pytorch@1fd7abc2
/// torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble): the first chunk goes up through the
/// stages, the second down, so that embedding and head are on the first stage and all stages hold equally
/// many activations. If forward and both halves of the backward of a chunk last equally long, then from 2 PP
/// - 1 micro-batches on no stage idles between its first pass and its last.
class ZeroBubbleV : public PipelineSchedule {
 public:
  using PipelineSchedule::PipelineSchedule;
  bool descends(int) const override { return true; }  // the second chunk
  bool splits_backward() const override { return true; }
  bool drains() const override { return false; }
  Actions passes(int stage, const PipelineShape& shape) const override {
    // The order is that of the number of micro-batches that fills the pipeline; with fewer, the missing ones
    // are skipped.
    const int stages = shape.stages, left = stages - stage,
              all = std::max(2 * stages - 1, shape.micro_batches);
    Actions order;
    int next[2][3] = {};  // micro-batch of each chunk and kind of pass
    const auto pass = [&](Kind kind, int chunk) {
      const int micro_batch = next[chunk][static_cast<int>(kind)]++;
      if (micro_batch < shape.micro_batches) order.push_back({kind, micro_batch, chunk});
    };
    const auto forward = [&](int chunk) { pass(Kind::forward, chunk); };
    const auto back = [&](int chunk) { pass(Kind::backward, chunk), pass(Kind::weights, chunk); };
    const auto times = [](int count, const auto& what) {
      while (count-- > 0) what();
    };
    times(2 * left - 1, [&] { forward(0); });
    times(stage, [&] { forward(1), forward(0); });
    times(left, [&] { forward(1), back(1); });
    times(all - (stages - 1) - left, [&] { forward(0), back(0), forward(1), back(1); });
    times(left - 1, [&] { back(0), forward(1), back(1); });
    times(stage, [&] { pass(Kind::backward, 0), pass(Kind::backward, 1); });
    times(left, [&] { back(0); });
    times(stage, [&] { pass(Kind::weights, 1); });
    times(stage, [&] { pass(Kind::weights, 0); });
    order.push_back(kEndOfStep);
    return order;
  }
  Residency residency(int stage, const PipelineShape& shape, std::span<const int> layers) const override {
    return walked(passes(stage, few(shape)), layers);
  }
};

constinit const OneFOneB kOneFOneB(Schedule::one_f_one_b);
constinit const Interleaved kInterleaved(Schedule::interleaved);
constinit const ZeroBubble kZeroBubble(Schedule::zero_bubble);
constinit const Gpipe kGpipe(Schedule::gpipe);
constinit const ZeroBubbleV kZeroBubbleV(Schedule::zero_bubble_v);

/// Rows in the order of Schedule.
constexpr std::array<const PipelineSchedule*, kSchedules.size()> kPipelineSchedules = {
    &kOneFOneB, &kInterleaved, &kZeroBubble, &kGpipe, &kZeroBubbleV};

}  // namespace

std::string PipelineSchedule::obstacle(const PipelineShape& shape) const {
  const ChunkCounts can = chunks_of(name_);
  if (can.has(shape.chunks)) return "";
  const std::string name(to_string(name_));
  if (shape.chunks < can.least) return name + " needs virtual stages";
  if (can.most == 1) return name + " is not modelled with a virtual pipeline";
  return name + " has " + std::to_string(can.most) + " virtual stages, no more";
}

const PipelineSchedule& pipeline_schedule(Schedule s) {
  return *kPipelineSchedules[static_cast<std::size_t>(s)];
}

const PipelineSchedule& schedule_of(const Strategy& s) {
  return pipeline_schedule(effective_schedule(s));
}

}  // namespace trnplan::models
