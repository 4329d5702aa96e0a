// The training loop of a framework, as it treats a strategy: which sends block, what overlaps what, who keeps
// which optimizer states, in which buckets gradients and weights are exchanged, what a launch starts, what is
// recomputed. Steps, memory and bounds ask this interface and know no framework. A strategy names its
// framework ("" means that of the job's target); frameworks.cpp has the table of all of them.
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

/// Bytes per parameter: those that are alive, and those that move through HBM. Moved bytes count each value
/// as read and written once per use; they are counted, not measured.
struct StateBytes {
  double parameter, gradient;   ///< on every rank
  double shard, reduced;        ///< master weights and moments; gradient shard inside the step: divided by D
  double accumulate;            ///< moved when a micro-batch's gradient is added
  double update, update_shard;  ///< moved by the optimizer; the second divided by D
  double parameter_shard = 0, gradient_shard = 0;  ///< alive, divided by D
  double pass = 0;  ///< gradients of a pass on every rank, alive until its end, where they are added up
  /// True if those of the last pass stay until the next backward pass begins, also in the optimizer's step.
  bool keeps_pass = false;
  double copied = 0;  ///< copy of the gradients that is reduced, alive on every rank inside the step
};

/// Bytes of a logit that are alive while the loss is computed, and while the head's gradients are computed.
struct KeptLogits {
  double forward, backward;
};

/// One value per parameter, exchanged once a step in buckets, one collective each.
struct Exchange {
  CollectiveOp op = CollectiveOp::all_reduce;
  ProcessGroup group = ProcessGroup::replicas;  ///< for the weights of experts: ProcessGroup::expert_data
  double bytes = 0;                             ///< per parameter
  Bytes bucket{};                               ///< maximum size; infinite: one call
  /// True if a bucket takes whole tensors, those that are ready first, until it holds `bucket` or more. Only of
  /// gradients that are reduced with the backward pass.
  bool whole_tensors = false;
  /// True if the host copies each rank's piece of each tensor from the result by an operator of its own.
  bool in_pieces = false;
  /// Bytes per parameter of layers, relative to `bytes`; their buckets have as many parameters as others.
  double of_layers = 1;
};

/// Sharding in which weights are gathered unit by unit before they are used, and their gradients are reduced
/// to the shards afterwards. A unit is a layer; the root unit is the embedding, the final norm and the head.
/// Each gather and reduction of a layer overlaps the work on the adjacent layer: at most two units are
/// gathered at a time.
struct UnitSharding {
  double gathered = 2, reduced = 4;  ///< bytes per parameter on the wire
  double of_layers = 1;              ///< those gathered of layers, relative to `gathered`
  /// True if weights are dropped after the forward pass and gathered again for the backward pass.
  bool again = true;
  bool keeps_last = false;  ///< except that those of the last layer stay
  double buffered = 2;      ///< gathered units with bytes alive at a time, copies included
};

/// Overlap of the tensor-parallel collectives of a sequence-parallel layer with its products, inside a node
/// unless `across_nodes`.
/// A gather comes piece by piece during the product that needs it; the rank's own piece is there from the
/// start. A reduce-scatter goes in `pieces` during the product that makes it, the last of them after that
/// product. At most the product's time is hidden. The product takes overlap_slowdown times as long meanwhile,
/// because the copies use part of its units and of memory.
struct TensorOverlap {
  int pieces = 1;
  /// True if collectives also overlap between the two gradients of a product: the gather that only the
  /// weight's gradient needs runs during the input's gradient, and the scatter of the input's gradient runs
  /// during the weight's. Otherwise neither overlaps anything.
  bool between_gradients = false;
  /// True if a gather only overlaps the product of the rank's own piece; the pieces before and after it are
  /// two products more. Nothing overlaps the reduce-scatters of a forward pass.
  bool own_piece = false;
  bool across_nodes = false;
};

