// Operators of one core for a layer, forward and backward: computation and communication.
//
// The list says what a layer does; the device says how long it takes (models/device/device.h). n = s*b tokens
// of a micro-batch; the backward of a product (n,K,N) is (n,N,K) and (K,n,N). Attention, one unit being a
// product over all pairs of tokens: with flash 2 units forward, 5 backward, the causal half. Otherwise the
// full square: 2 and 4 units (and 2 more when CoreAttention is recomputed), and 12, 14 (12) bytes of memory
// traffic per score.
// Collectives per layer with sequence parallel: forward 2 all-gathers and 2 reduce-scatters, backward 4 and 2
// (two gathers restore saved shards), an all-reduce of dK and dV when KV heads are replicated. Full recompute
// repeats the forward, LlamaMLP its own part, both without the down product and the reduce-scatter after it:
// nothing reads their result, and the compiler drops what nothing reads. The token that torch-xla threads
// through collectives does not keep them: the compiler eliminates it, unless its experimental token threading
// is switched on (aws-neuron-sdk neuron-runtime/explore/compute-comm-overlap.rst). Without sequence parallel
// 2 all-reduces each way. Source: aws-neuron/neuronx-distributed fbac349
// src/neuronx_distributed/parallel_layers/{layers,layers_utils,mappings}.py, modules/qkv_linear_utils.py.
// Context parallel (ring attention; kernels/ring_attention_kernel.py, utils/batch_utils.py): each rank has a
// block of s/C tokens, split without balancing, so the last rank decides: half a block of its own, then C-1
// whole ones; the next block of K and V arrives during the work on this one. Backward moves dK and dV along.
// Mixture of experts (modules/moe): every token goes to k experts, each expert takes up to capacity_factor k
// n/E tokens and computes with that many; with expert parallel an all-to-all before and after the experts.
// Loops without a limit of places copy tokens into the experts' order and back (Framework::expert_dispatch),
// before and after each exchange, and the host waits for the counts that the router made: what it launches
// then is no longer hidden by the work before. With ExpertDispatch::once tokens are copied by their receiver.
// Experts that TP does not cut (has_whole_experts()) get the rank's own part of the tokens, as it is between the
// gathers of sequence parallel.
// Not modelled: overlap between engines, balance of the experts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "models/device/device.h"
#include "models/framework/framework.h"
#include "models/framework/process_group.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/report/category.h"

namespace trnplan::models {

/// One operator of a core: work of known length, or a collective.
struct Operator {
  std::string_view name;
  Category category = Category::compute;
  Seconds seconds{};                                ///< work
  Parameter parameter;                              ///< the length is proportional (or inverse) to this
  Parameter also;                                   ///< and to this, unless none
  Flops flops{};                                    ///< tensor-engine operations (2 per multiply-add)
  MatmulShape product{};                            ///< of a product; n = 0: none
  AttentionShape attention{};                       ///< of flash attention; units = 0: none
  ProcessGroup process_group = ProcessGroup::none;  ///< not none: a collective
  CollectiveOp op = CollectiveOp::all_gather;
  Bytes bytes{};            ///< as models::collective() counts them
  int repeat = 1;           ///< equal collectives one after the other
  bool overlapped = false;  ///< runs at the same time as the operator after it
  bool weights = false;     ///< gradient of weights: only the optimizer waits for it
  /// True if it runs on the collectives' engine from the end of all work before it until the next background
  /// operator or the end of the list.
  bool background = false;
  double instructions = 0;  ///< in the graph that contains it (models/device/device.h)
  double waits = 0;         ///< seconds for each second of what is before it (Device::waits_for_slowest)
  bool counted = false;     ///< the tokens of each expert are counted at its end, for which the host may wait
  /// Host's time to launch all before it, from the last operator that has this; the excess over their time
  /// counts (beyond_busy).
  Seconds host{};
  bool of_pass = false;  ///< that excess is one of the pass, through which the host does not wait (HostQueue)
};

using OperatorList = std::vector<Operator>;

/// Operator for work of the device.
[[nodiscard]] Operator operator_of(std::string_view name, const Work& work,
                                   Category category = Category::compute);

/// Position of a layer among the layers of a pass, in the order of the pass. The gathers and reductions that
/// overlap a layer belong to the adjacent layers (UnitSharding).
enum class LayerTurn { only, first, inner, last };

/// Operators of a micro-batch on one core. Refers to its job, strategy and profile, which must outlive it.
class LayerModel {
 public:
  LayerModel(const Job& job, const Strategy& strategy, const Profile& profile);
  LayerModel(const Job& job, const Strategy& strategy, const Profile&& profile) = delete;

  OperatorList layer_forward(LayerTurn turn = LayerTurn::only) const;
  OperatorList layer_backward(
      LayerTurn turn = LayerTurn::only) const;  ///< with what its recompute policy repeats
  OperatorList embedding_forward() const;
  OperatorList embedding_backward() const;
  OperatorList head_forward() const;  ///< final norm, LM head, cross entropy
  OperatorList head_backward() const;
  /// Operator::waits of a pass.
  double waits() const { return waits_; }
  /// True if exchanges with experts overlap other work: with no more micro-batches than stages no pass has a partner.
  bool overlaps_exchanges() const { return overlaps_exchanges_; }
  /// Addition of a micro-batch's gradients of `parameters` to the accumulator.
  OperatorList accumulate(double parameters) const;
  /// Work of that addition.
  Work accumulation(double parameters) const;
  /// The update of `parameters` (optimizer state over `shards` ranks).
  OperatorList optimizer(double parameters, int shards) const;
  /// The host's time in a collective call of a group (NetworkState::call_per_rank).
  Seconds call_time(int ranks, bool between_nodes) const;
  /// Collective calls that take the host `time` in all.
  Operator collective_calls(Seconds time) const;
  /// The host's time to copy `pieces` pieces of gathered weights (Exchange::in_pieces).
  Operator copied_pieces(double pieces) const;

