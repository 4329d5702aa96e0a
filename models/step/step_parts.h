// The parts of a step: passes of stages, messages between them, the end of the step. Internal to the step
// model.
//
// Stages that do the same work on the same cores of their nodes are built once: a class. Another stage of the
// class has the same loads, shifted by the difference of their node classes (`shift`).
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "models/framework/framework.h"
#include "models/step/step.h"
#include "models/step/step_items.h"
#include "models/step/step_layout.h"

namespace trnplan::models {

/// The run of a sequence of items alone.
struct ChainRun {
  struct Span {
    SimTime start, end;
    bool overlapped = false;  ///< on the collective engine
  };
  Attribution attribution;  ///< along its critical path
  SimTime length;
  std::vector<Span> spans;  ///< one entry per item
};
/// Runs a chain on devices 0 (compute), 1 (collectives that overlap the operator after them) and 2
/// (collectives in the background).
ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown);

/// Operators of one core as items of the core's groups.
class OperatorItems {
 public:
  /// Keeps references to its arguments.
  OperatorItems(const Fabric& fabric, const StageGroups& groups) : fabric_(fabric), groups_(groups) {}
  Items of(const OperatorList& operators);

 private:
  const Fabric& fabric_;
  const StageGroups& groups_;
  /// The same few collectives recur.
  std::map<std::tuple<CollectiveOp, ProcessGroup, double>, Collective> known_;
};

/// Calls `visit(turn, times)` for the layers of a pass in a row; without `turns` all are alike.
template <class Visit>
void each_turn(bool turns, int layers, const Visit& visit) {
  if (!turns || layers == 1) return visit(LayerTurn::only, layers);
  visit(LayerTurn::first, 1);
  visit(LayerTurn::inner, layers - 2);
  visit(LayerTurn::last, 1);
}

/// Detail of a program: a task is a pass; or what stands one after the other in a pass and shares nothing with other
/// lanes; or an operator.
enum class Detail { passes, shared, operators };

/// Operators in sequence, repeated `times` times.
struct Chain {
  /// message: gathering what another stage sent; gradients: adding them up.
  enum class Part { message, embedding, layer, head, gradients } part = Part::layer;
  std::shared_ptr<const Items> items;
  std::shared_ptr<const ChainRun> run;
  int times = 1;
  std::shared_ptr<const Items> joined = {};  ///< Detail::shared; null: `items`
};

/// A stage's pass over one micro-batch and chunk.
struct Pass {
  std::vector<Chain> chains;
  std::optional<Item> launch;
  Item whole;  ///< the same pass as one task of known length
  Flops flops{};
};

/// One chunk of layers of a stage.
struct Chunk {
  Pass forward, backward;
  Pass weights;  ///< only with a split backward; `backward` then has the rest

  /// The pass of a kind that computes.
  const Pass& pass(StageAction::Kind kind) const {
    if (kind == StageAction::Kind::forward) return forward;
    return kind == StageAction::Kind::weights ? weights : backward;
  }
};

/// Collectives that overlap a pass, by parts of the model. Reductions of gradients overlap the last pass that
/// makes them, each after the backward of its part (Framework::reduces_with_backward()). Gathers of weights
/// overlap the first forward pass, each before its part (Framework::gathers_with_forward()).
struct BesidePass {
  Items layer, head, embedding;

  /// The items of one turn of a chain; none for chains without weights.
  const Items& of(Chain::Part part) const {
    static const Items kNothing;
    if (part == Chain::Part::gradients || part == Chain::Part::message) return kNothing;
    if (part == Chain::Part::layer) return layer;
    return part == Chain::Part::head ? head : embedding;
  }
};

/// The work of a class of stages.
struct StageWork {
  std::vector<Chunk> chunks;
  BesidePass early, ahead;  ///< reductions, gathers
  Items gradients_to_norms, context_reduce, reduce, gather;
  Item optimizer, end;

  /// Calls `visit(items, times)` for each list of `early` and `ahead`, as often as a step has it.
  template <class Visit>
  void each_beside(const Visit& visit) const {
    for (const Chunk& chunk : chunks) {
      const Pass& makes = chunk.weights.chains.empty() ? chunk.backward : chunk.weights;
      for (const Chain& c : makes.chains) visit(early.of(c.part), c.times);
      for (const Chain& c : chunk.forward.chains) visit(ahead.of(c.part), c.times);
    }
  }

  /// All lists with collectives except passes and messages, those that overlap passes first.
  static constexpr std::size_t kListsBesidePasses = 6;
  std::array<const Items*, 10> collectives_of_step() const {
    return {&early.layer,     &early.head,         &early.embedding, &ahead.layer, &ahead.head,
            &ahead.embedding, &gradients_to_norms, &context_reduce,  &reduce,      &gather};
  }
};

struct StagePart {
  std::shared_ptr<const StageWork> work;
  Fabric::Id shift = 0;
};

/// Messages over the boundary above a stage.
struct Boundary {
  std::shared_ptr<const Items> activation, gradient;
  Item activation_hold, gradient_hold;  ///< time of a message outside the queues on each queue
  Fabric::Id shift = 0;
};

