// Pipeline schedules: the order in which a stage computes its micro-batches and exchanges messages with its
// neighbours, how much of them is alive meanwhile, and what bounds the time. All of them are in
// schedules.cpp, which names the source of each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/job/strategy.h"

namespace trnplan::models {

/// One action of a stage. A transfer names the boundary below or above the stage and appears in both stages'
/// lists.
struct StageAction {
  enum class Kind {
    forward,          ///< compute
    backward,         ///< compute; with a split backward the gradient of the input
    weights,          ///< compute: the gradient of the weights
    activation_up,    ///< this stage to the next: send
    activation_down,  ///< from the stage before: receive
    gradient_down,    ///< this stage to the one before: send
    gradient_up,      ///< from the next stage: receive
    end_of_step,      ///< of all stages together, after everything else: reductions, optimizer, gathers
  } kind;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const StageAction&) const = default;
};
inline constexpr StageAction kEndOfStep{StageAction::Kind::end_of_step, -1};  ///< of no micro-batch

/// Live activations of a stage: micro-batches (virtual pipeline: chunks of them) between their forward and
/// the end of their backward, the layers of all of them, and the number of these layers for which only the
/// gradients of weights are left.
struct Alive {
  int passes = 0, layers = 0, deferred = 0;
};

/// Live activations at three moments: when most are alive in a backward pass; while the last stage computes a
/// loss; and, with a split backward, when the gradients of weights of most layers are left.
struct Residency {
  Alive most, at_loss, late;
};

/// Size of a pipeline, for questions to a schedule.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  ///< of layers that each stage holds
  int micro_batches = 1;

  /// Parts of the model, in the order of its layers: each chunk of a stage is one.
  [[nodiscard]] int parts() const { return stages * chunks; }
};

/// A schedule. Stages count from 0.
class PipelineSchedule {
 public:
  explicit constexpr PipelineSchedule(Schedule name) : name_(name) {}
  virtual ~PipelineSchedule() = default;

  /// Reason why a pipeline of this shape cannot run the schedule, or "". All other functions require that it
  /// can. Most schedules only ask for a number of chunks (chunks_of()).
  [[nodiscard]] virtual std::string obstacle(const PipelineShape& shape) const;

  /// True if a chunk goes through the stages from the last one down to the first, not up from the first.
  /// Chunk c of all stages together is parts c * stages to (c + 1) * stages - 1 of the model, one on each
  /// stage. Not called for the first chunk, which goes up.
  [[nodiscard]] virtual bool descends(int chunk) const {
    (void)chunk;
    return false;
  }

  /// Passes of a stage, in order, and the end of the step. Cost: O(micro-batches x chunks).
  [[nodiscard]] virtual std::vector<StageAction> passes(int stage, const PipelineShape& shape) const = 0;
  /// Passes with their messages, each a meeting of both its stages; empty if it is unknown how sends and
  /// receives pair up.
  [[nodiscard]] virtual std::vector<StageAction> meetings(int stage, const PipelineShape& shape) const {
    (void)stage, (void)shape;
    return {};
  }
  /// True if meetings() are known.
  [[nodiscard]] virtual bool meets() const { return false; }
  /// True if backward passes are split: the gradient of the input and, in a pass of its own, that of the
  /// weights.
  [[nodiscard]] virtual bool splits_backward() const { return false; }
  /// The last pass over a micro-batch and chunk; nothing of it is alive afterwards.
  [[nodiscard]] StageAction::Kind last_pass() const {
    return splits_backward() ? StageAction::Kind::weights : StageAction::Kind::backward;
  }
  /// Micro-batches after which steady stages repeat their pattern.
  [[nodiscard]] virtual int round(const PipelineShape& shape) const {
    (void)shape;
    return 1;
  }

  /// True if the last gradient goes down through all stages before the step can end (a bound of the step's
  /// time).
  [[nodiscard]] virtual bool drains() const { return true; }
  /// True if pipeline_time() (models/step/pipeline_time.h) is its time without contention.
  [[nodiscard]] virtual bool has_closed_time() const { return false; }

  /// Live activations of a stage with chunks of `layers`. Cost: O(1), with chunks or a split backward
  /// O(stages x chunks).
  [[nodiscard]] virtual Residency residency(int stage, const PipelineShape& shape,
                                            std::span<const int> layers) const = 0;

 private:
  Schedule name_;
};

[[nodiscard]] const PipelineSchedule& pipeline_schedule(Schedule s);

/// Schedule of a strategy, canonical or not.
[[nodiscard]] const PipelineSchedule& schedule_of(const Strategy& s);

[[nodiscard]] inline PipelineShape shape_of(const Strategy& s, int micro_batches = 1) {
  return {s.pipeline_parallel, s.virtual_pipeline, micro_batches};
}

/// Position of a stage among the parts of a chunk, and also the stage at that position
/// (PipelineSchedule::descends()).
[[nodiscard]] inline int turned(const Strategy& s, int stage, int chunk) {
  return chunk > 0 && schedule_of(s).descends(chunk) ? s.pipeline_parallel - 1 - stage : stage;
}
/// The part of the model in a chunk of a stage.
[[nodiscard]] inline int part_of(const Strategy& s, int stage, int chunk) {
  return chunk * s.pipeline_parallel + turned(s, stage, chunk);
}
/// The stage that holds a part of the model.
[[nodiscard]] inline int stage_of(const Strategy& s, int part) {
  return turned(s, part % s.pipeline_parallel, part / s.pipeline_parallel);
}

/// Ends of the model that a stage holds: the first part has the embedding, the last the head.
struct StageEnds {
  bool first = false, last = false;
};
[[nodiscard]] inline StageEnds ends_of(const Strategy& s, int stage) {
  return {stage == 0, part_of(s, stage, s.virtual_pipeline - 1) == shape_of(s).parts() - 1};
}

}  // namespace trnplan::models
