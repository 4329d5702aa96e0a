#include "models/step/stage_costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/framework/loop_parameters.h"
#include "models/framework/partition.h"
#include "models/framework/schedule.h"
#include "models/memory/memory.h"
#include "models/step/group_class.h"
#include "models/step/overlapped_time.h"
#include "models/step/step_parts.h"
#include "units/index.h"

namespace trnplan::models {

SimTime work(const OperatorList& list) {
  SimTime t;
  for (const Operator& o : list) {
    if (o.process_group == ProcessGroup::none) t += to_sim_time(o.seconds);
  }
  return t;
}

namespace {

UnitKey unit_key(const Strategy& s) {
  if (!framework_of(s).units(s) && s.shard_ranks == 0) return {};
  return {1 + static_cast<int>(s.sharding), shard_degree(s)};
}

/// Parts of a strategy by which cached times are found. A field that is added to Strategy does not compile
/// until it is added to the keys whose times it changes.
struct Keys {
  std::array<int, 8> ranks;  ///< groups and their places
  GroupClass::Key pass;      ///< the operators of a pass over one micro-batch
  std::tuple<bool, bool, bool, Precision, int, int, const Framework*, UnitKey> end;  ///< the end of the step
};

Keys keys_of(const Strategy& s) {
  // Virtual stages and cuts only determine how many layers a stage has, which is an argument of the end of
  // the step. The schedule combines the cached times, and determines whether gradients are reduced during
  // passes.
  const auto& [tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, data, micro_batch,
               sequence_parallel, zero1, recompute, flash_attention, kv_replicator, precision, bucket_mb,
               pipeline_cuts, schedule, framework, sharding, shard_ranks] = s;
  (void)sharding, (void)shard_ranks;  // in the key of units; without units and groups they change only memory
  (void)expert_tensor;                // as the loop resolves it
  const UnitKey units = unit_key(s);
  const Framework* loop = &framework_of(s);
  const int cut = expert_tensor_degree(s);
  return {{tensor, context, expert, cut, data, pipeline, kv_replicator, units[1]},
          {micro_batch, sequence_parallel, recompute, flash_attention, precision, cut, loop, units},
          {sequence_parallel, zero1, loop->reduces_with_backward(s), precision, bucket_mb, cut, loop, units}};
}

}  // namespace

/// One set of degrees on the cluster.
struct StageCosts::Ranks {
  StepLayout layout;
  std::vector<GroupClass*> inside;  ///< per stage: groups that layers use
  std::vector<GroupClass*> across;  ///< per stage: groups over which gradients are reduced
  std::vector<GroupClass*> borders;
  /// Groups inside and across, first and last stage, layers, and Keys::end.
  using FinishKey = std::tuple<GroupClass*, GroupClass*, bool, bool, int, decltype(Keys::end)>;
  std::map<FinishKey, StrategyCosts::Finish> finish;

  /// True if a stage has groups like those of the stage below.
  bool like_below(int stage) const {
    return inside[at(stage)] == inside[at(stage - 1)] && across[at(stage)] == across[at(stage - 1)];
  }

  Ranks(const Job& job, const Strategy& s, const Profile& profile, const topology::ChipGraph& graph)
      : layout(job, s, profile, graph) {}
};

struct StageCosts::Shared {
  using PassesKey = std::tuple<Schedule, int, int, int, int>;  // stages, chunks, micro-batches, stage

  const Job& job;
  const Profile& off_stack;  ///< as given; layouts add the job's stack themselves
  const Profile profile;     ///< on the job's stack
  const topology::ChipGraph& graph;
  std::map<std::vector<int>, GroupClass> classes;
  std::map<std::array<int, 8>, std::unique_ptr<Ranks>> layouts;
  std::map<PassesKey, std::vector<PassesAfter>> passes;

  /// Passes after the last backward pass of each chunk. More than three rounds of micro-batches change nothing.
  const std::vector<PassesAfter>& passes_after(const Strategy& s, int stage, int micro_batches) {
    const int p = s.pipeline_parallel,
              few = micro_batches < 3 * p ? micro_batches : 2 * p + micro_batches % p;
    const auto [it, fresh] = passes.try_emplace({s.schedule, p, s.virtual_pipeline, few, stage});
    if (fresh) it->second = passes_after_last(schedule_of(s), stage, shape_of(s, few));
    return it->second;
  }

  GroupClass* intern(std::vector<int> key, const StepLayout& layout, StageGroups groups) {
    return &classes.try_emplace(std::move(key), layout, std::move(groups)).first->second;
  }

