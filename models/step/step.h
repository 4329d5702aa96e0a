// One training step of a strategy as a program for the event engine, and the results of simulating it.
//
// Structure (docs/models.md, "Step"): every pipeline stage is an in-order device. Data-parallel replicas and
// the ranks of a tensor-parallel group do the same at the same time and are one device (equal by symmetry). A
// layer's forward or backward is a sub-program of its own, run on the engine with its collectives on the
// torus links, and remembered; collectives that share links or NICs with other devices run in the step itself
// (Detail in step_parts.h). Stages that do the same work on like cores are built once. After the last
// micro-batch come the norm-weight all-reduces, context parallel's all-reduces, the ZeRO-1 reduce-scatter, the
// gradient norm (all stages wait for each other), AdamW, and the all-gather of the new weights. The flat form has one device per
// core, and every group on every node for itself; the two forms share only the rule by which flows share
// resources. The strategy's framework describes the training loop (models/framework/framework.h). Not
// modelled: data loading.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/report/step_report.h"
#include "models/step/scenario.h"
#include "topology/chip_graph.h"

namespace trnplan::models {

/// Options of a simulation.
struct StepOptions {
  bool flat = false;      ///< one device per core, every group on every node; same result to the tick
  bool expand = false;    ///< every operator a task; same to the tick
  bool unfolded = false;  ///< every micro-batch run, no steady rounds counted; same to the tick
  Scenario scenario;      ///< a machine that is not ideal
  int run = 0;            ///< of a scenario with random times
};

/// Steps of a scenario with random times.
struct StepRuns {
  StepReport median;  ///< the run in the middle, by nearest rank
  RunsOfStep runs;
};

/// Thrown when a step without a rhythm has too many micro-batches to run one by one.
class TooManyPasses : public std::overflow_error {
 public:
  using std::overflow_error::overflow_error;
};

class CollectiveMemory;
struct StepParts;

/// A strategy prepared for simulation. Holds no reference to its arguments except `memory`.
class StepModel {
 public:
  /// The part of this job and strategy that the simulator does not cover; "" when it can be simulated.
  static std::string not_modelled(const Job& job, const Strategy& strategy);

  /// Throws std::invalid_argument when not_modelled() is not empty or the rank order cannot be formed,
  /// std::overflow_error when a transfer exceeds the clock or has no path. `graph` is the chip graph of the
  /// job's instance. `memory`, which may be null, holds collectives of this job and strategy
  /// (models/collective/collective_memory.h); it is kept and used as long as the model exists. Cost: O(PP *
  /// distinct collectives * cores).
  StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
            const topology::ChipGraph& graph, CollectiveMemory* memory = nullptr);
  ~StepModel();
  StepModel(StepModel&&) noexcept;
  StepModel& operator=(StepModel&&) noexcept;

  /// A time that simulate() never beats: the busiest stage's own work and the end of the step, uncontended.
  Seconds lower_bound() const;

  /// Simulates the step. Throws TooManyPasses, and std::overflow_error beyond the clock. Cost: once all
  /// stages are in their steady rounds and these repeat, to the tick and in every detail, the remaining
  /// rounds are counted. That takes O(PP^2) events, whatever the number of micro-batches. Where they never
  /// repeat, and if unfolded or flat, all micro-batches are run: O(PP * micro-batches), or O(cores * layers *
  /// micro-batches) if flat. Above 4 million tasks the step is extrapolated instead, if it grows evenly.
  StepReport simulate(StepOptions options = {}) const;

  /// Simulates the runs of a scenario with random times. Throws as simulate() does. Cost: a run takes
  /// O(replicas x PP x micro-batches) where the operators of a pass need no tasks of their own.
  StepRuns simulate_runs(const Scenario& scenario) const;

  /// True if each pass of a lane is one task in the scenario; if not, its operators are, and runs cost as many times
  /// as much. Cost: that of the groups of ranks, without a simulation.
  bool has_whole_passes(const Scenario& scenario) const;

  /// The work of all cores, by stage, then ascending by factor. Cost: O(cores + operators).
  std::vector<CoreWork> core_work(const Scenario& scenario) const;

  /// The parts, for models/step/timeline.h.
  const StepParts& parts() const { return *parts_; }

 private:
  std::unique_ptr<const StepParts> parts_;
};

/// Simulates a step in one call: builds the chip graph and the StepModel.
StepReport simulate_step(const Job& job, const Strategy& strategy, const Profile& profile,
                         StepOptions options = {});

}  // namespace trnplan::models
