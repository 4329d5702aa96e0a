// Pipeline schedules: in which order a stage computes its micro-batches and talks to its neighbours, how much
// of them is alive meanwhile, and what bounds the time. All of them stand in schedules.cpp, which says where
// each comes from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/job/strategy.h"

namespace trnplan::models {

/// One thing a stage does. A transfer names the boundary below or above the stage and appears in both stages'
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

/// What of a stage is alive: micro-batches (virtual pipeline: chunks of them) between their forward and the end of
/// their backward, the layers of all of them, and of these the layers of which only the gradients of weights are left.
struct Alive {
  int passes = 0, layers = 0, deferred = 0;
};

/// When most is alive in a backward pass, while the last stage computes a loss, and, of a split backward, when the
/// gradients of weights of most layers are left.
struct Residency {
  Alive most, at_loss, late;
};

/// What a schedule is asked about.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  ///< of layers that each stage holds
  int micro_batches = 1;

  /// Of the model, in the order of its layers: each chunk of a stage is one.
  [[nodiscard]] int parts() const { return stages * chunks; }
};

/// A schedule. Stages count from 0.
class PipelineSchedule {
 public:
  explicit constexpr PipelineSchedule(Schedule name) : name_(name) {}
  virtual ~PipelineSchedule() = default;

  /// Why a pipeline of this shape cannot run it, or "". All else requires that it can. Most schedules ask for a number
  /// of chunks and nothing else (chunks_of()).
  [[nodiscard]] virtual std::string obstacle(const PipelineShape& shape) const;

  /// Chunk c of all stages together is parts c * stages to (c + 1) * stages - 1 of the model, one on each stage. It
  /// goes through the stages from the last one down to the first, not up from the first. Not asked of the first chunk,
  /// which goes up.
  [[nodiscard]] virtual bool descends(int chunk) const {
    (void)chunk;
    return false;
  }

  /// What a stage computes, in order, and the end of the step. Cost: O(micro-batches x chunks).
  [[nodiscard]] virtual std::vector<StageAction> passes(int stage, const PipelineShape& shape) const = 0;
  /// The same with its messages, each a meeting of both its stages; empty where it is not known how sends and
  /// receives pair up.
  [[nodiscard]] virtual std::vector<StageAction> meetings(int stage, const PipelineShape& shape) const {
    (void)stage, (void)shape;
    return {};
  }
  /// meetings() are known.
  [[nodiscard]] virtual bool meets() const { return false; }
  /// Backward passes are split: the gradient of the input, then, apart, that of the weights.
  [[nodiscard]] virtual bool splits_backward() const { return false; }
  /// The last pass over a micro-batch and chunk, after which nothing of it is alive.
  [[nodiscard]] StageAction::Kind last_pass() const {
    return splits_backward() ? StageAction::Kind::weights : StageAction::Kind::backward;
  }
  /// Micro-batches after which steady stages repeat themselves.
  [[nodiscard]] virtual int round(const PipelineShape& shape) const {
    (void)shape;
    return 1;
  }

  /// The last gradient goes down through all stages before the step can end (a bound of the step's time).
  [[nodiscard]] virtual bool drains() const { return true; }
  /// pipeline_time() (models/step/pipeline_time.h) is its time where nothing is contended.
  [[nodiscard]] virtual bool has_closed_time() const { return false; }

  /// What is alive on a stage whose chunks have `layers`. Cost: O(1), with chunks or a split backward O(stages x chunks).
  [[nodiscard]] virtual Residency residency(int stage, const PipelineShape& shape,
                                            std::span<const int> layers) const = 0;

 private:
  Schedule name_;
};

[[nodiscard]] const PipelineSchedule& pipeline_schedule(Schedule s);

/// That of a strategy, canonical or not.
[[nodiscard]] const PipelineSchedule& schedule_of(const Strategy& s);

[[nodiscard]] inline PipelineShape shape_of(const Strategy& s, int micro_batches = 1) {
  return {s.pipeline_parallel, s.virtual_pipeline, micro_batches};
}

/// Where a stage comes among the parts of a chunk, and which stage comes there (PipelineSchedule::descends()).
[[nodiscard]] inline int turned(const Strategy& s, int stage, int chunk) {
  return chunk > 0 && schedule_of(s).descends(chunk) ? s.pipeline_parallel - 1 - stage : stage;
}
/// The part of the model that a chunk of a stage is.
[[nodiscard]] inline int part_of(const Strategy& s, int stage, int chunk) {
  return chunk * s.pipeline_parallel + turned(s, stage, chunk);
}
/// The stage that holds a part of the model.
[[nodiscard]] inline int stage_of(const Strategy& s, int part) {
  return turned(s, part % s.pipeline_parallel, part / s.pipeline_parallel);
}

/// Which ends of the model a stage holds: the first part has the embedding, the last the head.
struct StageEnds {
  bool first = false, last = false;
};
[[nodiscard]] inline StageEnds ends_of(const Strategy& s, int stage) {
  return {stage == 0, part_of(s, stage, s.virtual_pipeline - 1) == shape_of(s).parts() - 1};
}

}  // namespace trnplan::models
