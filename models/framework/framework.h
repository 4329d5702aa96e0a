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
#include "models/collective/collective_algorithm.h"
#include "models/device/device.h"
#include "models/framework/process_group.h"
#include "models/framework/schedule.h"
#include "models/job/job.h"
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
  double parameter_shard = 0, gradient_shard = 0;  ///< alive, divided by D
};

/// Bytes of a logit that are alive while the loss is computed, and while the head's gradients are.
struct KeptLogits {
  double forward, backward;
};

/// A value of every parameter, exchanged once a step in buckets, one collective each.
struct Exchange {
  CollectiveOp op = CollectiveOp::all_reduce;
  ProcessGroup group = ProcessGroup::replicas;  ///< of the weights of experts: ProcessGroup::expert_data
  double bytes = 0;                             ///< of a parameter
  Bytes bucket{};                               ///< at most
};

/// Weights that are sharded are gathered unit by unit before they are used, and their gradients reduced to the
/// shards after; a unit is a layer, the root the embedding, the final norm and the head. Each gather and reduction
/// of a layer runs beside the work on the layer next to it: at most two units are gathered at a time.
struct UnitSharding {
  double gathered = 2, reduced = 4;  ///< bytes of a parameter on the wire
  /// Weights are dropped after the forward pass and gathered again for the backward pass.
  bool again = true;
  bool keeps_last = false;  ///< but those of the last layer stay
  double buffered = 2;      ///< gathered units whose bytes are alive at a time, copies among them
};

/// Tensor-parallel collectives of a sequence-parallel layer beside its products, inside a node. A gather comes piece by
/// piece beside the product that needs it, whose own piece is there. A reduce-scatter goes in `pieces` beside the product
/// that makes it, the last of them when that is done. Hidden is no more than the product's time, which lasts
/// overlap_slowdown times as long meanwhile: of its units and of memory the copies take a part.
struct TensorOverlap {
  int pieces = 1;
  /// Between the two gradients of a product, too: what only that of the weight needs is gathered beside that of the
  /// input, which is scattered beside that of the weight. Otherwise neither runs beside anything.
  bool between_gradients = false;
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
  int every = 1;         ///< of so many layers one
  bool mlp = false;      ///< or all of the MLP
  bool product = false;  ///< the gated MLP's product
  bool norms = false;
  /// All but attention and, of the products in their order, the first, third and so on.
  bool alternate = false;
  bool scores = false;  ///< plain attention between its two products

  [[nodiscard]] bool any() const { return layer || mlp || product || norms || alternate || scores; }
};

/// What a framework's own flag or config calls the parts of a layer that can be recomputed.
struct RecomputeNames {
  std::string_view attention, mlp, norms, product;
  /// Of everything, and of all but attention and every second product: whole phrases.
  std::string_view full, alternate;
  /// What stands before and behind a number: of so many layers one.
  std::string_view some = "one layer in ", some_end = " recomputed";
};

/// Scalars that are all-reduced before the optimizer and that every stage waits for.
struct ScalarReduces {
  int all = 0;
  int between_nodes = 0;  ///< of these, on several nodes
};

/// Kernels on elements: passes of the vector engine over an element, counted from the operators of a decoder
/// layer, and tensors that are read and written; here one fused kernel each: backward, the gradient and what
/// was saved. Rotary embeddings of the query's heads and half of the keys' and values'.
struct ElementKinds {
  ElementKind norm = kNorm, norm_backward = kNormBackward;
  ElementKind rotary{3, 2}, rotary_backward{4, 2};
  ElementKind gated{4, 3}, gated_backward{8, 5};
  ElementKind plain{3, 2}, plain_backward{5, 3};
};

/// Bytes of memory traffic per logit. NxD's: the bf16 logit, its fp32 copy, shift, exponent, sum and
/// normalisation (forward), the in-place gradient and its cast (backward). aws-neuron/neuronx-distributed
/// src/neuronx_distributed/parallel_layers/loss_functions.py
struct LogitBytes {
  double forward = 16, backward = 8;
};
/// The same, an operator at a time: cast to fp32 (2 + 4), maximum (4), shift, exponent, sum and division (8 + 8
/// + 4 + 8); the gradient in place (8) and its cast (4 + 2). NVIDIA/Megatron-LM
/// megatron/core/tensor_parallel/cross_entropy.py; huggingface/nanotron
/// src/nanotron/parallel/tensor_parallel/functional.py
inline constexpr LogitBytes kEagerLogits{38, 14};

