#include "models/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include <boost/container/static_vector.hpp>

#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "models/memory/fit_probability.h"
#include "models/memory/stage_memories.h"
#include "models/parameters/allocator_parameters.h"
#include "units/index.h"

namespace trnplan::models {

std::string_view to_string(PeakInstant i) {
  switch (i) {
    case PeakInstant::loss:
      return "loss";
    case PeakInstant::backward:
      return "backward";
    case PeakInstant::optimizer:
      return "optimizer";
  }
  return "?";
}

const StageMemory& Memory::worst() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const StageMemory& a, const StageMemory& b) { return a.peak() < b.peak(); });
}

namespace {

/// Residency of one stage of a model cut into `parts`.
Residency residency_of(const std::vector<int>& parts, const Strategy& s, int micro_batches, int stage) {
  const PipelineSchedule& schedule = schedule_of(s);
  const PipelineShape shape = shape_of(s, micro_batches);
  if (s.virtual_pipeline == 1) return schedule.residency(stage, shape, {&parts[at(stage)], 1});
  return schedule.residency(stage, shape, layers_of_chunks(parts, s, stage));
}

/// A weight of one core: ZeRO-1 shards it along the first dimension.
struct Tensor {
  double rows = 0, columns = 0;
  int count = 1;
  bool expert = false;
  double elements() const { return rows * columns * count; }
};

/// The weights of a stage, without heap allocation: the search asks for them ten thousand times a second.
/// Latent attention with shared experts has some 25 weights; more than 32 throw.
using Tensors = boost::container::static_vector<Tensor, 32>;

Tensors local_tensors(const Architecture& a, const Strategy& s, const StageEnds& ends, int layers) {
  const double t = s.tensor_parallel, h = a.hidden, q = static_cast<double>(a.heads) * a.head_dim / t;
  const double kv = 2.0 * a.kv_dim() * s.kv_replicator / t, f = a.intermediate / t;
  const double up = (a.mlp == Mlp::gated ? 2 : 1) * f;
  Tensors all;
  all.push_back({q + kv, h, layers});
  all.push_back({h, q, layers});
  all.push_back({h, 1, 2 * layers});
  if (a.experts > 0) {  // (experts, h, 2f/ETP) and (experts, f/ETP, h); the router is whole on every rank
    const double experts = std::ceil(1.0 * a.experts / s.expert_parallel);
    const double wider = t / expert_tensor_degree(s);
    all.push_back({experts, h * up * wider, layers, true});
    all.push_back({experts, h * f * wider, layers, true});
    all.push_back({static_cast<double>(a.experts), h, layers});
    if (a.blocks.expert_bias) {
      all.push_back({experts, up * wider, layers, true});
      all.push_back({experts, h, layers, true});
      all.push_back({static_cast<double>(a.experts), 1, layers});
    }
  } else {
    all.push_back({up, h, layers});
    all.push_back({h, f, layers});
  }
  if (a.biases) {
    all.push_back({q + kv, 1, layers});
    all.push_back({up, 1, layers});
    all.push_back({h, 1, 4 * layers});
  }
  if (a.qkv_bias && !a.biases) all.push_back({q + kv, 1, layers});
  if (a.blocks.output_bias) all.push_back({h, 1, layers});
  if (a.blocks.mlp_bias && a.experts == 0) {
    all.push_back({up, 1, layers});
    all.push_back({h, 1, layers});
  }
  if (a.blocks.sinks) all.push_back({a.heads / t, 1, layers});
  if (a.qk_norm) all.push_back({static_cast<double>(a.head_dim), 1, 2 * layers});
  const double vocabulary = std::ceil(a.vocabulary / t);
  if (ends.first) {
    all.push_back({vocabulary, h});
    if (a.learned_positions) all.push_back({static_cast<double>(a.max_positions), h});
    if (a.token_types > 0) all.push_back({static_cast<double>(a.token_types), h});
  }
  if (ends.last) {
    all.push_back({h, a.biases ? 2.0 : 1.0});
    if (!a.tied_embeddings || !ends.first) all.push_back({vocabulary, h});
  }
  return all;
}

/// Totals of the weights of a core.
struct Weights {
  double elements = 0;
  double padded = 0;   ///< of a rank's shards, with rows rounded up where a shard is whole rows
  double reduced = 0;  ///< shards with reduced gradients that one optimizer step holds
  double largest = 0;
};

/// `rows`: Framework::shards_rows().
Weights weights_of(const Architecture& a, const Strategy& s, bool rows, const StageEnds& ends, int layers) {
  const double ranks = shard_degree(s), expert_ranks = expert_shard_degree(s);
  Weights w;
  double experts = 0;
  for (const Tensor& tensor : local_tensors(a, s, ends, layers)) {
    const double share = tensor.rows / (tensor.expert ? expert_ranks : ranks);
    const double shard = (rows ? std::ceil(share) : share) * tensor.columns * tensor.count;
    w.elements += tensor.elements();
    w.padded += shard;
    if (tensor.expert) experts += shard;
    if (tensor.count > 0) w.largest = std::max(w.largest, tensor.rows * tensor.columns);
  }
  // With expert parallel two optimizers step one after the other.
  w.reduced = s.expert_parallel > 1 ? std::max(experts, w.padded - experts) : w.padded;
  return w;
}

/// Bytes at the width of one micro-batch.
struct Widths {
  double element;   ///< bytes of an activation
  double tokens;    ///< s b of this context-parallel rank
  double inside;    ///< s b / T: inside the tensor-parallel region. This and the next are doubled for fp32
  double outside;   ///< norms and linear inputs: s b / T with sequence parallel, else s b
  double gathered;  ///< bytes of s b h, when gathered for a product or before its output is reduced
  bool flash;       ///< no s x s probabilities
};

Widths widths_of(const Job& job, const Strategy& s) {
  Widths w{};
  w.element = element_bytes(s.precision);
  w.tokens = static_cast<double>(job.training.sequence) / s.context_parallel * s.micro_batch;
  w.inside = w.tokens / s.tensor_parallel * w.element / 2;
  w.outside = s.sequence_parallel ? w.inside : w.tokens * w.element / 2;
  w.gathered = w.element * w.tokens * job.architecture.hidden;
  w.flash = s.flash_attention || s.context_parallel > 1;
  return w;
}

/// Activations of a layer and micro-batch, per core: those that autograd keeps, those that are recomputed,
/// and ring attention's in transit.
struct LayerBytes {
  double kept, remade, rotating;
};

/// Bytes of the experts: the tokens gathered for the router, each expert's places going in and coming out
/// whole on every tensor-parallel rank, and its inner activations. Whole experts get the rank's part of the tokens,
/// which nothing gathers.
double expert_bytes(const Architecture& a, const Strategy& s, const Widths& w) {
  const bool part = has_whole_experts(s);
  const double tokens = part ? w.tokens / s.tensor_parallel : w.tokens;
  const double chosen = tokens * a.experts_per_token;
  const double factor = capacity_factor(a, s);
  const double places =
      factor > 0 ? a.experts * std::min(std::ceil(chosen * factor / a.experts), tokens) : chosen;
  const double inner =
      (a.mlp == Mlp::gated ? 4 : 2) * a.intermediate / static_cast<double>(expert_tensor_degree(s));
  return w.element * (2.0 * a.hidden + inner) * places + (s.sequence_parallel && !part ? w.gathered : 0.0);
}

SavedBytes saved_of(const Job& job, const Strategy& s) {
  const bool gpu = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  return gpu ? framework_of(s).saved(job.architecture, s) : SavedBytes{};
}

LayerBytes layer_bytes(const Job& job, const Strategy& s) {
  const Architecture& a = job.architecture;
  const Widths w = widths_of(job, s);
  const double h = a.hidden, f = a.intermediate, q = static_cast<double>(a.heads) * a.head_dim;
  const double x = w.inside, y = w.outside;
  const double keys = static_cast<double>(job.training.sequence) / s.context_parallel;
  double seen = 0, most_seen = 0;  // the mean over all layers, and of the layer with most
  for (const AttentionKind& kind : attention_kinds(a)) {
    const double of_kind = kind.window > 0 ? std::min<double>(keys, kind.window) : keys;
    seen += kind.share * of_kind;
    if (kind.share > 0) most_seen = std::max(most_seen, of_kind);
  }
  const double each = w.tokens * a.heads / s.tensor_parallel;

  const Framework& framework = framework_of(s);
  const RecomputeUnits again = framework.recomputed(s);
  // Activations that a policy of second products keeps are counted below, those that it recomputes here as
  // NxD's.
  const SavedBytes saved = again.alternate ? SavedBytes{} : saved_of(job, s);
  const bool gated = a.mlp == Mlp::gated;
  const double norms = saved.norms * h * y, inputs = saved.inputs * h * y;
  const double heads =
      (w.flash ? saved.queries : saved.plain_queries) * q * x + saved.keys * a.kv_dim() * s.kv_replicator * x;
  const double inner = gated ? saved.gated : saved.plain;
  const double mlp = a.experts > 0 ? expert_bytes(a, s, w) : inner * f * x;
  const double gradients =
      a.experts > 0 ? 0 : (gated ? saved.gated_gradients : saved.plain_gradients) * f * x;
  const double probabilities = w.flash ? 0 : 3 * w.element * (each * seen);
  const double most_probabilities = w.flash ? 0 : 3 * w.element * (each * most_seen);
  // For the norms of queries and keys, the fp32 copy and the input of their weight.
  const double on_heads = a.qk_norm ? 6 * (q + 1.0 * a.kv_dim() * s.kv_replicator) * x : 0;
  const double all = norms + inputs + heads + on_heads + mlp + probabilities;
  // K, V and their gradients, and the next K and V with the gradients that come with them: 2 q x bytes each.
  const double rotating = s.context_parallel > 1 ? 12 * q * x : 0;
  if (again.layer) {
    const double remade = 1.0 / again.every;  // share of the layers
    return {remade * 2 * h * y + (1 - remade) * all, all + (most_probabilities - probabilities) + gradients,
            rotating};
  }

  if (again.alternate) {
    // Kept of the layer: its input; the outputs of products q, v, gate or inner, and down; and attention's.
    const double kept = 4 * h * y + (4 * q + 2.0 * a.kv_dim()) * x + (a.experts > 0 ? mlp : 2 * f * x);
    return {std::min(kept, all), all - std::min(kept, all), rotating};
  }
  LayerBytes bytes{all, gradients, rotating};
  const auto drop = [&](double amount, double most) {  // kept of the mean layer, remade of that with most
    bytes.kept -= amount;
    bytes.remade += most;
  };
  if (again.mlp) {
    drop(mlp, mlp);
  } else if (again.product && a.mlp == Mlp::gated && a.experts == 0) {
    drop(2 * f * x, 2 * f * x);
  }
  const double remade_norms = (saved.norms + saved.inputs) / 2 * h * y;
  if (again.norms) drop(remade_norms, remade_norms);
  if (again.scores) drop(probabilities, most_probabilities);
  return bytes;
}

/// Gradients of the outputs of a layer's products: of queries, keys and values, gate and up only a rank's
/// share, of the output and down product all of them, before they are reduced.
double deferred_bytes(const Job& job, const Strategy& s, const Widths& w) {
  const Architecture& a = job.architecture;
  const double experts = a.experts > 0 ? a.experts_per_token : 1;
  const double columns = static_cast<double>(a.heads) * a.head_dim + 2.0 * a.kv_dim() * s.kv_replicator +
                         experts * (a.mlp == Mlp::gated ? 2 : 1) * a.intermediate;
  const double parts = a.experts > 0 && has_whole_experts(s) ? s.tensor_parallel : 1;
  return 2 * w.inside * columns + (1 + experts / parts) * w.gathered;
}

/// Weights that are gathered unit by unit and alive at a time, and gradients before they are reduced.
struct UnitBytes {
  double root = 0, root_gradient = 0;
  double layers = 0;
};

/// Bytes of units. zero3: the root's weights stay; of the layers those that compute and those that arrive,
/// with copies. Their gradients are in bf16, plus the buffers of their reduction; the root's gradients wait
/// for the end of the pass. zero2 counts gathered weights among the states.
UnitBytes unit_bytes(const Architecture& a, const Strategy& s) {
  const auto units = framework_of(s).units(s);
  if (!units) return {};
  const double root = stage_parameters(a, s, 0, 0), layer = stage_parameters(a, s, 0, 1) - root;
  const double gradients = units->gathered + units->reduced;
  UnitBytes bytes;
  bytes.root = units->again ? units->gathered * root : 0;
  bytes.root_gradient = units->gathered * root;
  bytes.layers = layer * (gradients + (units->again ? units->buffered * units->gathered * units->of_layers : 0));
  return bytes;
}

/// Weights of a stage, by all that they depend on, in a job.
struct WeightsKey {
  int tensor = 0, kv = 0, expert = 0, cut = 0, expert_shard = 0, shard = 0,
      layers = 0;  ///< degrees; not 0 of a strategy. `cut`: expert_tensor_degree()
  bool first = false, last = false, rows = false;
  bool operator==(const WeightsKey&) const = default;
};

/// The weights of the stages that were asked for last: neighbours in a search share them.
class KnownWeights {
 public:
  const Weights& of(const Architecture& a, const Strategy& s, bool rows, int shard, const StageEnds& ends,
                    int layers) {
    const WeightsKey key{s.tensor_parallel,
                         s.kv_replicator,
                         s.expert_parallel,
                         expert_tensor_degree(s),
                         expert_shard_degree(s),
                         shard,
                         layers,
                         ends.first,
                         ends.last,
                         rows};
    const auto hash = static_cast<unsigned>(layers * 4 + (ends.first ? 2 : 0) + (ends.last ? 1 : 0)) +
                      static_cast<unsigned>(shard) * 37u + static_cast<unsigned>(s.expert_parallel) * 101u;
    Entry& entry = entries_[hash % entries_.size()];
    if (!(entry.key == key)) entry = {key, weights_of(a, s, rows, ends, layers)};
    return entry.weights;
  }

