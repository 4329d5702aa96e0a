#include "models/operators/operators.h"

#include <algorithm>
#include <cmath>

#include "models/collective/collective_runtime.h"
#include "models/device/devices.h"
#include "models/memory/memory.h"

namespace trnplan::models {

namespace {

/// Gathers that only the gradient of a weight needs.
constexpr std::string_view kMlpInputAgain = "mlp input again", kQkvInputAgain = "qkv input again";

constexpr std::string_view kLaunches = "launches";

/// Messages of a rank in PyTorch's checks of a collective: two of a monitored barrier, one of each of two
/// all-gathers (pytorch/pytorch@017943b7:torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp,
/// runCollectiveChecks). Where the group spans nodes a ring's step is one between nodes.
constexpr double kMessagesOfCheck = 4;

// Only the gated MLP's product.
constexpr ElementKind kProduct{1, 3};
/// Both norms of a layer.
ElementKind both_norms(const ElementKinds& kinds) {
  return {2 * kinds.norm.passes, 2 * kinds.norm.streams};
}

// HBM bytes per attention score without flash attention, in bf16 with an fp32 softmax. Fused into one kernel:
// scores written (2), read and normalised (2 + 2), probabilities read (2); backward
// their gradient written (2), the softmax's backward (read 2 + 2, write 2), its result read twice (4), the
// probabilities once (2). As separate operators, each reads the output of the one before it: scores written
// (2), scaled and masked (2 + 2), maximum (2), exponents in fp32 (2 + 4), their sum (4), division (4 + 2),
// read by the product with the values (2); backward the gradient written (2), its product with the
// probabilities in fp32 (2 + 2 + 4), the sum of that (4), the gradient of the scores (2 + 2 + 2), scaled (2 +
// 2), read twice (4), the probabilities once (2). Recomputing probabilities needs no product with the values,
// which nothing reads.
constexpr LayerModel::ScoreBytes kFusedSoftmax{8, 6, 14}, kPlainSoftmax{26, 24, 30};
// Dropout on probabilities: 32 random bits a score written and read (4 + 4), the mask written and read
// (1 + 1), probabilities read and written (4); backward the mask (1) and the gradient (4).
constexpr double kDropoutBytesForward = 14, kDropoutBytesBackward = 5;
// The same in fp32 without a compiler, by halves, as all bytes of scores are doubled there: no element has 2 bytes,
// and the mask and the random bits are no longer than before.
constexpr LayerModel::ScoreBytes kFp32Softmax{20, 18, 26};
constexpr double kFp32DropoutForward = 9, kFp32DropoutBackward = 4.5;

LayerModel::ScoreBytes score_bytes(bool fused, bool fp32, bool dropout) {
  LayerModel::ScoreBytes bytes = fused ? kFusedSoftmax : fp32 ? kFp32Softmax : kPlainSoftmax;
  if (dropout) {
    const double forward = fp32 ? kFp32DropoutForward : kDropoutBytesForward;
    bytes.forward += forward;
    bytes.again += forward;
    bytes.backward += fp32 ? kFp32DropoutBackward : kDropoutBytesBackward;
  }
  return bytes;
}

}  // namespace

LayerModel::LayerModel(const Job& job, const Strategy& strategy, const Profile& profile)
    : a_(job.architecture),
      s_(strategy),
      device_(device_of(job.cluster.instance.core)),
      on_{job.cluster.instance.core, profile, strategy.precision == Precision::fp32} {
  const double t = strategy.tensor_parallel;
  call_per_rank_ = call_per_rank(profile);
  if (call_per_rank_.value > 0)
    between_nodes_ =
        Seconds(kMessagesOfCheck * profile[runtime_of(job.cluster.instance).parameters().between]);
  tensor_spans_nodes_ = strategy.tensor_parallel > job.cluster.instance.cores();
  const double passes = framework_of(strategy).meets_each_pass(strategy)
                            ? 1
                            : 2.0 * std::max(1, micro_batches(job.training, strategy));
  waits_ = device_.waits_for_slowest(on_, strategy.tensor_parallel * strategy.data_ranks(), passes);
  kinds_ = framework_of(strategy).element_kinds();
  logit_bytes_ = framework_of(strategy).logit_bytes(strategy.precision);
  sequence_ = static_cast<double>(job.training.sequence) / strategy.context_parallel;
  tokens_ = sequence_ * strategy.micro_batch;
  shard_tokens_ = strategy.sequence_parallel ? tokens_ / t : tokens_;
  heads_ = a_.heads / t;
  kv_width_ = 2.0 * a_.kv_dim() * strategy.kv_replicator / t;
  qkv_width_ = static_cast<double>(a_.heads) * a_.head_dim / t + kv_width_;
  mlp_width_ = a_.intermediate / t;
  routes_part_ = a_.experts > 0 && has_whole_experts(strategy);
  routed_ = routes_part_ ? shard_tokens_ : tokens_;
  expert_width_ = 1.0 * a_.intermediate / expert_tensor_degree(strategy);
  vocabulary_ = std::ceil(a_.vocabulary / t);
  element_bytes_ = on_.element_bytes();
  const ScoreShape scores{a_.heads / strategy.tensor_parallel * strategy.micro_batch,
                          job.training.sequence / strategy.context_parallel, job.training.sequence, a_.causal,
                          on_.fp32};
  const bool gpu = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  tf32_ = on_.fp32 && framework_of(strategy).multiplies_in_tf32();
  const bool fused = stack_of(job.software).fuses_softmax || framework_of(strategy).fuses_softmax(scores);
  score_bytes_ = score_bytes(fused, on_.fp32 && gpu, a_.dropout);
  beside_products_ = framework_of(strategy).tensor_overlap(strategy);
  const bool inside = strategy.tensor_parallel <= job.cluster.instance.cores();
  if (beside_products_ && !(strategy.sequence_parallel && (inside || beside_products_->across_nodes)))
    beside_products_.reset();
  units_ = framework_of(strategy).units(strategy);
  if (units_) {
    root_parameters_ = stage_parameters(a_, strategy, 0, 0);
    layer_parameters_ = stage_parameters(a_, strategy, 0, 1) - root_parameters_;
  }
  if (a_.experts > 0) count_experts(job.cluster.instance.cores());
  overlaps_exchanges_ = framework_of(strategy).overlaps_experts(strategy) &&
                        micro_batches(job.training, strategy) > strategy.pipeline_parallel;
}

Operator operator_of(std::string_view name, const Work& work, Category category) {
  return {.name = name,
          .category = category,
          .seconds = work.seconds,
          .parameter = work.parameter,
          .also = work.also,
          .flops = work.flops,
          .instructions = work.instructions};
}

Operator LayerModel::matmul(std::string_view name, double n, double k, double width) const {
  return product(name, {n, k, width});
}

Operator LayerModel::product(std::string_view name, const MatmulShape& shape) const {
  Operator one = operator_of(name, device_.matmul(on_, shape));
  one.product = shape;
  return one;
}

void LayerModel::matmul_backward(OperatorList& list, std::string_view name, double n, double k,
                                 double width) const {
  list.push_back(matmul(name, n, width, k));  // gradient of the input
  list.push_back(matmul(name, k, n, width));  // gradient of the weight
  list.back().weights = true;
}

Operator LayerModel::linear(std::string_view name, double n, double k, double width) const {
  const bool fp8 = is_fp8(s_.precision);
  return product(name, {n, k, width, fp8, fp8 && framework_of(s_).keeps_fp8_weights(), tf32_});
}

void LayerModel::linear_backward(OperatorList& list, std::string_view name, double n, double k,
                                 double width) const {
  list.push_back(linear(name, n, width, k));
  list.push_back(linear_weights(name, n, k, width));
}

/// Product without weights among its operands.
Operator LayerModel::linear_weights(std::string_view name, double n, double k, double width) const {
  Operator weights = product(name, {k, n, width, is_fp8(s_.precision), false, tf32_});
  weights.weights = true;
  return weights;
}

void LayerModel::linear_after_gather(OperatorList& list, std::string_view name, double n, double k,
                                     double width) const {
  if (!beside_products_ || !beside_products_->own_piece) {
    list.push_back(linear(name, n, k, width));
    return;
  }
  const double own = n / s_.tensor_parallel, others = s_.tensor_parallel > 2 ? 2 : 1;
  list.push_back(linear(name, own, k, width));
  for (int i = 0; i < others; ++i) list.push_back(linear(name, (n - own) / others, k, width));
}

Operator LayerModel::elements(std::string_view name, const ElementKind& kind, double rows,
                              double width) const {
  return operator_of(name, device_.elements(on_, kind, rows, width));
}

Operator LayerModel::memory(std::string_view name, Category category, double bytes) const {
  return operator_of(name, device_.memory(on_, Bytes(bytes)), category);
}

Operator LayerModel::reduce(std::string_view name, double bytes, ProcessGroup process_group) const {
  return {.name = name,
          .category = Category::tensor_parallel,
          .process_group = process_group,
          .op = CollectiveOp::all_reduce,
          .bytes = Bytes(bytes)};
}

Operator LayerModel::gather(std::string_view name) const {
  return {.name = name,
          .category = Category::tensor_parallel,
          .process_group = ProcessGroup::tensor,
          .op = CollectiveOp::all_gather,
          .bytes = Bytes(element_bytes_ * tokens_ * a_.hidden)};
}

Operator LayerModel::scatter(std::string_view name) const {
  Operator op = gather(name);
  op.op = CollectiveOp::reduce_scatter;
  return op;
}

/// End of the sequence-parallel region: an all-gather; nothing otherwise.
void LayerModel::enter(OperatorList& list, std::string_view name) const {
  if (s_.sequence_parallel) list.push_back(gather(name));
}

/// Start of the region: a reduce-scatter, or the all-reduce of plain tensor parallel.
void LayerModel::leave(OperatorList& list, std::string_view name) const {
  if (s_.tensor_parallel == 1) return;
  if (s_.sequence_parallel) {
    list.push_back(scatter(name));
  } else {
    list.push_back(reduce(name, element_bytes_ * tokens_ * a_.hidden));
  }
}

void LayerModel::norm(OperatorList& list) const {
  list.push_back(elements("norm", kinds_.norm, shard_tokens_, a_.hidden));
}

/// Recomputes the parts of a multilayer perceptron that its backward reads. The router's backward reads the
/// experts' outputs.
void LayerModel::mlp_again(OperatorList& list) const {
  if (!routes_part_) enter(list, "mlp input");
  if (a_.experts > 0) {
    experts(list);
    return;
  }
  const bool gated = a_.mlp == Mlp::gated;
  linear_after_gather(list, "gate_up", tokens_, a_.hidden, (gated ? 2 : 1) * mlp_width_);
  list.push_back(elements("activation", gated ? kinds_.gated : kinds_.plain, tokens_, mlp_width_));
}

void LayerModel::mlp(OperatorList& list) const {
  mlp_again(list);
  if (a_.experts == 0) list.push_back(linear("down", tokens_, mlp_width_, a_.hidden));
  if (!routes_part_) leave(list, "down output");
}

void LayerModel::mlp_backward(OperatorList& list) const {
  if (a_.experts > 0) return experts_backward(list);
  const bool gated = a_.mlp == Mlp::gated;
  linear_after_gather(list, "down", tokens_, a_.hidden, mlp_width_);  // gradient of the input
  list.push_back(linear_weights("down", tokens_, mlp_width_, a_.hidden));
  list.push_back(
      elements("activation", gated ? kinds_.gated_backward : kinds_.plain_backward, tokens_, mlp_width_));
  enter(list, kMlpInputAgain);
  linear_backward(list, "gate_up", tokens_, a_.hidden, (gated ? 2 : 1) * mlp_width_);
}

namespace {

/// Capacity for the operators of a pass over one layer, so that the list does not move while it grows.
constexpr std::size_t kOperatorsOfPass = 40;

}  // namespace

OperatorList LayerModel::layer_forward(LayerTurn turn) const {
  OperatorList list;
  list.reserve(kOperatorsOfPass);
  if (turn == LayerTurn::first || turn == LayerTurn::inner) gather_layer(list);
  list.push_back(operator_of("layer overhead", device_.layer_start(on_)));
  norm(list);
  attention_block(list);
  norm(list);
  mlp(list);
  put_beside_products(list);
  put_beside_other_pass(list, true);
  const double before_counts = wait_for_counts(list);
  add_launches(list, 1, before_counts, calls_of(list));
  return list;
}

/// Lets the exchanges with experts run in the background, one during attention and one during the experts, as those of
/// the opposite pass do: of four equal exchanges a forward pass covers two and a backward pass two.
void LayerModel::put_beside_other_pass(OperatorList& list, bool forward) const {
  if (!overlaps_exchanges_) return;
  const auto exchange = [](const Operator& o) { return o.process_group == ProcessGroup::expert; };
  for (Operator& o : list) o.background = o.background || exchange(o);
  if (!forward) return;  // the experts come first, and each exchange has its work after it
  const auto last = std::find_if(list.rbegin(), list.rend(), exchange);
  if (last != list.rend()) std::rotate(list.begin(), std::prev(last.base()), last.base());
}

/// Lets collectives overlap products. Each comes right before the product that it overlaps
/// (Operator::overlapped).
void LayerModel::put_beside_products(OperatorList& list) const {
  if (!beside_products_) return;
  const auto is = [](const Operator& o, CollectiveOp op) {
    return o.process_group == ProcessGroup::tensor && o.op == op;
  };
  const auto product = [](const Operator& o) {
    return o.process_group == ProcessGroup::none && o.flops.value > 0;
  };
  OperatorList out;
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    Operator o = list[i];
    const bool more = i + 1 < list.size();
    const bool between = beside_products_->between_gradients;
    if (more && is(o, CollectiveOp::all_gather) && product(list[i + 1]))
      o.overlapped = between || (o.name != kMlpInputAgain && o.name != kQkvInputAgain);
    const bool free =
        (out.empty() || !out.back().overlapped) && (o.weights ? between : !beside_products_->own_piece);
    if (!(more && free && product(o) && is(list[i + 1], CollectiveOp::reduce_scatter))) {
      out.push_back(o);
      continue;
    }
    Operator whole = list[++i], last = whole;
    const int pieces = o.weights ? 1 : beside_products_->pieces;
    whole.bytes = last.bytes = whole.bytes / pieces;
    whole.repeat = std::max(1, pieces - 1);
    whole.overlapped = true;
    out.push_back(whole);
    out.push_back(o);
    if (pieces > 1) out.push_back(last);
  }
  list = std::move(out);
}