/// A loss that is one kernel.
struct FusedLoss {
  LogitBytes moved;
  KeptLogits kept;
};

/// What autograd keeps of a decoder layer: bytes of an element, where elements have two. NxD's: norms in fp32 on
/// the way, keys and values repeated to the heads of the queries, the input of the output product apart from flash
/// attention's output; gate, up, the activated gate and the product of a gated MLP.
struct SavedBytes {
  double norms = 12;                       ///< of the hidden size: both norms, besides
  double inputs = 4;                       ///< what they make, which products read
  double queries = 10, plain_queries = 8;  ///< of the queries' width, with and without flash attention
  double keys = 0;                         ///< of the keys' width, without those repeated
  double gated = 8, plain = 4;             ///< of the inner width of a gated and of a plain MLP
  /// Of the inner width, alive in the backward of one layer: gradients inside the MLP.
  double gated_gradients = 0, plain_gradients = 0;
  int messages = 2;           ///< of those between stages, kept for a micro-batch in flight
  bool passes_tables = true;  ///< tables of rotary embeddings go along with them
};
/// Kernels that keep their inputs alone: a norm its input, flash attention queries, keys and values as they are and
/// its output, which the output product reads; a gated MLP gate, up and product. Gradients of the product, 2, and of
/// what it was made of, 4 or 2. Of messages the one sent: the one received is the first layer's input.
/// NVIDIA/Megatron-LM@d98e8a64 megatron/training/theoretical_memory_usage.py
inline constexpr SavedBytes kFusedKernelsSave{4, 4, 4, 4, 4, 6, 4, 6, 4, 1, false};

class Framework {
 public:
  virtual ~Framework() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Of grouped-query attention with context parallel K and V go round as often as there are query heads; or as they are.
  [[nodiscard]] virtual bool repeats_keys() const { return true; }
  /// It trains on such machines; on others a strategy that names it is a what-if.
  [[nodiscard]] virtual bool trains_on(const topology::Traits& machine) const = 0;
  /// Classes of modules can be recomputed alone. Otherwise what else recomputed() knows, the whole layer, or nothing.
  [[nodiscard]] virtual bool recomputes_classes() const { return true; }
  /// It has this pipeline schedule; others are what-ifs.
  [[nodiscard]] virtual bool runs(Schedule schedule) const = 0;
  /// It can train the model with flash attention; plain attention it always has.
  [[nodiscard]] virtual bool has_flash_attention(const Architecture& a) const = 0;
  /// Messages between stages are meetings of both: a send waits for its receive. Otherwise each occupies the
  /// queues of both for its time, but neither waits for the other to be free.
  [[nodiscard]] virtual bool sends_block(const Strategy& s) const = 0;
  /// Messages that do not wait leave the queues of both ends free: only what needs them waits.
  [[nodiscard]] virtual bool sends_beside_work(const Strategy& /*s*/) const { return false; }
  /// Some collectives of a layer run beside its work, on an engine of their own.
  [[nodiscard]] virtual bool overlaps_layers(const Strategy& s) const = 0;
  /// Of them the tensor-parallel ones; needs overlaps_layers(). Absent: they run one after the other with the work.
  [[nodiscard]] virtual std::optional<TensorOverlap> tensor_overlap(const Strategy& /*s*/) const {
    return std::nullopt;
  }
  /// A context-parallel rank has a piece from each end of the sequence, so that all have as many causal scores; or
  /// one block, and the last rank has the most.
  [[nodiscard]] virtual bool balances_context() const { return false; }
  [[nodiscard]] virtual PassLaunches launches(const Strategy& s) const = 0;
  [[nodiscard]] virtual RecomputeUnits recomputed(const Strategy& s) const = 0;
  /// In a split backward the pass of the weights' gradients uses what that of the input's made anew. Otherwise it
  /// makes it anew again.
  [[nodiscard]] virtual bool recomputes_once() const { return true; }
  /// Absent where it has none: then the classes of NxD's models are named, and plain words where people read them.
  [[nodiscard]] virtual std::optional<RecomputeNames> recompute_names() const { return std::nullopt; }
  /// A compiler drops what recomputation makes and nothing reads: the last product of a part and what follows
  /// it. Without one every operator runs again.
  [[nodiscard]] virtual bool drops_unread() const { return true; }

  [[nodiscard]] virtual ElementKinds element_kinds() const { return {}; }
  [[nodiscard]] virtual LogitBytes logit_bytes() const { return {}; }