 private:
  struct Entry {
    WeightsKey key;
    Weights weights;
  };
  std::array<Entry, 64> entries_;
};

}  // namespace

/// Parts of the memory of a strategy that its stages share.
struct StageMemories::Shared {
  const Job& job;
  const Profile& profile;
  KnownWeights weights;

  const Strategy* strategy = nullptr;
  const Framework* framework = nullptr;
  int shard = 1;
  LayerBytes layer{};
  Widths width{};
  StateBytes per{};
  KeptLogits of_logit{};
  UnitBytes unit{};
  double product = 0, deferred = 0, backward_buffers = 0;
  StageMemory all;  ///< what is the same on all stages

  Shared(const Job& j, const Profile& p) : job(j), profile(p) {}

  void choose(const Strategy& s) {
    const Architecture& a = job.architecture;
    strategy = &s;
    framework = &framework_of(s);
    shard = shard_degree(s);
    layer = layer_bytes(job, s);
    width = widths_of(job, s);
    per = framework->state_bytes(s);
    of_logit = framework->kept_logits(s.precision);
    unit = unit_bytes(a, s);
    deferred = -1;
    backward_buffers = framework->backward_buffers(s).value;
    // A product's gradients need its input, gathered again under sequence parallel, together with the gradient
    // of that input before it is reduced.
    product = (s.sequence_parallel ? 2 : 1) * width.gathered;
    all.one_graph = framework->launches(s).backward == Launch::none;
    all.pooled = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
    all.mixed = all.pooled && framework->mixes_sizes(s);
    all.queued.reset();
    if (const auto queues = framework->queues_collectives(s); queues && all.pooled) {
      const bool held_up =
          s.pipeline_parallel == 1 && profile.network && profile.network->call_per_rank.value > 0;
      all.queued = Bytes(*queues && !held_up ? profile[allocator::queued_tensors] * width.gathered : 0.0);
    }
    all.runtime = Bytes(profile[common::runtime_reserve]);
    all.per_layer = Bytes(layer.kept);
    all.per_pass = Bytes(0);
    if (s.pipeline_parallel == 1) return;
    // Received input, output, and the cos and sin tables that are passed along.
    const double message = width.gathered / (s.sequence_parallel ? s.tensor_parallel : 1);
    const SavedBytes saved = saved_of(job, s);
    const double tables = a.learned_positions || !saved.passes_tables
                              ? 0.0
                              : 2 * width.element * width.tokens / s.micro_batch * a.head_dim;
    all.per_pass = Bytes(saved.messages * message + tables);
  }