/// A call of the end of a step: the arguments of its collective, and the seconds that start its buckets.
struct EndCall {
  std::string_view name;
  Category category = Category::data_parallel;
  Call call;
  Seconds buckets{};
};
struct EndOfStep {
  std::vector<EndCall> norms, context, reduce, gather;
  std::vector<EndCall> early_layer, early_head, early_embedding;  ///< of StageWork::early
  std::vector<EndCall> ahead_layer, ahead_head, ahead_embedding;  ///< of StageWork::ahead
  Operator optimizer;
  Operator pieces;  ///< the host's copies of gathered weights, which the gather hides (Exchange::in_pieces)

  /// Time of `pieces` that a gather of that time leaves.
  [[nodiscard]] SimTime copied_beyond(SimTime gathered) const {
    return std::max(SimTime{}, to_sim_time(pieces.seconds) - gathered);
  }
};
/// The end of a step of a stage with `layers` layers.
EndOfStep end_of_step(const Job& job, const Strategy& s, const Profile& profile, const LayerModel& model,
                      int stage, int layers);

/// The host's time in the calls of the end of a step of a stage with `layers` layers, on nodes of `cores` cores.
/// groups_of(ProcessGroup) has its groups, alike in size.
template <class GroupsOf>
Seconds time_in_calls(const EndOfStep& end, const LayerModel& model, int layers, int cores,
                      const GroupsOf& groups_of) {
  Seconds time{};
  const auto add = [&](const std::vector<EndCall>& calls, int times) {
    for (const EndCall& c : calls) {
      const Groups& groups = groups_of(c.call.process_group);
      if (groups.empty()) continue;
      const std::vector<int>& group = groups.front();
      const auto [first, last] = std::minmax_element(group.begin(), group.end());
      const bool between = *first / cores != *last / cores;
      time = time + model.call_time(static_cast<int>(group.size()), between) * (1.0 * times * c.call.repeat);
    }
  };
  for (const auto* once : {&end.norms, &end.context, &end.reduce, &end.gather, &end.early_head,
                           &end.early_embedding, &end.ahead_head, &end.ahead_embedding})
    add(*once, 1);
  add(end.early_layer, layers);
  add(end.ahead_layer, layers);
  return time;
}

/// The cost of a launch, and the host's own (`host_launch`) where no second request in flight hides it.
/// nullopt for Launch::none.
std::optional<Item> graph_start(std::string_view name, Category c, Launch launch, const Job& job,
                                const Profile& profile);

/// Time for which the hosts of a meeting poll so many messages that announce it.
SimTime polling(int messages, const Profile& profile);

/// The reduction of scalars that all stages wait for.
Item make_barrier(const Job& job, const Strategy& s, const Profile& profile);

/// All parts of the program.
struct StepParts : StepLayout {
  LayerModel layer_model;
  int micro_batches;
  std::vector<StagePart> parts;
  std::vector<Boundary> boundaries;  ///< of stage s to s + 1; with chunks also of the last to the first
  Item message_launch;               ///< of a send or a receive that is not a meeting of its stages
  Item barrier;
  bool shares_links = false;  ///< chains share resources with other stages or messages
  bool must_expand = false;   ///< the same, and these may stop them

  StepParts(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
            CollectiveMemory* memory = nullptr);

  const StageWork& work(int stage) const { return *parts[static_cast<std::size_t>(stage)].work; }
  int chunks() const { return strategy.virtual_pipeline; }
  int parts_of_model() const { return stages * chunks(); }
  int part_of(int stage, int chunk) const { return models::part_of(strategy, stage, chunk); }
  const PipelineSchedule& schedule() const { return schedule_of(strategy); }
  const Framework& framework() const { return *framework_; }
  bool blocking() const { return framework().sends_block(strategy); }
  /// Micro-batches after which steady stages repeat themselves.
  int round() const { return schedule().round(shape_of(strategy, micro_batches)); }
  /// True if some collectives of a layer overlap its work.
  bool overlaps() const { return framework().overlaps_layers(strategy); }
  /// True if collectives slow the work of layers throughout, so that reductions of gradients slow it no further.
  bool overlaps_throughout() const {
    const bool others = strategy.context_parallel > 1 || framework().tensor_overlap(strategy);
    return overlaps() && (others || !framework().overlaps_experts(strategy));
  }
  /// True if some operators are in the background (Operator).
  bool has_background() const {
    return framework().units(strategy) || framework().overlaps_experts(strategy);
  }
  /// True if gradients are reduced during the last backward pass.
  bool reduces_early() const {
    return framework().reduces_with_backward(strategy) && !framework().units(strategy) &&
           std::max(strategy.data_ranks(), expert_data_ranks(strategy)) > 1;
  }
  /// True if weights are gathered during the first forward pass.
  bool gathers_ahead() const {
    return reduces_early() && framework().gathers_with_forward() && framework().weights(strategy);
  }
  bool sends_beside_work() const { return framework().sends_beside_work(strategy); }
  /// The factor on the time of work while a transfer overlaps it.
  double slowdown() const { return overlaps() || reduces_early() ? profile[common::overlap_slowdown] : 1; }

  const Item& hold(int boundary, bool activation) const {
    const Boundary& b = boundaries[static_cast<std::size_t>(boundary)];
    return activation ? b.activation_hold : b.gradient_hold;
  }

 private:
  void make_stages();
  void make_boundaries();
  void find_shared();
  std::shared_ptr<const Items> joined_where_alone(const Items& items,
                                                  const std::set<const Item*>& sharing) const;

  const Framework* framework_ = &framework_of(strategy);  // its name is looked up once
};

}  // namespace trnplan::models