  /// Layers of each of so many parts of the model in a row, where the user does not cut it. Their sum is
  /// Architecture::layers.
  [[nodiscard]] virtual std::vector<int> partition(const Architecture& a, int parts) const = 0;

  [[nodiscard]] virtual StateBytes state_bytes(const Strategy& s) const = 0;
  /// Places of all experts over tokens x experts_per_token where a model states none, each padded with as many as an expert
  /// has; 0: an expert takes the tokens that come.
  [[nodiscard]] virtual double capacity_factor() const = 0;
  /// By its kernels on GPUs. Compilers for Neuron cores keep NxD's, whatever the framework.
  [[nodiscard]] virtual SavedBytes saved() const { return {}; }
  [[nodiscard]] virtual KeptLogits kept_logits() const = 0;
  /// It can shard so much of a model; nothing and ZeRO-1 every framework can unless this says otherwise.
  [[nodiscard]] virtual std::vector<Sharding> shardings() const { return {Sharding::states}; }
  /// Its replicas may share copies of the state in groups smaller than all of them.
  [[nodiscard]] virtual bool has_shard_groups() const { return false; }
  /// Absent where weights are whole on every rank, or gathered once a step.
  [[nodiscard]] virtual std::optional<UnitSharding> units(const Strategy&) const { return std::nullopt; }
  /// Gradients to the ranks that update.
  [[nodiscard]] virtual Exchange gradients(const Strategy& s) const = 0;
  /// A layer's gradients are reduced as soon as its last backward pass is done, beside the passes that follow;
  /// nothing waits for them before the optimizer. Otherwise all are, after the last pass.
  [[nodiscard]] virtual bool reduces_with_backward(const Strategy& s) const = 0;
  /// Weights of a decoder layer that hold gradients of their own: context parallel reduces them one call each.
  [[nodiscard]] virtual int tensors_per_layer() const = 0;
  [[nodiscard]] virtual ScalarReduces scalars(const Strategy& s) const = 0;
  /// weights() are gathered beside the first forward pass of the next step: those of a stage's first layers one layer ahead,
  /// those of a further chunk beside what comes before it. Otherwise after the optimizer, beside nothing. Only where
  /// reduces_with_backward().
  [[nodiscard]] virtual bool gathers_with_forward() const { return false; }
  /// Weights in FP8 are cast once a step. Otherwise by each product.
  [[nodiscard]] virtual bool keeps_fp8_weights() const { return false; }
  /// New weights from the ranks that updated them; nothing where every rank updates all of its own.
  [[nodiscard]] virtual std::optional<Exchange> weights(const Strategy& s) const = 0;

  /// Buffers of the optimizer step on a core whose largest weight has so many elements.
  [[nodiscard]] virtual Bytes optimizer_buffers(const Strategy& s, double largest_weight) const = 0;
  /// Buffers of gradients that are reduced while a backward pass runs.
  [[nodiscard]] virtual Bytes backward_buffers(const Strategy& s) const = 0;
};

/// Places of all experts over tokens x experts_per_token, as the model states it, else as the strategy's framework has it
/// by itself; 0: as many as come. Throws as framework_of() does.
[[nodiscard]] double capacity_factor(const Architecture& a, const Strategy& s);

/// What a strategy recomputes, in the framework's own words or else in plain ones: "core_attn and layernorm recomputed",
/// "norms recomputed", "nothing recomputed". Core attention is not worth a word with flash attention, which never
/// calls it. Throws as framework_of() does.
[[nodiscard]] std::string recompute_words(const Strategy& s);

/// Why it cannot shard what the strategy has it shard, and "" where it can.
[[nodiscard]] std::string sharding_problem(const Framework& framework, const Strategy& s);

/// That of a strategy. Throws std::invalid_argument when there is none of its name.
[[nodiscard]] const Framework& framework_of(const Strategy& s);

/// How a strategy states the framework of this name: "" for the one of the job's target.
/// Throws std::invalid_argument when there is none.
[[nodiscard]] std::string_view stated_framework(std::string_view name);

/// How a strategy states the first that trains on such machines. Throws std::invalid_argument when there is none.
[[nodiscard]] std::string_view usual_framework(const topology::Traits& machine);

/// How a strategy states the one that a job's plans run on: the pinned one, else usual_framework() of its machine.
[[nodiscard]] std::string_view framework_stated_by(const Job& job);

/// Names of all, the default first.
[[nodiscard]] std::vector<std::string_view> framework_names();

}  // namespace trnplan::models