  /// Bytes of a layer and micro-batch for which the gradients of weights are left.
  double per_deferred() {
    if (deferred < 0) {
      const double remade = framework->recomputed(*strategy).any() ? layer.remade : 0;
      deferred = deferred_bytes(job, *strategy, width) + remade;
    }
    return deferred;
  }

  StageMemory of(int stage, const StageEnds& ends, int layers, const Residency& alive) {
    const Strategy& s = *strategy;
    const Weights& w = weights.of(job.architecture, s, framework->shards_rows(), shard, ends, layers);
    StageMemory m = all;
    m.stage = stage;
    m.layers = layers;
    m.in_flight = alive.most.passes;
    m.parameters = Bytes(per.parameter * w.elements + per.parameter_shard * w.padded);
    const double always = per.gradient + (per.keeps_pass ? per.pass : 0),
                 at_end = per.keeps_pass ? 0 : per.pass;
    m.gradients = Bytes(always * w.elements + per.gradient_shard * w.padded);
    m.optimizer = Bytes(per.shard * w.padded);
    if (alive.late.deferred > 0) m.per_deferred = Bytes(per_deferred());
    const Bytes kept = std::max(m.kept(alive.most), m.kept(alive.late)), kept_at_loss = m.kept(alive.at_loss);
    const double logits =
        ends.last ? width.tokens * std::ceil(1.0 * job.architecture.vocabulary / s.tensor_parallel) : 0.0;
    // At the end of a pass its activations are gone and its gradients are whole.
    const Alive before_last{alive.most.passes - 1, alive.most.layers - alive.most.layers / alive.most.passes};
    m.backward_layer = {PeakInstant::backward,
                        kept,
                        {},
                        Bytes(product + layer.remade + layer.rotating + backward_buffers + unit.root +
                              unit.root_gradient + unit.layers)};
    m.backward_end = {
        PeakInstant::backward, m.kept(before_last), {}, Bytes(at_end * w.elements + backward_buffers)};
    m.head_forward = {PeakInstant::loss, {}, Bytes(of_logit.forward * logits), Bytes(unit.root)};
    m.head_backward = {PeakInstant::loss,
                       {},
                       Bytes(of_logit.backward * logits),
                       Bytes((ends.last ? product : 0) + unit.root + unit.root_gradient)};
    m.moments[0] = m.head_backward.total() > m.head_forward.total() ? m.head_backward : m.head_forward;
    m.moments[0].activations = kept_at_loss;
    m.moments[1] = m.backward_end.total() > m.backward_layer.total() ? m.backward_end : m.backward_layer;
    // What is copied for the reduction is gone when the optimizer has its buffers.
    const double buffers = per.reduced * w.reduced + framework->optimizer_buffers(s, w.largest).value;
    m.moments[2] = {PeakInstant::optimizer, {}, {}, Bytes(std::max(per.copied * w.elements, buffers))};
    const MemoryMoment& peak =
        *std::max_element(m.moments.begin(), m.moments.end(),
                          [](const MemoryMoment& p, const MemoryMoment& q) { return p.total() < q.total(); });
    m.instant = peak.instant;
    m.activations = peak.activations;
    m.logits = peak.logits;
    m.staging = peak.staging;
    return m;
  }
};