  /// HBM bytes per attention score without flash attention.
  struct ScoreBytes {
    double forward, again, backward;
  };

  /// Bytes of one boundary activation that a rank sends to the next pipeline stage: its part of the sequence
  /// (SP), its part of all elements (Framework::scatters_messages()), or all of it.
  Bytes boundary() const;
  /// Gather of such a message, or of its gradient, by the ranks that received parts of it. Empty if they
  /// received what they need.
  OperatorList gather_message() const;
  /// cos and sin tables that NxD passes along with the forward message of Llama models.
  Bytes pass_along() const;

 private:
  bool scatters_messages() const;
  Operator matmul(std::string_view name, double n, double k, double width) const;
  Operator product(std::string_view name, const MatmulShape& shape) const;
  void matmul_backward(OperatorList& list, std::string_view name, double n, double k, double width) const;
  /// Product with weights of a decoder layer, in FP8 if the strategy says so.
  Operator linear(std::string_view name, double n, double k, double width) const;
  void linear_backward(OperatorList& list, std::string_view name, double n, double k, double width) const;
  Operator linear_weights(std::string_view name, double n, double k, double width) const;
  /// Product whose first operand was gathered right before: piece by piece, with TensorOverlap::own_piece.
  void linear_after_gather(OperatorList& list, std::string_view name, double n, double k, double width) const;
  Operator elements(std::string_view name, const ElementKind& kind, double rows, double width) const;
  Operator memory(std::string_view name, Category category, double bytes) const;
  Operator gather(std::string_view name) const;
  Operator scatter(std::string_view name) const;
  Operator reduce(std::string_view name, double bytes,
                  ProcessGroup process_group = ProcessGroup::tensor) const;
  void gather_weights(OperatorList& list, double parameters, bool background) const;
  void gather_layer(OperatorList& list) const;
  void reduce_gradients(OperatorList& list, double parameters) const;
  /// Appends the wait for the slowest rank and the host's launches of a layer's pass but for those
  /// `before_counts` that wait_for_counts() put into it, with its `calls`.
  void add_launches(OperatorList& list, double passes, double before_counts, Seconds calls) const;
  Seconds calls_of(const OperatorList& list) const;
  void attention(OperatorList& list, double units, double bytes_per_score) const;
  void norm(OperatorList& list) const;
  void attention_block(OperatorList& list) const;
  void mlp(OperatorList& list) const;
  void mlp_again(OperatorList& list) const;
  void alternate_again(OperatorList& list) const;
  void mlp_backward(OperatorList& list) const;
  void experts(OperatorList& list) const;
  void experts_backward(OperatorList& list) const;
  Operator expert_product(std::string_view name, double k, double width) const;
  void count_experts(int cores_of_node);
  void to_experts(OperatorList& list, std::string_view name) const;
  void sort_tokens(OperatorList& list, std::string_view name) const;
  void regroup_rows(OperatorList& list, std::string_view name) const;
  double wait_for_counts(OperatorList& list) const;
  void push_launches(OperatorList& list, std::string_view name, double layers, double experts, Seconds calls,
                     bool of_pass) const;
  void push_calls(OperatorList& list) const;
  Operator attention_block_of(double units, double bytes_per_score, double blocks) const;
  void enter(OperatorList& list, std::string_view name) const;
  void put_beside_products(OperatorList& list) const;
  void put_beside_other_pass(OperatorList& list, bool forward) const;
  void leave(OperatorList& list, std::string_view name) const;

  const Architecture& a_;
  const Strategy& s_;
  const Device& device_;
  const DeviceContext on_;
  bool overlaps_exchanges_ = false;
  double tokens_, shard_tokens_, heads_, qkv_width_, kv_width_, mlp_width_, vocabulary_;
  Seconds call_per_rank_{}, between_nodes_{};  ///< of a call; the second: more where the group spans nodes
  double experts_ = 0, expert_tokens_ = 0;     ///< experts on this core; tokens that each of them takes
  double exchanged_ = 0,
         arriving_ = 0;  ///< rows that it sends and gets; those before they are copied for experts
  std::optional<ExpertDispatch> dispatch_;  ///< of layers without a limit of places
  double element_bytes_, sequence_, waits_ = 0;
  ScoreBytes score_bytes_;
  ElementKinds kinds_;
  LogitBytes logit_bytes_;
  bool routes_part_ = false;              ///< has_whole_experts(): no rank gathers tokens for its experts
  double routed_ = 0, expert_width_ = 0;  ///< tokens that a rank routes; its part of an expert's inner width
  bool tf32_ = false;                     ///< Framework::multiplies_in_tf32(), in fp32
  std::optional<UnitSharding> units_;
  std::optional<TensorOverlap> beside_products_;
  bool tensor_spans_nodes_ = false;                    ///< groups of tensor parallelism
  double layer_parameters_ = 0, root_parameters_ = 0;  ///< of this core, if `units_` is set
};

}  // namespace trnplan::models