/// The way in which a pass starts.
enum class Launch {
  none,   ///< part of the graph before it
  task,   ///< a graph of a pipeline's task
  graph,  ///< the graph of a whole micro-batch
};
struct PassLaunches {
  Launch forward = Launch::graph, backward = Launch::none;
  Launch weights = Launch::none;  ///< the weights' pass of a split backward
};

/// Operations of a layer that its backward pass repeats.
struct RecomputeUnits {
  bool layer = false;    ///< all of the forward pass
  int every = 1;         ///< one layer in so many
  bool mlp = false;      ///< or all of the MLP
  bool product = false;  ///< the gated MLP's product
  bool norms = false;
  /// All but attention and, of the products in their order, the first, third and so on.
  bool alternate = false;
  bool scores = false;  ///< plain attention between its two products

  [[nodiscard]] bool any() const { return layer || mlp || product || norms || alternate || scores; }
};

/// Names in a framework's own flag or config for the parts of a layer that can be recomputed.
struct RecomputeNames {
  std::string_view attention, mlp, norms, product;
  /// Whole phrases for everything, and for all but attention and every second product.
  std::string_view full, alternate;
  /// Words before and after a number, for one layer in so many.
  std::string_view some = "one layer in ", some_end = " recomputed";
};

/// Messages that announce what goes between stages and that the hosts of both poll: each sleeps for
/// loop::poll_interval before a further look. The first look is too early, so that a meeting of the stages takes an
/// interval for each of them.
struct PolledMessages {
  int activation = 0, gradient = 0;  ///< of the meeting that sends it
};

/// Scalars that are all-reduced before the optimizer; every stage waits for them.
struct ScalarReduces {
  int all = 0;
  int between_nodes = 0;  ///< of these, only on several nodes
};

/// Kernels on elements: passes of the vector engine over an element, counted from the operators of a decoder
/// layer, and tensors that are read and written. These defaults are one fused kernel each; the backward
/// kernel reads the gradient and the saved values. Rotary embeddings cover the query's heads and half of the
/// keys' and values'.
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
/// Bytes of memory traffic per logit with one operator at a time: cast to fp32 (2 + 4), maximum (4), shift,
/// exponent, sum and division (8 + 8 + 4 + 8); the gradient in place (8) and its cast (4 + 2).
/// NVIDIA/Megatron-LM megatron/core/tensor_parallel/cross_entropy.py; huggingface/nanotron
/// src/nanotron/parallel/tensor_parallel/functional.py
inline constexpr LogitBytes kEagerLogits{38, 14};
/// The same in fp32, without casts.
inline constexpr LogitBytes kEagerLogitsFp32{32, 8};
constexpr LogitBytes eager_logits(Precision p) {
  return p == Precision::fp32 ? kEagerLogitsFp32 : kEagerLogits;
}

/// Loss computed by one kernel on logits of two bytes and their gradients.
struct FusedLoss {
  LogitBytes moved;
  KeptLogits kept;

  /// The same kernel on elements of this precision.
  [[nodiscard]] constexpr FusedLoss in(Precision p) const {
    const double wider = element_bytes(p) / 2;
    return {{wider * moved.forward, wider * moved.backward}, {wider * kept.forward, wider * kept.backward}};
  }
};

/// Bytes that autograd keeps of a decoder layer, per element, where elements have two bytes. The defaults are
/// NxD's: norms in fp32 on the way, keys and values repeated to the heads of the queries, the input of the
/// output product apart from flash attention's output; gate, up, the activated gate and the product of a
/// gated MLP.
struct SavedBytes {
  double norms = 12;                       ///< per element of the hidden size: both norms, in addition
  double inputs = 4;                       ///< outputs of the norms, which products read
  double queries = 10, plain_queries = 8;  ///< per element of the queries' width, with and without flash
  double keys = 0;                         ///< per element of the keys' width, before keys are repeated
  double gated = 8, plain = 4;             ///< per element of the inner width of a gated and of a plain MLP
  /// Bytes per element of the inner width, alive in the backward of one layer: gradients inside the MLP.
  double gated_gradients = 0, plain_gradients = 0;
  int messages = 2;           ///< messages between stages that are kept for a micro-batch in flight
  bool passes_tables = true;  ///< tables of rotary embeddings go with the messages
};
/// Bytes of kernels that keep only their inputs. A norm keeps its input; flash attention keeps queries, keys
/// and values as they are and its output, which the output product reads; a gated MLP keeps gate, up and
/// product. Gradients: 2 for the product, and 4 or 2 for its inputs. One message counts, the one sent: the
/// one received is the first layer's input. NVIDIA/Megatron-LM@d98e8a64
/// megatron/training/theoretical_memory_usage.py
inline constexpr SavedBytes kFusedKernelsSave{4, 4, 4, 4, 4, 6, 4, 6, 4, 1, false};