StageMemories::StageMemories(const Job& job, const Profile& profile)
    : shared_(std::make_unique<Shared>(job, profile)) {}
StageMemories::~StageMemories() = default;

void StageMemories::choose(const Strategy& s) {
  shared_->choose(s);
}

StageMemory StageMemories::of(int stage, int layers, const Residency& alive) {
  return shared_->of(stage, ends_of(*shared_->strategy, stage), layers, alive);
}

/// The largest stage has at least the mean of the layers, an end where it is alone, and one pass alive.
bool StageMemories::may_fit(Bytes limit) {
  const Strategy& s = *shared_->strategy;
  const bool alone = s.pipeline_parallel == 1;
  const int layers =
      (shared_->job.architecture.layers + s.pipeline_parallel - 1) / std::max(1, s.pipeline_parallel);
  const Alive one{1, s.virtual_pipeline == 1 ? layers : 1, 0};
  constexpr double kRounded = 1 + 1e-9;
  return shared_->of(0, {alone, alone}, layers, {one, {}, {}}).peak() <= limit * kRounded;
}

StageMemory stage_memory(const Job& job, const Strategy& s, const Profile& profile, int stage, int layers,
                         const Residency& alive) {
  StageMemories one(job, profile);
  one.choose(s);
  return one.of(stage, layers, alive);
}

