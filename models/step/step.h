// One training step of a strategy as a program for the event engine, and what its simulation says.
//
// Structure (docs/models.md, "Step"): every pipeline stage is an in-order device; data-parallel replicas and
// the ranks of a tensor-parallel group do the same thing at the same time and are one device (equal by
// symmetry). A layer's forward or backward is a sub-program of its own, run on the engine with its
// collectives on the torus links, and remembered; it is expanded into the step when another device's
// transfers touch the same links. Stages that do the same work on like cores are built once. After the last
// micro-batch come the norm-weight all-reduces, context parallel's all-reduces, the ZeRO-1 reduce-scatter,
// the gradient norm (all stages wait for each other), AdamW, and the all-gather of the new weights. The flat
// form has one device per core and every group of its own on every node: it shares nothing with the other but
// the rule by which resources are shared out. What the training loop does
// is asked of the strategy's framework (models/framework/framework.h). Not modelled: data loading.
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
#include "topology/chip_graph.h"

namespace trnplan::models {

/// How a step is simulated.
struct StepOptions {
  bool flat = false;  ///< one device per core, every group on every node; the answer is the same to the tick
  bool expand = false;    ///< every operator a task, instead of remembered sub-programs; the same to the tick
  bool unfolded = false;  ///< every micro-batch, instead of steady rounds counted; the same to the tick
};

/// A step without a rhythm has too many micro-batches to be run one by one.
class TooManyPasses : public std::overflow_error {
 public:
  using std::overflow_error::overflow_error;
};

class CollectiveMemory;
struct StepParts;

/// A strategy prepared for simulation. Holds no reference to its arguments but `memory`.
class StepModel {
 public:
  /// What the simulator does not cover of this job and strategy, or "" when it can be simulated.
  static std::string not_modelled(const Job& job, const Strategy& strategy);

  /// Throws std::invalid_argument when not_modelled() is not empty or the rank order cannot be formed,
  /// std::overflow_error when a transfer exceeds the clock or has no way to take.
  /// `graph` is the chip graph of the job's instance. `memory`, which may be null, is kept and used while the
  /// model is: of collectives of this job and strategy (models/collective/collective_memory.h).
  /// Cost: O(PP * distinct collectives * cores).
  StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
            const topology::ChipGraph& graph, CollectiveMemory* memory = nullptr);
  ~StepModel();
  StepModel(StepModel&&) noexcept;
  StepModel& operator=(StepModel&&) noexcept;

  /// A time that simulate() never beats: the busiest stage's own work and the end of the step, uncontended.
  Seconds lower_bound() const;

  /// Throws TooManyPasses, and std::overflow_error beyond the clock. Cost: once all stages are in their
  /// steady rounds and these repeat, to the tick and in every detail, the rest of them is counted: O(PP^2)
  /// events then, whatever the micro-batches. Where that never happens, unfolded, and flat: all of them, O(PP
  /// * micro-batches) and O(cores * layers * micro-batches); above 4 million tasks extrapolated instead, when
  /// the step grows evenly.
  StepReport simulate(StepOptions options = {}) const;

  /// For models/step/timeline.h.
  const StepParts& parts() const { return *parts_; }

 private:
  std::unique_ptr<const StepParts> parts_;
};

/// StepModel(...).simulate() in one call, building the chip graph.
StepReport simulate_step(const Job& job, const Strategy& strategy, const Profile& profile,
                         StepOptions options = {});

}  // namespace trnplan::models