/// Scores of plain attention on a rank: `squares` of queries x keys, one for each of its heads and each
/// sequence of a micro-batch.
struct ScoreShape {
  int squares, queries, keys;
  bool causal;
  bool fp32 = false;  ///< elements of 4 bytes
};

/// Part of a strategy that a loop cannot do, and values that it can; empty: none.
struct Lack {
  std::string_view what, fix;
};

/// The way in which a loop without a limit of places hands tokens to the experts of a rank.
struct ExpertDispatch {
  /// True if the host launches the products of each expert separately, for which it waits until the device has
  /// counted their tokens. False for one kernel over all experts, which reads the counts on the device: the
  /// host waits for them only before an exchange between ranks.
  bool one_by_one = false;
  /// True if a token crosses once to each node, or in a node to each rank, that holds any of its experts, and the
  /// receiver copies it for each of them. False if it is copied first and crosses once for each of its experts.
  bool once = false;
};

class Framework {
 public:
  virtual ~Framework() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// True if ring attention repeats K and V to the number of query heads under grouped-query attention;
  /// otherwise they go round as they are.
  [[nodiscard]] virtual bool repeats_keys() const { return true; }
  /// True if the framework trains on such machines; on others a strategy that names it is refused.
  [[nodiscard]] virtual bool trains_on(const topology::Traits& machine) const = 0;
  /// True if ranks of TP beyond the heads of keys and values each have a copy of one. Otherwise TP divides
  /// those heads.
  [[nodiscard]] virtual bool copies_key_heads() const { return true; }
  /// Ranks that share an expert's weights, if a strategy does not say: those of TP.
  [[nodiscard]] virtual int expert_tensor(const Strategy& s) const { return s.tensor_parallel; }
  /// True if a strategy may leave experts whole: the ranks of EP are then among those of TP x CP x DP.
  [[nodiscard]] virtual bool frees_experts() const { return false; }
  /// True if classes of modules can be recomputed alone. Otherwise the choice is between the other units of
  /// recomputed(), the whole layer, and nothing.
  [[nodiscard]] virtual bool recomputes_classes() const { return true; }
  /// True if the framework has this pipeline schedule; others are what-ifs.
  [[nodiscard]] virtual bool runs(Schedule schedule) const = 0;
  /// True if it can train the model with flash attention; plain attention is always available.
  [[nodiscard]] virtual bool has_flash_attention(const Architecture& a) const = 0;
  /// True if its flash attention takes elements of this precision.
  [[nodiscard]] virtual bool flash_takes(Precision /*p*/) const { return true; }
  /// True if a decoder layer's products with weights in fp32 are TF32's on a GPU that has it.
  [[nodiscard]] virtual bool multiplies_in_tf32() const { return false; }
  /// True if its states and exchanges in fp32 on GPUs are modelled.
  [[nodiscard]] virtual bool knows_fp32() const { return true; }
  /// Library of its flash attention on GPUs, for which profiles state the speed of the kernel. "": as the
  /// profile has it for all.
  [[nodiscard]] virtual std::string_view attention() const { return ""; }
  /// True if all ranks of a stage wait for one another in each pass. Otherwise they do at the end of a step.
  [[nodiscard]] virtual bool meets_each_pass(const Strategy& /*s*/) const { return false; }
  /// True if a message between stages is a meeting: a send waits for its receive. Otherwise each message
  /// occupies the queues of both stages for its time, but neither waits for the other to be free.
  [[nodiscard]] virtual bool sends_block(const Strategy& s) const = 0;
  /// True if messages that do not wait leave the queues of both ends free: only the work that needs them
  /// waits.
  [[nodiscard]] virtual bool sends_beside_work(const Strategy& /*s*/) const { return false; }
  [[nodiscard]] virtual PolledMessages polled_messages() const { return {}; }
  /// True if the host launches a pass without waiting for the device, and goes on from the head's forward pass
  /// to its backward pass. False where no source says where it waits: then it does after each layer's pass.
  [[nodiscard]] virtual bool launches_ahead() const { return false; }
  /// True if, without sequence parallel, each tensor-parallel rank sends its part of a message between stages
  /// and the receivers gather it. Otherwise each rank sends all of it.
  [[nodiscard]] virtual bool scatters_messages() const { return false; }
  /// True if softmax of such scores of plain attention is one kernel whatever the stack's settings are
  /// (StackTraits::fuses_softmax).
  [[nodiscard]] virtual bool fuses_softmax(const ScoreShape& /*scores*/) const { return false; }
  /// True if some collectives of a layer overlap its work, on an engine of their own.
  [[nodiscard]] virtual bool overlaps_layers(const Strategy& s) const = 0;
  /// True if exchanges with experts overlap the work of another micro-batch: those of a forward pass that of a
  /// backward pass, and the other way round. Needs overlaps_layers().
  [[nodiscard]] virtual bool overlaps_experts(const Strategy& /*s*/) const { return false; }
  /// Reason why a loop that has this overlap cannot do it, and what to do; none for a loop that does not have it.
  [[nodiscard]] virtual Lack experts_overlap_lack(const Strategy& /*s*/) const { return {}; }
  /// Overlap of the tensor-parallel collectives; needs overlaps_layers(). Absent: they run in turn with the
  /// work.
  [[nodiscard]] virtual std::optional<TensorOverlap> tensor_overlap(const Strategy& /*s*/) const {
    return std::nullopt;
  }
  /// True if a context-parallel rank has a piece from each end of the sequence, so that all ranks have
  /// equally many causal scores. Otherwise each has one block, and the last rank has the most scores.
  [[nodiscard]] virtual bool balances_context() const { return false; }
  [[nodiscard]] virtual PassLaunches launches(const Strategy& s) const = 0;
  [[nodiscard]] virtual RecomputeUnits recomputed(const Strategy& s) const = 0;
  /// True if the weights' pass of a split backward uses the activations that the input's pass recomputed.
  /// Otherwise it recomputes them.
  [[nodiscard]] virtual bool recomputes_once() const { return true; }
  /// Names of the parts. Absent if the framework has none: then the classes of NxD's models are named, and
  /// plain words in text for people.
  [[nodiscard]] virtual std::optional<RecomputeNames> recompute_names() const { return std::nullopt; }
  /// True if a compiler drops results of recomputation that nothing reads: the last product of a part and
  /// what follows it. Without a compiler every operator runs again.
  [[nodiscard]] virtual bool drops_unread() const { return true; }

