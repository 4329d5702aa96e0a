// What a step is put together from: passes of stages, messages between them, the end of the step. Internal to
// the step model.
//
// Stages that do the same work on the same cores of their nodes are built once: a class. What another stage
// of the class puts on resources is the same, moved by the difference of their node classes (`shift`).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "models/step/step.h"
#include "models/step/step_items.h"
#include "models/step/step_layout.h"

namespace trnplan::models {

/// A sequence of items run alone.
struct ChainRun {
  struct Span {
    SimTime start, end;
    bool overlapped = false;  ///< on the collective engine
  };
  Attribution attribution;  ///< along its critical path
  SimTime length;
  std::vector<Span> spans;  ///< of each item
};
/// Devices 0 (compute) and 1 (collectives that run beside it).
ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown);

/// Operators of one core as items of the groups it belongs to.
class OperatorItems {
 public:
  /// Keeps references to its arguments.
  OperatorItems(const Fabric& fabric, const StageGroups& groups) : fabric_(fabric), groups_(groups) {}
  Items of(const OperatorList& operators);

 private:
  const Fabric& fabric_;
  const StageGroups& groups_;
  std::map<std::tuple<CollectiveOp, ProcessGroup, double>, Collective>
      known_;  ///< the same few come again and again
};

/// Operators that are done one after the other, `times` times.
struct Chain {
  enum class Part { embedding, layer, head, gradients } part = Part::layer;  ///< gradients: adding them up
  std::shared_ptr<const Items> items;
  std::shared_ptr<const ChainRun> run;
  int times = 1;
};

/// A stage's pass over one micro-batch and chunk.
struct Pass {
  std::vector<Chain> chains;
  std::optional<Item> launch;
  Item whole;  ///< the same as one task of known length
  Flops flops{};
};

/// One chunk of layers of a stage.
struct Chunk {
  Pass forward, backward;
  Pass weights;  ///< only with a split backward, whose `backward` then has the rest
};

/// What a class of stages does.
struct StageWork {
  std::vector<Chunk> chunks;
  Items gradients_to_norms, context_reduce, reduce, gather;
  Item optimizer, end;
};

struct StagePart {
  std::shared_ptr<const StageWork> work;
  Fabric::Id shift = 0;
};

/// Messages over the boundary above a stage.
struct Boundary {
  std::shared_ptr<const Items> activation, gradient;
  Item activation_hold, gradient_hold;  ///< messages beside the queues: how long each occupies a queue
  Fabric::Id shift = 0;
};

/// The end of a step as calls: what each collective is made from, and the seconds that start its buckets.
struct EndCall {
  std::string_view name;
  Category category = Category::data_parallel;
  Call call;
  Seconds buckets{};
};
struct EndOfStep {
  std::vector<EndCall> norms, context, reduce, gather;
  Operator optimizer;
};
/// Of a stage of `layers` layers.
EndOfStep end_of_step(const Job& job, const Strategy& s, const Profile& profile, const LayerModel& model,
                      int stage, int layers);

/// What starting a graph takes, by `p` of the profile; and the host's own launch (`host_launch`) where no
/// second request is in flight that hides it.
Item graph_start(std::string_view name, Category c, Parameter p, const Job& job, const Profile& profile);

/// Scalars that all stages wait for.
Item make_barrier(const Job& job, const Strategy& s, const Profile& profile);

/// Whose operators run at the same time as others.
inline bool overlaps(const Strategy& s) {
  return s.context_parallel > 1;
}

/// Messages are meetings of both their stages (1F1B). Otherwise the order in which NxD pairs them is not
/// known: each occupies the queues of both for its time, but neither waits for the other to be free.
inline bool blocks(const Strategy& s, Schedule schedule) {
  return s.virtual_pipeline == 1 && schedule == Schedule::nxd;
}

/// Everything the program is made of.
struct StepParts : StepLayout {
  Schedule schedule;
  LayerModel layer_model;
  int micro_batches;
  std::vector<StagePart> parts;
  std::vector<Boundary> boundaries;  ///< of stage s to s + 1; with chunks also of the last to the first
  Item message_launch;               ///< of a send or a receive that is no meeting of its stages
  Item barrier;
  bool must_expand = false;

  StepParts(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
            Schedule schedule, CollectiveMemory* memory = nullptr);

  const StageWork& work(int stage) const { return *parts[static_cast<std::size_t>(stage)].work; }
  int chunks() const { return strategy.virtual_pipeline; }
  bool blocking() const { return blocks(strategy, schedule); }
  bool overlaps() const { return models::overlaps(strategy); }
  /// How much longer work takes while a transfer runs beside it.
  double slowdown() const { return overlaps() ? profile[common::overlap_slowdown] : 1; }

  const Item& hold(int boundary, bool activation) const {
    const Boundary& b = boundaries[static_cast<std::size_t>(boundary)];
    return activation ? b.activation_hold : b.gradient_hold;
  }

 private:
  void make_stages();
  void make_boundaries();
  bool chains_share_with_others() const;
};

}  // namespace trnplan::models
