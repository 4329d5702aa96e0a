#include "models/step/step_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "models/framework/partition.h"
#include "models/framework/schedule.h"
#include "models/memory/memory.h"
#include "models/step/layer_split.h"
#include "models/step/stage_costs.h"
#include "models/step/step_items.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

SimTime bound(const StrategyCosts& strategy, const std::vector<int>& layers) {
  return step_bound(strategy.step(layers), strategy.blocking(), strategy.schedule().drains());
}

/// False if the layers do not fit.
bool have_room(int layers, const std::vector<int>& most) {
  std::int64_t room = 0;
  for (const int l : most) {
    if (l < 1) return false;
    room += std::min(l, layers);
  }
  return room >= layers;
}

/// Costs of the stages of a strategy without virtual pipeline, by their layers. Remembers them. Refers to the
/// strategy.
class StagesByLayers {
 public:
  StagesByLayers(const StrategyCosts& strategy, const std::vector<int>& most) : strategy_(strategy) {
    for (int i = 0; i < strategy.stages(); ++i) {
      like_.push_back(strategy.like_below(i) ? like_.back() : i);
      const int layers = like_.back() == i ? *std::max_element(most.begin() + i, most.end()) : 0;
      known_.emplace_back(at(layers + 1));
    }
  }

  const StageCost& operator()(int stage, int layers) {
    std::optional<StageCost>& cost = known_[at(like_[at(stage)])][at(layers)];
    if (!cost) cost = strategy_.stage(stage, std::vector<int>(at(strategy_.stages()), layers));
    return *cost;
  }

 private:
  const StrategyCosts& strategy_;
  std::vector<int> like_;  ///< the first stage that costs the same
  std::vector<std::vector<std::optional<StageCost>>> known_;
};

/// The least that one more layer adds to the passes of a stage: to those with one.
StrategyCosts::Passes least_layer(const StrategyCosts& strategy, int stage) {
  const StrategyCosts::Passes one = strategy.passes(stage, 1), two = strategy.passes(stage, 2);
  return {two.forward - one.forward, two.backward - one.backward};
}

/// Costs of layers in the stages of a strategy. Refers to the strategy.
LayerCosts layer_costs(const StrategyCosts& strategy, int layers, const std::vector<int>& most) {
  const int stages = strategy.stages();
  LayerCosts costs;
  costs.layers = layers;
  const StepCosts thin = strategy.step(std::vector<int>(at(stages), 1));
  for (int i = 0; i < stages; ++i) {
    const StrategyCosts::Passes layer = least_layer(strategy, i);
    costs.up = i == 0 ? layer.forward : std::min(costs.up, layer.forward);
    costs.down = i == 0 ? layer.backward : std::min(costs.down, layer.backward);
  }
  SimTime before, after;
  std::vector<SimTime> passes;  // of the stage, by its layers
  for (int i = 0; i < stages; ++i) {
    costs.most.push_back(std::min(most[at(i)], layers - (stages - 1)));
    costs.before.push_back(before);
    costs.after.push_back(after);
    const StageCost& cost = thin.stages[at(i)];
    before += cost.up - costs.up;
    after += cost.down - costs.down;
    if (i > 0) {
      before += thin.boundaries[at(i - 1)].activation;
      after += thin.boundaries[at(i - 1)].gradient;
    }
    const SimTime around = per_micro_batch(thin, i, true) - cost.each, one = strategy.accumulate(i, 1);
    if (!strategy.like_below(i)) passes.clear();
    for (int l = static_cast<int>(passes.size()); l <= costs.most.back(); ++l) {
      const StrategyCosts::Passes p = strategy.passes(i, l);
      passes.push_back(p.forward + p.backward);
    }
    std::vector<SimTime> body(at(costs.most.back() + 1));
    for (int l = 1; l <= costs.most.back(); ++l) {
      const SimTime each = cost.each + (passes[at(l)] - passes[1]) + (strategy.accumulate(i, l) - one);
      body[at(l)] = (each + around) * thin.micro_batches;
    }
    costs.body.push_back(std::move(body));
  }
  costs.finish = [&strategy, barrier = thin.barrier](int stage, int l) {
    const StrategyCosts::Finish f = strategy.finish(stage, l);
    return f.reduce + barrier + f.tail;
  };
  return costs;
}

}  // namespace

StepBounds::StepBounds(const Job& job, const Profile& profile, const topology::ChipGraph& graph)
    : costs_(new StageCosts(job, profile, graph)) {}

StepBounds::~StepBounds() = default;