  [[nodiscard]] virtual ElementKinds element_kinds() const { return {}; }
  [[nodiscard]] virtual LogitBytes logit_bytes(Precision /*p*/) const { return {}; }

  /// Layers of each of `parts` consecutive parts of the model, if the user does not cut it. Their sum is
  /// Architecture::layers.
  [[nodiscard]] virtual std::vector<int> partition(const Architecture& a, int parts) const = 0;
  /// Layers of each part of `stages` stages with `chunks` chunks each, in the order of the model, if the user
  /// does not cut it; empty if the loop refuses to. NxD and TorchTitan cut into so many parts as they would
  /// into stages (aws-neuron/neuronx-distributed@0f2a90f6:src/neuronx_distributed/pipeline/partition.py,
  /// create_partitions; pytorch/torchtitan@02ef790c:torchtitan/distributed/pipeline_parallel.py, pipeline_llm).
  [[nodiscard]] virtual std::vector<int> chunk_partition(const Architecture& a, int stages,
                                                         int chunks) const {
    return partition(a, stages * chunks);
  }

  /// True if the first and the last of a stage's chunks may hold no layers, but embedding or head alone.
  [[nodiscard]] virtual bool leaves_ends_without_layers() const { return false; }

  [[nodiscard]] virtual StateBytes state_bytes(const Strategy& s) const = 0;
  /// Places of all experts over tokens x experts_per_token if a model states none; each expert is padded to
  /// its number of places. 0: an expert takes the tokens that come.
  [[nodiscard]] virtual double capacity_factor() const = 0;
  /// The way of tokens to the experts of a rank if they are copied into the experts' order and back; nullopt
  /// where the products' kernels read and write them in place.
  [[nodiscard]] virtual std::optional<ExpertDispatch> expert_dispatch() const { return std::nullopt; }
  /// Bytes kept by the framework's kernels on GPUs. Compilers for Neuron cores keep NxD's, whatever the
  /// framework.
  [[nodiscard]] virtual SavedBytes saved(const Architecture& /*a*/, const Strategy& /*s*/) const {
    return {};
  }
  [[nodiscard]] virtual KeptLogits kept_logits(Precision p) const = 0;
  /// Parts of the training state that it can shard. Every framework can shard nothing or do ZeRO-1, unless
  /// this says otherwise.
  [[nodiscard]] virtual std::vector<Sharding> shardings() const { return {Sharding::states}; }
  /// True if the allocator's pool is fragmented by tensors of unlike sizes: whole ones that come and go between
  /// those that tensor parallel divides and autograd keeps. Otherwise blocks are alike, or segments expand.
  [[nodiscard]] virtual bool mixes_sizes(const Strategy& s) const { return s.tensor_parallel > 1; }
  /// True if the host launches far ahead of the device, so that whole activations, freed after collectives that the
  /// device has yet to run, wait in the allocator's pool; absent if no published run tells. The pool gives them back
  /// before an allocation fails (pytorch: c10/cuda/CUDACachingAllocator.cpp, synchronize_and_free_events).
  [[nodiscard]] virtual std::optional<bool> queues_collectives(const Strategy&) const { return std::nullopt; }
  /// True if the weights of layers can be stored and gathered in FP8 alone (Precision::fp8_param_gather).
  [[nodiscard]] virtual bool stores_fp8_weights() const { return false; }
  /// True if a shard of a weight is whole rows, so that those of its first dimension are rounded up to a multiple of
  /// the ranks. Otherwise weights are cut as flat buffers, and nothing is rounded.
  [[nodiscard]] virtual bool shards_rows() const { return true; }
  /// True if replicas may share copies of the state in groups smaller than all of them.
  [[nodiscard]] virtual bool has_shard_groups() const { return false; }
  /// True if plans try such groups. Otherwise only a job that states their size has them.
  [[nodiscard]] virtual bool tries_shard_groups() const { return has_shard_groups(); }
  /// Sharding of the weights by units. Absent if weights are whole on every rank, or are gathered once a
  /// step.
  [[nodiscard]] virtual std::optional<UnitSharding> units(const Strategy&) const { return std::nullopt; }
  /// The exchange that brings gradients to the ranks that update.
  [[nodiscard]] virtual Exchange gradients(const Strategy& s) const = 0;
  /// The exchange that adds up the reduced gradients of a shard between groups with a copy each, after
  /// gradients(); per parameter of the shard. Absent without such groups, and where units() have them.
  [[nodiscard]] virtual std::optional<Exchange> copies(const Strategy& /*s*/) const { return std::nullopt; }
  /// True if a layer's gradients are reduced as soon as its last backward pass is done, overlapping the
  /// passes that follow; nothing waits for them before the optimizer. Otherwise all are reduced after the
  /// last pass.
  [[nodiscard]] virtual bool reduces_with_backward(const Strategy& s) const = 0;
  /// Weights of a decoder layer with gradients of their own: context parallel reduces them in one call each.
  [[nodiscard]] virtual int tensors_per_layer() const = 0;
  [[nodiscard]] virtual ScalarReduces scalars(const Strategy& s) const = 0;
  /// True if weights() are gathered during the first forward pass of the next step: those of a stage's first
  /// layers one layer ahead, those of a further chunk during the work before it. Otherwise they are gathered
  /// after the optimizer, without overlap. Only with reduces_with_backward().
  [[nodiscard]] virtual bool gathers_with_forward() const { return false; }
  /// True if weights in FP8 are cast once a step. Otherwise each product casts them.
  [[nodiscard]] virtual bool keeps_fp8_weights() const { return false; }
  /// The exchange of new weights from the ranks that updated them; absent if every rank updates all of its
  /// own.
  [[nodiscard]] virtual std::optional<Exchange> weights(const Strategy& s) const = 0;