Seconds LayerModel::call_time(int ranks, bool between_nodes) const {
  return (call_per_rank_ + (between_nodes ? between_nodes_ : Seconds{})) * ranks;
}

/// The host's time in the calls over tensor parallel of a list.
Seconds LayerModel::calls_of(const OperatorList& list) const {
  int calls = 0;
  for (const Operator& o : list) calls += o.process_group == ProcessGroup::tensor ? o.repeat : 0;
  return call_time(s_.tensor_parallel, tensor_spans_nodes_) * calls;
}

Operator LayerModel::collective_calls(Seconds time) const {
  Work work{.seconds = time};
  if (const auto host = device_.host_launches(on_, 0, 0)) work.parameter = host->parameter;
  return operator_of("collective calls", work, Category::overhead);
}

Operator LayerModel::copied_pieces(double pieces) const {
  return operator_of("copies of pieces", device_.host_pieces(on_, pieces), Category::data_parallel);
}

void LayerModel::add_launches(OperatorList& list, double passes, double before_counts, Seconds calls) const {
  if (waits_ > 0) {
    list.push_back({.name = "waiting for the slowest",
                    .category = Category::overhead,
                    .parameter = device_.spread_of_passes(),
                    .waits = waits_});
  }
  push_launches(list, kLaunches, passes - before_counts, passes * experts_, calls, before_counts == 0);
}

