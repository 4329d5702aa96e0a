// What the training loop of a framework really does with a strategy: which sends block, what runs beside what,
// who keeps which optimizer states, in which buckets gradients and weights are exchanged, what a launch starts,
// what is recomputed. Steps, memory and bounds ask it and know no framework. A strategy names its framework (""
// means that of the job's target); frameworks.cpp has the table of all of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "models/collective/collective.h"
#include "models/framework/process_group.h"
#include "models/framework/schedule.h"
#include "models/job/strategy.h"
#include "units/quantity.h"

namespace trnplan::models {

/// Bytes per parameter: what is alive, and what moves through HBM. Moved: each value read and written once per
/// use; counted, not measured.
struct StateBytes {
  double parameter, gradient;   ///< on every rank
  double shard, reduced;        ///< master weights and moments; gradient shard inside the step: divided by D
  double accumulate;            ///< moved when a micro-batch's gradient is added
  double update, update_shard;  ///< moved by the optimizer; the second divided by D
};

/// A value of every parameter, exchanged once a step in buckets, one collective each.
struct Exchange {
  CollectiveOp op = CollectiveOp::all_reduce;
  ProcessGroup group = ProcessGroup::replicas;  ///< of the weights of experts: ProcessGroup::expert_data
  double bytes = 0;                             ///< of a parameter
  Bytes bucket{};                               ///< at most
};

/// What starts a pass.
enum class Launch {
  none,   ///< it is part of the graph before it
  task,   ///< a graph of a pipeline's task
  graph,  ///< the graph of a whole micro-batch
};
struct PassLaunches {
  Launch forward = Launch::graph, backward = Launch::none;
  Launch weights = Launch::none;  ///< of a split backward
};

/// What a layer's backward pass does again.
struct RecomputeUnits {
  bool layer = false;    ///< all of the forward pass
  bool mlp = false;      ///< or all of the MLP
  bool product = false;  ///< the gated MLP's product
  bool norms = false;
  bool scores = false;  ///< plain attention between its two products
};

/// Scalars that are all-reduced before the optimizer and that every stage waits for.
struct ScalarReduces {
  int all = 0;
  int between_nodes = 0;  ///< of these, on several nodes
};

class Framework {
 public:
  virtual ~Framework() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// It has this pipeline schedule; others are what-ifs.
  [[nodiscard]] virtual bool runs(Schedule schedule) const = 0;
  /// It can train the model with flash attention; plain attention it always has.
  [[nodiscard]] virtual bool has_flash_attention(const Architecture& a) const = 0;
  /// Messages between stages are meetings of both: a send waits for its receive. Otherwise each occupies the
  /// queues of both for its time, but neither waits for the other to be free.
  [[nodiscard]] virtual bool sends_block(const Strategy& s) const = 0;
  /// Some collectives of a layer run beside its work, on an engine of their own.
  [[nodiscard]] virtual bool overlaps_layers(const Strategy& s) const = 0;
  [[nodiscard]] virtual PassLaunches launches(const Strategy& s) const = 0;
  [[nodiscard]] virtual RecomputeUnits recomputed(const Strategy& s) const = 0;

  [[nodiscard]] virtual StateBytes state_bytes(const Strategy& s) const = 0;
  /// Gradients to the ranks that update.
  [[nodiscard]] virtual Exchange gradients(const Strategy& s) const = 0;
  /// A layer's gradients are reduced as soon as its last backward pass is done, beside the passes that follow;
  /// nothing waits for them before the optimizer. Otherwise all are, after the last pass.
  [[nodiscard]] virtual bool reduces_with_backward() const = 0;
  /// Weights of a decoder layer that hold gradients of their own: context parallel reduces them one call each.
  [[nodiscard]] virtual int tensors_per_layer() const = 0;
  [[nodiscard]] virtual ScalarReduces scalars(const Strategy& s) const = 0;
  /// New weights from the ranks that updated them; nothing where every rank updates all of its own.
  [[nodiscard]] virtual std::optional<Exchange> weights(const Strategy& s) const = 0;

  /// Buffers of the optimizer step on a core whose largest weight has so many elements.
  [[nodiscard]] virtual Bytes optimizer_buffers(const Strategy& s, double largest_weight) const = 0;
  /// Buffers of gradients that are reduced while a backward pass runs.
  [[nodiscard]] virtual Bytes backward_buffers(const Strategy& s) const = 0;
};

/// That of a strategy. Throws std::invalid_argument when there is none of its name.
[[nodiscard]] const Framework& framework_of(const Strategy& s);

/// How a strategy states the framework of this name: "" for the one of the job's target.
/// Throws std::invalid_argument when there is none.
[[nodiscard]] std::string_view stated_framework(std::string_view name);

/// Names of all, the default first.
[[nodiscard]] std::vector<std::string_view> framework_names();

}  // namespace trnplan::models
