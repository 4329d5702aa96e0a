// Lower bounds of step times for a whole search, and the pipeline cuts that minimise them. They combine the
// costs of stages (stage_costs.h), the pipeline (pipeline_time.h) and the distribution of layers
// (layer_split.h). docs/models.md, "Bound".
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "topology/chip_graph.h"
#include "units/sim_time.h"

namespace trnplan::models {

class StageCosts;

/// Bounds of one job's strategies under 1F1B and interleaved schedules. Remembers the costs that strategies
/// share: one thread per object. Keeps references to its arguments.
class StepBounds {
 public:
  StepBounds(const Job& job, const Profile& profile, const topology::ChipGraph& graph);
  StepBounds(const Job&, Profile&&, const topology::ChipGraph&) = delete;
  ~StepBounds();
  StepBounds(const StepBounds&) = delete;
  StepBounds& operator=(const StepBounds&) = delete;

  /// Equals StepModel::lower_bound() of a step of `micro_batches` micro-batches, up to one tick per item.
  /// Throws std::invalid_argument and std::overflow_error as StepModel does. Cost: microseconds, once a
  /// layout (degrees) is known.
  SimTime lower_bound(const Strategy& s, int micro_batches);

  /// pipeline_time() of a strategy without virtual pipeline, else lower_bound(). Never above the simulated
  /// time.
  SimTime without_contention(const Strategy& s, int micro_batches);

  /// A bound that is never above lower_bound() of `s` with any cuts. Requires: VPP 1.
  SimTime bound_of_any_cuts(const Strategy& s, int micro_batches);

  /// Layers of each stage that minimise pipeline_time() when stage i may hold most[i] layers; empty when the
  /// layers do not fit. Dynamic programming finds the smallest bound; where that is not the time, moves of
  /// single layers follow. Tests compare with trying all cuts on small models. Among equals the automatic
  /// cuts win. Requires: VPP 1. Cost: O(PP * layers * choices), milliseconds, at most tens of them.
  std::vector<int> best_layers(const Strategy& s, int micro_batches, const std::vector<int>& most);

 private:
  std::unique_ptr<StageCosts> costs_;
};

/// Bounds of the compute of one job's strategies in a step, with every collective free. One thread per
/// object. Keeps a reference to `job`.
class ComputeBounds {
 public:
  ComputeBounds(const Job& job, const Profile& profile);
  ComputeBounds(const ComputeBounds&) = delete;
  ComputeBounds& operator=(const ComputeBounds&) = delete;

  /// Time of the busiest stage. This bound also holds where a replica group is refused and the time of its
  /// collectives is unknown. Cost: microseconds.
  SimTime busiest_stage(const Strategy& s, int micro_batches);

  /// The mean time of the stages, with any cuts: the busiest one takes no less, but for rounding (1e-9). Does not count
  /// the addition of gradients. Remembers the time of a layer, which strategies share that differ only in the
  /// degrees that distribute layers and batches. Throws std::overflow_error where a layer is beyond the
  /// simulation clock. Cost: below a microsecond once a kind of layer is known.
  Seconds mean_stage(const Strategy& s, int micro_batches);

 private:
  /// Work of a micro-batch, forward and backward.
  struct Parts {
    SimTime layer, embedding, head;
  };
  /// Parts of a strategy that change the operators of a micro-batch, but for recomputation.
  using Key =
      std::tuple<int, int, int, int, int, int, int, bool, bool, Precision, Sharding, std::string_view>;
  /// The same, and the backward of a layer by the recomputation, which changes nothing else.
  struct Kind {
    SimTime layer_forward, embedding, head;
    std::vector<std::pair<Recompute, SimTime>> layer_backward;
  };
  /// A stage with work that differs from that of the one below.
  struct Stage {
    int layers;
    bool first, last;
    SimTime accumulate;  ///< gradients of a micro-batch
  };
  /// The stages of the strategy asked for last.
  struct Stages {
    Strategy strategy;
    std::vector<Stage> all;
  };
  static Key key_of(const Strategy& s);
  Kind& kind_of(const Strategy& s);
  const std::vector<Stage>& stages_of(const Strategy& s);
  Parts parts(const Strategy& s);
  double measured(const Strategy& s) const;

  const Job& job_;
  Profile profile_;  ///< as on_job() returns it
  bool measures_;    ///< it knows measured layouts of the job's stack
  std::map<Key, Kind> known_;
  std::pair<const Key, Kind>* last_ = nullptr;  ///< of `known_`, the one asked for last
  Stages stages_;
};

}  // namespace trnplan::models