/// The host's time in the calls of an end of the model.
void LayerModel::push_calls(OperatorList& list) const {
  push_launches(list, kLaunches, 0, 0, calls_of(list), true);
}

/// Puts the host's wait for the counts of tokens where they leave for the experts: from there on the device has
/// nothing queued. Returns the share of a layer's launches before it, that of its operators; 0 if it does not wait.
double LayerModel::wait_for_counts(OperatorList& list) const {
  if (!dispatch_ || !(dispatch_->one_by_one || s_.expert_parallel > 1)) return 0;
  const auto counted = std::find_if(list.begin(), list.end(), [](const Operator& o) { return o.counted; });
  if (counted == list.end()) return 0;
  const auto next = std::next(counted);
  const double share = static_cast<double>(next - list.begin()) / static_cast<double>(list.size());
  OperatorList launched;
  push_launches(launched, "launches before the experts", share, 0, {}, false);
  list.insert(next, launched.begin(), launched.end());
  return share;
}

/// The host's launches of `layers` passes over a layer, of `experts` experts' products where it launches them
/// separately, and its time in `calls`.
void LayerModel::push_launches(OperatorList& list, std::string_view name, double layers, double experts,
                               Seconds calls, bool of_pass) const {
  auto host = device_.host_launches(on_, layers, dispatch_ && dispatch_->one_by_one ? experts : 0);
  if (!host) return;
  host->seconds += calls;
  if (host->seconds.value <= 0) return;
  list.push_back(operator_of(name, *host));
  list.back().host = host->seconds;
  list.back().of_pass = of_pass && framework_of(s_).launches_ahead();
  list.back().seconds = {};
}

