// The items of a step as a program for the engine: one lane per stage where all its ranks do the same, or one
// per core. Internal to the step model.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/framework/schedule.h"
#include "models/step/step_parts.h"
#include "sim/executor.h"
#include "sim/program.h"

namespace trnplan::models {

/// How a step's lanes and transfers are laid out.
class Layout {
 public:
  /// A transfer that a set of lanes of a stage make together.
  struct Share {
    std::vector<int> lanes;
    Fabric::Load load;
    double scale = 0;
  };
  virtual ~Layout() = default;
  virtual int lanes(int stage) const = 0;
  virtual const Fabric& fabric() const = 0;
  /// The transfers of an item of a stage; `shift` of the stage is applied.
  virtual const std::vector<Share>& shares(int stage, const Item& item) = 0;
  /// The same over a boundary: lanes of the stage below first, then those of the stage above.
  virtual const std::vector<Share>& pair_shares(int boundary, const Item& item) = 0;
};

/// One lane per stage.
std::unique_ptr<Layout> lane_per_stage(const StepParts& parts);
/// One lane per core, every node and every group of its own.
std::unique_ptr<Layout> lane_per_core(const StepParts& parts);

/// A step as a program, and what its tasks are.
struct StepProgram {
  struct Source {
    const Item* item = nullptr;  ///< nullptr: two queues wait for each other
    int stage = 0;               ///< negative: -1 - boundary of a message, or all stages
    int chunk = 0;
    bool pass = false;  ///< forward, backward or weights of a micro-batch
    const char* label = "";
    /// A message's time on a queue, beside the message itself.
    bool operator==(const Source&) const = default;
    bool is_hold() const { return std::string_view(label) == "hold"; }
  };
  /// The tasks of one action of one stage's schedule: from `first` to the next segment's. Of a message beside
  /// the queues, with the pass that waits for it; of the end of the step, micro-batch -1.
  struct Segment {
    sim::TaskId first = 0;
    int stage = 0;
    StageAction action{};
  };
  sim::Program program;
  std::vector<Source> sources;    ///< by tag
  std::vector<Segment> segments;  ///< in the order of tasks, so in that of every stage's queue; on request
  std::vector<Fabric::Id> resources;  ///< fabric id of each resource of the program
  /// Where all stages are in the steady part of their schedules and the program repeats itself, every
  /// `micro_batches_of_period` micro-batches: a step with as many more has those tasks once more, and is the
  /// same else. Period 0: too few micro-batches for that.
  sim::Repeats repeats;
  int micro_batches_of_period = 0;

  const Source& of(sim::TaskId t) const { return sources[program.tasks()[t].tag]; }
};

/// `expand`: every operator is a task; else every pass. `segments`: also note which task belongs to what.
StepProgram make_program(const StepParts& parts, Layout& layout, bool expand, bool segments = false);
/// Of a step of that many micro-batches instead; notes what repeats.
StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, bool expand,
                            bool segments);

/// What a task took beyond its fixed part.
SimTime beyond_fixed(const sim::Program& program, const sim::Run& run, sim::TaskId t);

}  // namespace trnplan::models