SimTime StepBounds::lower_bound(const Strategy& s, int micro_batches) {
  return bound(costs_->of(s, micro_batches), layers_per_chunk(costs_->job().architecture, s));
}

SimTime StepBounds::without_contention(const Strategy& s, int micro_batches) {
  if (!schedule_of(s).has_closed_time()) return lower_bound(s, micro_batches);
  return pipeline_time(costs_->of(s, micro_batches).step(layers_per_stage(costs_->job().architecture, s)));
}

SimTime StepBounds::bound_of_any_cuts(const Strategy& s, int micro_batches) {
  const StrategyCosts strategy = costs_->of(s, micro_batches);
  const int count = strategy.stages(), layers = costs_->job().architecture.layers;
  const StepCosts costs = strategy.step(std::vector<int>(at(count), 1));
  SimTime layer, quickest;
  for (int i = 0; i < count; ++i) {
    const StrategyCosts::Passes c = least_layer(strategy, i);
    const SimTime once = c.forward + c.backward, reduce = costs.stages[at(i)].reduce;
    layer = i == 0 ? once : std::min(layer, once);
    quickest = i == 0 ? reduce : std::min(quickest, reduce);
  }
  quickest += costs.barrier + longest_tail(costs);
  // With w_i >= 0 that add up to 1, the largest term of step_bound() is at least sum w_i term_i. A layer on
  // stage j costs m w_j c in its own term and w_i c in that of every stage above. Choose weights for which a
  // layer costs the same, g c, on every stage; then its place does not matter: w_j = (g - sum of those above)
  // / m, g = 1 / (1 - (1 - 1/m)^P).
  const double m = micro_batches, g = 1 / (1 - std::pow(1 - 1 / m, count));
  const double c = static_cast<double>(layer.ps);
  double sum = g * c * layers + static_cast<double>(quickest.ps), above = 0;
  for (int i = count - 1; i >= 0; --i) {
    const double w = (g - above) / m;
    // Terms below stage i, without their layers: the messages on the way up and down.
    const StageCost& stage = costs.stages[at(i)];
    sum += w * m * (static_cast<double>(per_micro_batch(costs, i, true).ps) - c) +
           above * (static_cast<double>((stage.up + stage.down).ps) - c);
    if (i > 0) {
      const BoundaryCost& b = costs.boundaries[at(i - 1)];
      sum += above * static_cast<double>((b.activation + b.gradient).ps);
    }
    above += w;
  }
  constexpr double kRoundedDown = 1 - 1e-9;  // for ticks and for the sums of doubles
  return to_sim_time(Seconds(sum * kRoundedDown * 1e-12));
}

std::vector<int> StepBounds::best_layers(const Strategy& s, int micro_batches, const std::vector<int>& most) {
  const StrategyCosts strategy = costs_->of(s, micro_batches);
  const Architecture& architecture = costs_->job().architecture;
  if (!have_room(architecture.layers, most)) return {};
  const LayerCosts costs = layer_costs(strategy, architecture.layers, most);
  std::vector<int> best = level_split(costs);
  if (best.empty()) return {};

  StagesByLayers stage(strategy, costs.most);
  StepCosts step = strategy.step(best);
  const auto time = [&](const std::vector<int>& layers) {
    for (int i = 0; i < strategy.stages(); ++i) step.stages[at(i)] = stage(i, layers[at(i)]);
    return pipeline_time(step);
  };
  SimTime least = time(best),
          least_bound = step_bound(step, strategy.blocking(), strategy.schedule().drains());
  const std::vector<int> split = smallest_bound_split(costs, least_bound);
  if (!split.empty() && time(split) < least) {
    least = time(split);
    best = split;
  }
  time(best);  // whose costs are then those of `step`
  if (least > least_bound)
    move_layers([&](int i, int layers) -> const StageCost& { return stage(i, layers); }, step, costs.most,
                best, least);

  Strategy plain = s;
  plain.pipeline_cuts.clear();
  const std::vector<int> automatic = layers_per_stage(architecture, plain);
  for (int i = 0; i < strategy.stages(); ++i) {
    if (automatic[at(i)] > costs.most[at(i)]) return best;
  }
  return time(automatic) <= least ? automatic : best;
}

ComputeBounds::ComputeBounds(const Job& job, const Profile& profile)
    : job_(job), profile_(on_job(profile, job)), measures_(knows_layouts(profile_, job)) {}