  Ranks& ranks_of(const Strategy& s) {
    const std::array<int, 8> key = keys_of(s).ranks;
    const auto it = layouts.find(key);
    if (it != layouts.end()) return *it->second;
    auto ranks = std::make_unique<Ranks>(job, s, off_stack, graph);
    const StepLayout& layout = ranks->layout;
    const bool shifted = layout.stages_are_shifted();
    for (int stage = 0; stage < layout.stages; ++stage) {
      if (shifted && stage > 0) {
        ranks->inside.push_back(ranks->inside.back());
        ranks->across.push_back(ranks->across.back());
        continue;
      }
      const int cls = layout.class_of(stage);
      StageGroups groups = layout.representative(stage);
      auto& [tensor, kv, context, expert, data, replicas, expert_data, shard, copies] = groups;
      std::vector<int> inside{0}, across{1};
      for (const Groups* g : {&tensor, &kv, &context, &expert, &shard, &copies})
        layout.add_key(inside, *g, cls);
      for (const Groups* g : {&data, &replicas, &expert_data}) layout.add_key(across, *g, cls);
      StageGroups rest{{}, {}, {}, {}, std::move(data), std::move(replicas), std::move(expert_data), {}, {}};
      for (Groups* g : {&data, &replicas, &expert_data}) g->clear();
      ranks->inside.push_back(intern(std::move(inside), layout, std::move(groups)));
      ranks->across.push_back(intern(std::move(across), layout, std::move(rest)));
    }
    for (int b = 0; b < layout.stages && layout.stages > 1; ++b) {  // the last joins its ends
      if (shifted && b > 0 && b + 1 < layout.stages) {
        ranks->borders.push_back(ranks->borders.back());
        continue;
      }
      StageGroups pairs;  // as tensor groups: a class only needs a name
      pairs.tensor = layout.representative_pairs(b);
      const int cls = layout.class_of(b);
      std::vector<int> border{2};
      layout.add_key(border, pairs.tensor, cls);
      ranks->borders.push_back(intern(std::move(border), layout, std::move(pairs)));
    }
    return *layouts.emplace(key, std::move(ranks)).first->second;
  }

  GroupClass::Timed chain(GroupClass& on, const OperatorList& list, const Strategy& s) const {
    return {on.time(list, framework_of(s).overlaps_layers(s) ? profile[common::overlap_slowdown] : 1),
            Launches(list)};
  }