  /// Buffers of the optimizer step on a core with a largest weight of so many elements.
  [[nodiscard]] virtual Bytes optimizer_buffers(const Strategy& s, double largest_weight) const = 0;
  /// Buffers of gradients that are reduced during a backward pass.
  [[nodiscard]] virtual Bytes backward_buffers(const Strategy& s) const = 0;
};

/// The way of tokens to the experts of a rank; nullopt without experts, with a limit of places, and where the loop
/// does not copy them.
[[nodiscard]] std::optional<ExpertDispatch> expert_dispatch(const Architecture& a, const Strategy& s);

/// Places of all experts over tokens x experts_per_token, as the model states it, else as the strategy's
/// framework sets it; 0: as many as come. Throws as framework_of() does.
[[nodiscard]] double capacity_factor(const Architecture& a, const Strategy& s);

/// Words for what a strategy recomputes, the framework's own or else plain ones: "core_attn and layernorm
/// recomputed", "norms recomputed", "nothing recomputed". Core attention is not mentioned with flash
/// attention, which never calls it. Throws as framework_of() does.
[[nodiscard]] std::string recompute_words(const Strategy& s);

/// Reason why the framework cannot shard what the strategy shards; "" if it can.
[[nodiscard]] std::string sharding_problem(const Framework& framework, const Strategy& s);