/// A field that is added to Strategy does not compile until it is added to the key, if it changes operators.
ComputeBounds::Key ComputeBounds::key_of(const Strategy& s) {
  const auto& [tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, data, micro_batch,
               sequence_parallel, zero1, recompute, flash_attention, kv_replicator, precision, bucket_mb,
               pipeline_cuts, schedule, framework, sharding, shard_ranks] = s;
  (void)pipeline, (void)virtual_pipeline, (void)data, (void)zero1, (void)recompute, (void)pipeline_cuts,
      (void)schedule, (void)shard_ranks;
  return {tensor,    context,           expert,          expert_tensor, micro_batch, kv_replicator,
          bucket_mb, sequence_parallel, flash_attention, precision,     sharding,    framework};
}

namespace {

/// A strategy of the same kind on one stage and rank.
Strategy alone(Strategy s) {
  s.pipeline_parallel = s.virtual_pipeline = s.data_parallel = 1;
  s.zero1 = true;
  s.schedule = Schedule::one_f_one_b;
  s.pipeline_cuts.clear();
  s.shard_ranks = 0;
  return s;
}

}  // namespace

ComputeBounds::Kind& ComputeBounds::kind_of(const Strategy& s) {
  const Key key = key_of(s);
  if (last_ != nullptr && last_->first == key) return last_->second;
  auto known = known_.find(key);
  if (known == known_.end()) {
    const Strategy one = alone(s);
    const LayerModel model(job_, one, profile_);
    Kind kind{work(model.layer_forward()),
              work(model.embedding_forward()) + work(model.embedding_backward()),
              work(model.head_forward()) + work(model.head_backward()),
              {}};
    known = known_.emplace(key, std::move(kind)).first;
  }
  last_ = &*known;
  return known->second;
}

ComputeBounds::Parts ComputeBounds::parts(const Strategy& s) {
  Kind& kind = kind_of(s);
  auto& known = kind.layer_backward;
  auto backward =
      std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == s.recompute; });
  if (backward == known.end()) {
    const Strategy one = alone(s);
    known.emplace_back(s.recompute, work(LayerModel(job_, one, profile_).layer_backward()));
    backward = std::prev(known.end());
  }
  return {kind.layer_forward + backward->second, kind.embedding, kind.head};
}

/// A measured layout may be faster than its parts say.
double ComputeBounds::measured(const Strategy& s) const {
  constexpr double kRounded = 1 - 1e-9;
  const double factor = measures_ ? layout_factor(profile_, job_, s) : 1;
  return factor < 1 ? factor * kRounded : 1;
}

/// Of the parts of a strategy that neighbours in a search differ in, these change no stage.
const std::vector<ComputeBounds::Stage>& ComputeBounds::stages_of(const Strategy& s) {
  Strategy& last = stages_.strategy;
  last.recompute = s.recompute;
  last.micro_batch = s.micro_batch;
  last.flash_attention = s.flash_attention;
  last.sequence_parallel = s.sequence_parallel;
  if (!stages_.all.empty() && last == s) return stages_.all;
  const LayerModel model(job_, s, profile_);
  const std::vector<int> layers = layers_per_chunk(job_.architecture, s);
  std::vector<Stage> all;
  int below = -1;  // layers of the stage below, where it holds no end
  for (int i = 0; i < s.pipeline_parallel; ++i) {
    const int sum = layers_of_stage(layers, s, i);
    const StageEnds ends = ends_of(s, i);
    const bool inner = !ends.first && !ends.last;
    if (inner && sum == below) continue;
    below = inner ? sum : -1;
    all.push_back({sum, ends.first, ends.last,
                   to_sim_time(model.accumulation(stage_parameters(job_.architecture, s, i, sum)).seconds)});
  }
  stages_ = {s, std::move(all)};
  return stages_.all;
}

SimTime ComputeBounds::busiest_stage(const Strategy& s, int micro_batches) {
  const Parts each = parts(s);
  SimTime most;
  for (const Stage& stage : stages_of(s)) {
    SimTime once = each.layer * stage.layers;
    once += stage.accumulate;
    if (stage.first) once += each.embedding;
    if (stage.last) once += each.head;
    most = std::max(most, once * micro_batches);
  }
  const double measured_factor = measured(s);
  return measured_factor < 1 ? to_sim_time(to_seconds(most) * measured_factor) : most;
}

Seconds ComputeBounds::mean_stage(const Strategy& s, int micro_batches) {
  const Parts each = parts(s);
  const Seconds all =
      to_seconds(each.layer) * job_.architecture.layers + to_seconds(each.embedding + each.head);
  return all * (static_cast<double>(micro_batches) / s.pipeline_parallel * measured(s));
}

}  // namespace trnplan::models