  const GroupClass::Chains& chains(GroupClass& on, const Strategy& s, const LayerModel& model) const {
    const std::tuple key{keys_of(s).pass, model.waits(), model.overlaps_exchanges()};
    const auto it = on.chains.find(key);
    if (it != on.chains.end()) return it->second;
    GroupClass::Chains c;
    const bool turns = framework_of(s).units(s).has_value();
    for (std::size_t turn = 0; turn < (turns ? c.layer.size() : 1); ++turn) {
      c.layer[turn] = chain(on, model.layer_forward(static_cast<LayerTurn>(turn)), s);
      c.layer_back[turn] = chain(on, model.layer_backward(static_cast<LayerTurn>(turn)), s);
    }
    c.embedding = chain(on, model.embedding_forward(), s);
    c.embedding_back = chain(on, model.embedding_backward(), s);
    c.head = chain(on, model.head_forward(), s);
    c.head_back = chain(on, model.head_backward(), s);
    c.message = chain(on, model.gather_message(), s);
    return on.chains.emplace(key, c).first->second;
  }
};

StageCosts::StageCosts(const Job& job, const Profile& profile, const topology::ChipGraph& graph)
    : shared_(new Shared{job, profile, on_job(profile, job), graph, {}, {}, {}}) {}

StageCosts::Shared& StageCosts::shared_for(const Strategy& s) {
  const double factor = layout_factor(shared_->off_stack, shared_->job, s);
  if (factor == 1) return *shared_;
  std::unique_ptr<Shared>& own = measured_[factor];
  if (!own) {
    const Shared& all = *shared_;
    own.reset(new Shared{all.job, all.off_stack, on_job(all.off_stack, all.job, &s), all.graph, {}, {}, {}});
  }
  return *own;
}

StageCosts::~StageCosts() = default;

const Job& StageCosts::job() const {
  return shared_->job;
}

StrategyCosts StageCosts::of(const Strategy& s, int micro_batches) {
  if (micro_batches < 1) throw std::invalid_argument("a step has at least one micro-batch");
  return {shared_for(s), s, micro_batches};
}

StrategyCosts::StrategyCosts(StageCosts::Shared& shared, const Strategy& s, int micro_batches)
    : shared_(shared),
      strategy_(s),
      ranks_(shared.ranks_of(s)),
      model_(shared.job, s, shared.profile),
      micro_batches_(micro_batches),
      stages_(s.pipeline_parallel) {
  const Job& job = shared.job;
  const Profile& profile = shared.profile;
  const auto start = [&](Launch launch) {
    const auto item = graph_start("", Category::overhead, launch, job, profile);
    return item ? item->length : SimTime{};
  };
  const PassLaunches launches = framework_of(s).launches(s);
  const SimTime task = start(Launch::task);
  launch_ = task;
  forward_launch_ = start(launches.forward);
  backward_launch_ = start(launches.backward);
  barrier_ = make_barrier(job, s, profile).uncontended();
  const PolledMessages polls = framework_of(s).polled_messages();
  for (GroupClass* border : ranks_.borders) {
    const auto message = [&](Bytes bytes, int polled) {
      const SimTime t = border->time({ProcessGroup::pipeline, CollectiveOp::send_recv, bytes, 1, 0},
                                     border->groups().tensor);
      return blocking() ? t + task + polling(polled, profile) : t;
    };
    boundaries_.push_back({message(model_.boundary() + model_.pass_along(), polls.activation),
                           message(model_.boundary(), polls.gradient)});
  }
}

bool StrategyCosts::blocking() const {
  return framework_of(strategy_).sends_block(strategy_);
}

SimTime StrategyCosts::accumulate(int stage, int layers) const {
  return work(model_.accumulate(stage_parameters(shared_.job.architecture, strategy_, stage, layers) /
                                strategy_.virtual_pipeline));
}

StrategyCosts::Finish StrategyCosts::finish(int stage, int layers) const {
  const Strategy& s = strategy_;
  GroupClass *inside = ranks_.inside[at(stage)], *across = ranks_.across[at(stage)];
  const StageEnds ends = ends_of(s, stage);
  const StageCosts::Ranks::FinishKey key{inside, across, ends.first, ends.last, layers, keys_of(s).end};
  const auto it = ranks_.finish.find(key);
  if (it != ranks_.finish.end()) return it->second;
  const EndOfStep end = end_of_step(shared_.job, s, shared_.profile, model_, stage, layers);
  const auto class_of = [&](ProcessGroup of) {
    using enum ProcessGroup;
    return of == tensor || of == context || of == shard || of == shard_copies ? inside : across;
  };
  const auto time = [&](const std::vector<EndCall>& calls) {
    SimTime t;
    for (const EndCall& c : calls) {
      GroupClass* on = class_of(c.call.process_group);
      if (!on->groups().of(c.call.process_group).empty()) t += on->time(c.call) + to_sim_time(c.buckets);
    }
    return t;
  };
  const Seconds calls =
      time_in_calls(end, model_, layers, shared_.job.cluster.instance.cores(),
                    [&](ProcessGroup of) -> const Groups& { return class_of(of)->groups().of(of); });
  const SimTime update = to_sim_time(end.optimizer.seconds) +
                         to_sim_time(Seconds(shared_.profile[common::step_overhead])) +
                         to_sim_time(model_.collective_calls(calls).seconds);
  const SimTime gather = time(end.gather);
  const Finish f{time(end.norms) + time(end.context) + time(end.reduce),
                 update + gather + end.copied_beyond(gather),
                 {time(end.early_layer), time(end.early_head), time(end.early_embedding)},
                 {time(end.ahead_layer), time(end.ahead_head), time(end.ahead_embedding)}};
  return ranks_.finish.emplace(key, f).first->second;
}

namespace {

/// A part of the model: its layers, and its ends.
struct ModelPart {
  bool first, last;
  int layers;
};

/// Visits the parts of a pass in the order of the pass.
class PartWalk {
 public:
  PartWalk(const GroupClass::Chains& chains, const ModelPart& part, bool turns)
      : c_(chains), part_(part), turns_(turns) {}

  /// Calls `visit(part, time, times)` for each.
  template <class Visit>
  void forward(const Visit& visit) {
    host_.restart();
    if (part_.first) add(visit, Part::embedding, c_.embedding, 1);
    if (!part_.first) add(visit, Part::message, c_.message, 1);
    layers(visit, c_.layer);
    if (part_.last) add(visit, Part::head, c_.head, 1);
  }
  /// As forward(), which it follows.
  template <class Visit>
  void backward(const Visit& visit) {
    if (!part_.last) {
      host_.restart();
      add(visit, Part::message, c_.message, 1);
    }
    if (part_.last) add(visit, Part::head, c_.head_back, 1);
    layers(visit, c_.layer_back);
    if (part_.first) add(visit, Part::embedding, c_.embedding_back, 1);
  }