/// Ranks that share the weights of an expert: as the strategy says, else as its loop does.
[[nodiscard]] int expert_tensor_degree(const Strategy& s);
/// Ranks of all that EP, ETP and PP leave, which have the same experts; at least 1.
[[nodiscard]] int expert_data_ranks(const Strategy& s);
/// Ranks that share the optimizer states of an expert; 1 where they are not sharded.
[[nodiscard]] int expert_shard_degree(const Strategy& s);
/// True if ranks of TP have experts of their own: a rank then routes its own part of the tokens.
[[nodiscard]] bool has_whole_experts(const Strategy& s);

/// Framework of a strategy. Throws std::invalid_argument if there is none of its name.
[[nodiscard]] const Framework& framework_of(const Strategy& s);

/// Names of the frameworks with this Framework::attention().
[[nodiscard]] std::vector<std::string_view> frameworks_with_attention(std::string_view library);

/// Value of Strategy::framework for the framework of this name: "" for the one of the job's target. Throws
/// std::invalid_argument if there is none.
[[nodiscard]] std::string_view stated_framework(std::string_view name);

/// Value of Strategy::framework for the first one that trains on such machines. Throws std::invalid_argument
/// if there is none.
[[nodiscard]] std::string_view usual_framework(const topology::Traits& machine);

/// Value of Strategy::framework for the plans of a job: the pinned one, else usual_framework() of its
/// machine.
[[nodiscard]] std::string_view framework_stated_by(const Job& job);

/// Names of all frameworks, the default first.
[[nodiscard]] std::vector<std::string_view> framework_names();

}  // namespace trnplan::models