/// Recomputes, in the order q, k, v, output, gate, up, down (or inner and outer of a plain MLP), the second,
/// fourth and sixth product; the last product of a plain MLP without the parts that nothing reads.
void LayerModel::alternate_again(OperatorList& list) const {
  const bool gated = a_.mlp == Mlp::gated;
  list.push_back(elements("norms again", both_norms(kinds_), shard_tokens_, a_.hidden));
  list.push_back(linear("k again", tokens_, a_.hidden, kv_width_ / 2));
  if (a_.qk_norm)
    list.push_back(elements("norm of heads", kNorm, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  if (!a_.learned_positions)
    list.push_back(elements("rotary", kinds_.rotary, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  list.push_back(linear("o_proj again", tokens_, heads_ * a_.head_dim, a_.hidden));
  if (a_.experts > 0) return;
  if (gated) list.push_back(linear("up again", tokens_, a_.hidden, mlp_width_));
  list.push_back(elements("activation", gated ? kinds_.gated : kinds_.plain, tokens_, mlp_width_));
}

OperatorList LayerModel::layer_backward(LayerTurn turn) const {
  const bool gated = a_.mlp == Mlp::gated;
  OperatorList list;
  list.reserve(kOperatorsOfPass);
  if (turn == LayerTurn::inner || turn == LayerTurn::last) reduce_gradients(list, layer_parameters_);
  if (units_ && units_->again && (turn == LayerTurn::first || turn == LayerTurn::inner))
    gather_layer(list);
  list.push_back(operator_of("layer overhead", device_.layer_start(on_)));
  const RecomputeUnits again = framework_of(s_).recomputed(s_);
  const bool drops = framework_of(s_).drops_unread();
  double before_counts = 0;
  Seconds called_less{};  // where only some layers are recomputed
  if (again.layer) {
    OperatorList remade;
    remade.reserve(kOperatorsOfPass);
    norm(remade);
    attention_block(remade);
    norm(remade);
    if (drops) {
      mlp_again(remade);
    } else {
      mlp(remade);
    }
    before_counts = wait_for_counts(remade) / again.every;
    // If only some layers are recomputed: the average of all.
    for (Operator& o : remade) {
      o.host = o.host / again.every;
      o.seconds = o.seconds / again.every;
      o.flops = o.flops / again.every;
      o.bytes = o.bytes / again.every;
      o.instructions /= again.every;
    }
    called_less = calls_of(remade) * (1 - 1.0 / again.every);
    list.insert(list.end(), remade.begin(), remade.end());
  }
  if (again.alternate) alternate_again(list);
  if (!routes_part_) enter(list, "down gradient");
  if (again.mlp && drops) mlp_again(list);
  if (again.mlp && !drops) mlp(list);
  if (again.product && gated) list.push_back(elements("product again", kProduct, tokens_, mlp_width_));
  if (again.norms) list.push_back(elements("norms again", both_norms(kinds_), shard_tokens_, a_.hidden));
  mlp_backward(list);
  if (!routes_part_) leave(list, "mlp input gradient");
  list.push_back(elements("norm", kinds_.norm_backward, shard_tokens_, a_.hidden));

  enter(list, "o_proj gradient");
  linear_after_gather(list, "o_proj", tokens_, a_.hidden, heads_ * a_.head_dim);  // gradient of the input
  list.push_back(linear_weights("o_proj", tokens_, heads_ * a_.head_dim, a_.hidden));
  if (again.scores) attention(list, 1, score_bytes_.again);
  attention(list, s_.flash_attention ? kFlashUnitsBackward : 4, score_bytes_.backward);
  if (!a_.learned_positions) {
    list.push_back(elements("rotary", kinds_.rotary_backward, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  }
  if (a_.qk_norm)
    list.push_back(elements("norm of heads", kNormBackward, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  if (s_.kv_replicator > 1) {
    list.push_back(
        reduce("dK, dV over replicas", element_bytes_ * tokens_ * kv_width_, ProcessGroup::kv_replicas));
  }
  enter(list, kQkvInputAgain);
  linear_backward(list, "qkv", tokens_, a_.hidden, qkv_width_);
  leave(list, "qkv input gradient");
  list.push_back(elements("norm", kinds_.norm_backward, shard_tokens_, a_.hidden));
  put_beside_products(list);
  put_beside_other_pass(list, false);
  add_launches(list, again.layer ? 1 + 1.0 / again.every : 1, before_counts, calls_of(list) - called_less);
  return list;
}

}  // namespace trnplan::models
