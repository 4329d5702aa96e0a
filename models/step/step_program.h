// The items of a step as a program for the engine. Internal to the step model.
#pragma once

#include <variant>
#include <vector>

#include "models/framework/schedule.h"
#include "models/step/jitter.h"
#include "models/step/step_lanes.h"
#include "models/step/step_parts.h"
#include "sim/executor.h"
#include "sim/program.h"

namespace trnplan::models {

/// The identity of a task of a step's program, besides its item.
namespace task {

/// A pass over a micro-batch, or one of its operators.
struct PassPart {
  int stage = 0, chunk = 0;
  StageAction::Kind kind = StageAction::Kind::forward;  ///< forward, backward or weights
  bool operator==(const PassPart&) const = default;
};
/// A message over the boundary above stage `boundary`, to the stage above or from it.
struct Message {
  int boundary = 0;
  bool up = false;
  bool activation = false;  ///< not a gradient
  bool operator==(const Message&) const = default;
};
/// The start of a message that is not a meeting of its stages.
struct Launch {
  int stage = 0;
  bool operator==(const Launch&) const = default;
};
/// The time of such a message on a queue, without the message itself.
struct Hold {
  int stage = 0;
  bool operator==(const Hold&) const = default;
};
/// The time before the first action of a lane that starts late.
struct LateStart {
  int stage = 0;
  bool operator==(const LateStart&) const = default;
};
/// A part of a stage's work after its last micro-batch.
struct EndPart {
  int stage = 0;
  bool operator==(const EndPart&) const = default;
};
/// A part of a reduction of gradients during a stage's last backward pass, or of a gather of weights during
/// its first forward pass.
struct Reduction {
  int stage = 0;
  bool operator==(const Reduction&) const = default;
};
/// A barrier of all stages.
struct Barrier {
  bool operator==(const Barrier&) const = default;
};
/// A wait of two queues of a stage for each other; it has no item.
struct Join {
  int stage = 0;
  bool operator==(const Join&) const = default;
};

using What = std::variant<PassPart, Message, Launch, Hold, LateStart, EndPart, Reduction, Barrier, Join>;

}  // namespace task

/// A step as a program, with the identity of its tasks.
struct StepProgram {
  struct Source {
    const Item* item = nullptr;  ///< nullptr: task::Join
    task::What what;
    bool operator==(const Source&) const = default;

    /// The alternative of that type, or nullptr.
    template <class Alternative>
    const Alternative* as() const {
      return std::get_if<Alternative>(&what);
    }
    template <class Alternative>
    bool is() const {
      return std::holds_alternative<Alternative>(what);
    }
  };
  /// The tasks of one action of one stage's schedule: from `first` to the next segment's. A message outside
  /// the queues belongs to the pass that waits for it.
  struct Segment {
    sim::TaskId first = 0;
    int stage = 0;
    StageAction action{};
    std::vector<double> factors;  ///< of the times of its pass by replica; empty unless times are random
  };
  sim::Program program;
  std::vector<Source> sources;        ///< by tag
  std::vector<Segment> segments;      ///< in the order of tasks, so in that of each stage's queue; on request
  std::vector<Fabric::Id> resources;  ///< fabric id of each resource of the program
  /// The period of the program where all stages are in the steady part of their schedules: it repeats every
  /// `micro_batches_of_period` micro-batches. A step with that many more micro-batches has these tasks once
  /// more, and is otherwise the same. Period 0: too few micro-batches.
  sim::Repeats repeats;
  int micro_batches_of_period = 0;

  const Source& of(sim::TaskId t) const { return sources[program.tasks()[t].tag]; }
};

/// Writes the program. `segments`: also records the
/// action of each task. `jitter`, which may be null: random times. Without either, the operators of a pass of a lane
/// that has its stage to itself are a series.
StepProgram make_program(const StepParts& parts, Layout& layout, Detail detail, bool segments = false,
                         Jitter* jitter = nullptr);
/// Writes the program of a step with that many micro-batches instead.
StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, Detail detail);
/// The same without series, and records its period.
StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, Detail detail,
                            bool segments);

/// The period of that program in actions in place of tasks, which takes no program.
sim::Repeats period_in_actions(int micro_batches, const StepParts& parts);

/// Time of a task beyond its fixed part.
SimTime beyond_fixed(const sim::Program& program, const sim::Run& run, sim::TaskId t);

}  // namespace trnplan::models