 private:
  using Part = Chain::Part;

  template <class Visit>
  void add(const Visit& visit, Part part, const GroupClass::Timed& list, int times) {
    if (times > 0 && list.time.ps > 0)
      visit(part, list.time + host_.wait(list.time, list.launches, times), times);
  }
  template <class Visit>
  void layers(const Visit& visit, const std::array<GroupClass::Timed, 4>& by_turn) {
    each_turn(turns_, part_.layers, [&](LayerTurn turn, int times) {
      add(visit, Part::layer, by_turn[static_cast<std::size_t>(turn)], times);
    });
  }

  const GroupClass::Chains& c_;
  ModelPart part_;
  bool turns_;
  HostQueue host_{SimTime{1}};
};

}  // namespace

/// Time of the messages that occupy a stage's queue for each micro-batch of a part.
SimTime StrategyCosts::messages_of(int part) const {
  SimTime t;
  if (blocking() || framework_of(strategy_).sends_beside_work(strategy_)) return t;
  for (const int below : {part - 1, part}) {
    const auto link = link_above(strategy_, below);
    if (!link) continue;
    const BoundaryCost& b = boundaries_[at(link->boundary)];
    t += launch_ * 2 + b.activation + b.gradient;
  }
  return t;
}

bool StrategyCosts::like_below(int stage) const {
  return stage > 1 && stage < stages_ - 1 && strategy_.virtual_pipeline == 1 && ranks_.like_below(stage);
}

StrategyCosts::Passes StrategyCosts::passes(int stage, int layers) const {
  const int parts = stages_ * strategy_.virtual_pipeline;
  PartWalk walk(shared_.chains(*ranks_.inside[at(stage)], strategy_, model_),
                {stage == 0, stage == parts - 1, layers},
                framework_of(strategy_).units(strategy_).has_value());
  Passes p{forward_launch_, backward_launch_};
  walk.forward([&](Chain::Part, SimTime t, int times) { p.forward += t * times; });
  walk.backward([&](Chain::Part, SimTime t, int times) { p.backward += t * times; });
  return p;
}

StageCost StrategyCosts::stage(int stage, const std::vector<int>& layers) const {
  const int chunks = strategy_.virtual_pipeline, last_part = stages_ * chunks - 1;
  const GroupClass::Chains& c = shared_.chains(*ranks_.inside[at(stage)], strategy_, model_);
  const bool turns = framework_of(strategy_).units(strategy_).has_value();
  const int sum = layers_of_stage(layers, strategy_, stage);
  const SimTime add = accumulate(stage, sum);
  const Finish end = finish(stage, sum);
  StageCost cost;
  std::vector<ChunkTime> times;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int at_part = part_of(strategy_, stage, chunk);
    PartWalk walk(c, {at_part == 0, at_part == last_part, layers[at(at_part)]}, turns);
    SimTime up = forward_launch_, down = backward_launch_ + add;
    std::vector<PartTime> forward_parts, backward_parts;
    walk.forward([&](Chain::Part part, SimTime t, int n) {
      up += t * n;
      forward_parts.push_back({t, end.ahead.of(part), n});
    });
    walk.backward([&](Chain::Part part, SimTime t, int n) {
      down += t * n;
      backward_parts.push_back({t, end.early.of(part), n});
    });
    const SimTime messages = messages_of(at_part);
    cost.each += up + down + messages;
    times.push_back({up + messages, down + messages, backward_launch_, std::move(backward_parts)});
    if (chunk > 0) continue;
    cost.up = up;
    cost.down = down;
    if (end.ahead.layer.ps == 0) continue;
    const FirstForward forward = first_forward(forward_launch_, forward_parts);
    cost.ready = forward.ready;
    cost.waits = forward.length - up;
  }
  cost.reduce = end.reduce;
  cost.tail = end.tail;
  if (end.early.layer.ps > 0) {
    const LateReductions late =
        late_reductions(times, shared_.passes_after(strategy_, stage, micro_batches_));
    cost.reduce = std::max(cost.reduce, late.stage);
    cost.backlog = late.queue;
  }
  return cost;
}

StepCosts StrategyCosts::step(const std::vector<int>& layers) const {
  StepCosts c{std::vector<StageCost>(at(stages_)), boundaries_, barrier_, micro_batches_};
  for (int i = 0; i < stages_; ++i) {
    const bool same = like_below(i) && layers[at(i)] == layers[at(i - 1)];
    c.stages[at(i)] = same ? c.stages[at(i - 1)] : stage(i, layers);
  }
  return c;
}

}  // namespace trnplan::models