Bytes StageMemory::kept(const Alive& alive) const {
  return Bytes(per_layer.value * alive.layers + per_pass.value * alive.passes +
               per_deferred.value * alive.deferred);
}

double stage_parameters(const Architecture& a, const Strategy& s, int stage, int layers) {
  double n = 0;
  for (const Tensor& w : local_tensors(a, s, ends_of(s, stage), layers)) n += w.elements();
  return n;
}

int stage_weights(const Architecture& a, const Strategy& s, int stage, int layers, bool of_experts) {
  int n = 0;
  for (const Tensor& w : local_tensors(a, s, ends_of(s, stage), layers)) {
    if (w.expert == of_experts) n += w.count;
  }
  return n;
}

std::vector<double> layer_weights(const Architecture& a, const Strategy& s, bool of_experts) {
  std::vector<double> all;
  for (const Tensor& w : local_tensors(a, s, {.first = false, .last = false}, 1)) {
    if (w.expert == of_experts) all.insert(all.end(), static_cast<std::size_t>(w.count), w.rows * w.columns);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

double local_parameters(const Architecture& a, const Strategy& s, int stage) {
  return stage_parameters(a, s, stage, layers_of_stage(layers_per_chunk(a, s), s, stage));
}

double largest_weight(const Architecture& a, const Strategy& s) {
  const std::vector<int> parts = layers_per_chunk(a, s);
  double largest = 0;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    const int layers = layers_of_stage(parts, s, stage);
    largest = std::max(largest, weights_of(a, s, true, ends_of(s, stage), layers).largest);
  }
  return largest;
}

std::vector<Residency> residencies(const Architecture& a, const Strategy& s, int micro_batches) {
  const std::vector<int> parts = layers_per_chunk(a, s);
  std::vector<Residency> all;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    all.push_back(residency_of(parts, s, micro_batches, stage));
  }
  return all;
}

Memory memory_of(const Job& job, const Strategy& s, const Profile& profile) {
  Memory memory;
  memory.limit = job.cluster.instance.core.memory;
  const std::vector<int> parts = layers_per_chunk(job.architecture, s);
  const int m = std::max(1, micro_batches(job.training, s));
  memory.stages.reserve(at(s.pipeline_parallel));
  StageMemories of_stage(job, profile);
  of_stage.choose(s);
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    memory.stages.push_back(
        of_stage.of(stage, layers_of_stage(parts, s, stage), residency_of(parts, s, m, stage)));
  }
  for (StageMemory& one : memory.stages) {
    const bool longest =
        s.pipeline_parallel > 1 &&
        std::all_of(memory.stages.begin(), memory.stages.end(), [&](const StageMemory& other) {
          return other.stage == one.stage || other.layers < one.layers;
        });
    if (longest && one.queued) one.queued = Bytes(0);
  }
  memory.fit_probability = fit_distribution(memory, profile).probability;
  return memory;
}

}  // namespace trnplan::models
