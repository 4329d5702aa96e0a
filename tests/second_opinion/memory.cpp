#include "tests/second_opinion/memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tests/second_opinion/activations.h"
#include "tests/second_opinion/schedules.h"
#include "tests/second_opinion/training_loops.h"
#include "units/index.h"
#include "units/normal.h"

namespace trnplan::second_opinion {

using models::Architecture;
using models::Strategy;

namespace {

/// One weight of one rank: ZeRO-1 pads its first dimension to a multiple of the ranks that share it.
struct Weight {
  double rows, columns;
  bool expert = false;
};

void add_layer(std::vector<Weight>& all, const Architecture& a, const Strategy& s) {
  const double t = s.tensor_parallel, h = a.hidden;
  const double query = a.heads * static_cast<double>(a.head_dim) / t;
  const double key_value = 2.0 * a.kv_heads * a.head_dim * s.kv_replicator / t;
  const double inner = a.intermediate / t, entering = a.mlp == models::Mlp::gated ? 2 * inner : inner;
  all.push_back({query + key_value, h});
  all.push_back({h, query});
  all.push_back({h, 1});
  all.push_back({h, 1});
  if (a.experts > 0) {
    const double here = (a.experts + s.expert_parallel - 1) / s.expert_parallel;
    const double more = t / cuts_of_expert(s);
    all.push_back({here, h * entering * more, true});
    all.push_back({here, h * inner * more, true});
    all.push_back({static_cast<double>(a.experts), h});
    if (a.blocks.expert_bias) {
      all.push_back({here, entering * more, true});
      all.push_back({here, h, true});
      all.push_back({static_cast<double>(a.experts), 1});
    }
  } else {
    all.push_back({entering, h});
    all.push_back({h, inner});
  }
  if (a.qk_norm) {
    all.push_back({static_cast<double>(a.head_dim), 1});
    all.push_back({static_cast<double>(a.head_dim), 1});
  }
  if (a.blocks.mlp_bias && a.experts == 0) {
    all.push_back({entering, 1});
    all.push_back({h, 1});
  }
  if (a.blocks.output_bias) all.push_back({h, 1});
  if (a.blocks.sinks) all.push_back({a.heads / t, 1});
  if (a.biases || a.qkv_bias) all.push_back({query + key_value, 1});
  if (!a.biases) return;
  all.push_back({entering, 1});
  for (int i = 0; i < 4; ++i) all.push_back({h, 1});
}

bool in_a_v(const Strategy& s) {
  return definition_of(defined_schedule(s)).value_or(Definition{}).in_a_v;
}

/// The stage with the head.
int head_stage(const Strategy& s) {
  return in_a_v(s) ? 0 : s.pipeline_parallel - 1;
}

std::vector<Weight> weights_on(const Architecture& a, const Strategy& s, int stage, int layers) {
  const bool first = stage == 0, last = stage == head_stage(s);
  const int words = (a.vocabulary + s.tensor_parallel - 1) / s.tensor_parallel;
  const double h = a.hidden;
  std::vector<Weight> all;
  for (int i = 0; i < layers; ++i) add_layer(all, a, s);
  if (first) {
    all.push_back({static_cast<double>(words), h});
    if (a.learned_positions) all.push_back({static_cast<double>(a.max_positions), h});
    if (a.token_types > 0) all.push_back({static_cast<double>(a.token_types), h});  // segments
  }
  if (last) {
    all.push_back({h, a.biases ? 2.0 : 1.0});
    const bool shares_embedding = a.tied_embeddings && first;
    if (!shares_embedding) all.push_back({static_cast<double>(words), h});
  }
  return all;
}

/// Sharded weights that are temporarily whole: at the loss, during the head's gradients, and in a layer's
/// backward pass.
struct Gathered {
  double loss = 0, head_gradients = 0, backward = 0;
};

Gathered gathered_of(const Architecture& a, const Strategy& s, const TrainingLoop& loop) {
  const bool by_unit = loop.shards_weights() && s.zero1 && s.pipeline_parallel == 1;
  if (!by_unit || s.data_parallel * s.context_parallel == 1) return {};
  double root = 0, layer = 0;
  for (const Weight& w : weights_on(a, s, 0, 0)) root += w.rows * w.columns;
  for (const Weight& w : weights_on(a, s, 0, 1)) layer += w.rows * w.columns;
  layer -= root;
  const bool again = s.sharding == models::Sharding::parameters;
  const double each = gathered_bytes(s);
  const double layer_each = s.precision == models::Precision::fp8_param_gather ? 1 : each;
  Gathered g;
  g.loss = again ? each * root : 0;
  g.head_gradients = g.loss + each * root;  // the root's gradients wait for the embedding's
  g.backward = g.head_gradients + (each + reduced_bytes(loop, s)) * layer +
               (again ? layer_each * loop.copies * layer : 0);
  return g;
}

/// States of a stage, and the additional bytes of the optimizer's step.
struct States {
  double always = 0, step = 0, weights = 0;  ///< the last: elements on a rank
};

States states_of(const models::Job& job, const Strategy& s, const TrainingLoop& loop, int stage, int layers) {
  const int sharers = sharers_of(s);
  const int everywhere = s.tensor_parallel * s.data_parallel * s.context_parallel;
  const int cuts = cuts_of_expert(s);
  const int expert_sharers = cuts == s.tensor_parallel ? std::max(1, sharers / s.expert_parallel)
                             : s.zero1                 ? std::max(1, everywhere / cuts / s.expert_parallel)
                                                       : 1;
  const bool flat =
      (loop.name.starts_with("megatron") && !loop.shards_weights()) || loop.name.starts_with("nanotron");
  double whole = 0, shared = 0, of_experts = 0, largest = 0;
  for (const Weight& w : weights_on(job.architecture, s, stage, layers)) {
    const double share = w.rows / (w.expert ? expert_sharers : sharers);
    const double mine = (flat ? share : std::ceil(share)) * w.columns;
    whole += w.rows * w.columns;
    shared += mine;
    if (w.expert) of_experts += mine;
    largest = std::max(largest, w.rows * w.columns);
  }
  const StateBytes per = state_bytes(loop, s);
  // With expert parallel there are two optimizers, one after the other.
  const double stepped = s.expert_parallel > 1 ? std::max(of_experts, shared - of_experts) : shared;
  const double updating = per.reduced * stepped + step_buffers(loop, s, largest);
  return {per.whole * whole + per.shard * shared, std::max(per.copied * whole, updating), whole};
}

/// Layers of the parts 0 .. PP * VPP - 1 of the model.
std::vector<int> parts_of(const Architecture& a, const Strategy& s, const TrainingLoop& loop) {
  if (s.pipeline_cuts.empty()) return even_parts(loop, a, s.pipeline_parallel, s.virtual_pipeline);
  std::vector<int> layers;
  int before = -1;
  for (const int last : s.pipeline_cuts) {
    layers.push_back(last - before);
    before = last;
  }
  layers.push_back(a.layers - 1 - before);
  return layers;
}

/// Layers of a stage's chunks; in a V every second chunk is on the stages in the opposite order.
std::vector<int> chunks_on(const std::vector<int>& parts, const Strategy& s, int stage) {
  std::vector<int> own;
  for (int chunk = 0; chunk < s.virtual_pipeline; ++chunk) {
    const bool back = in_a_v(s) && chunk % 2 == 1;
    own.push_back(parts[at(chunk * s.pipeline_parallel + (back ? s.pipeline_parallel - 1 - stage : stage))]);
  }
  return own;
}

/// Ranks of TP that each route tokens of their own.
double routed_once(const Architecture& a, const Strategy& s) {
  return a.experts > 0 && cuts_of_expert(s) < s.tensor_parallel ? s.tensor_parallel : 1;
}

/// Live passes of each stage between forward and backward. After a few rounds nothing changes unless
/// micro-batches accumulate, so long schedules are cut short.
std::vector<Alive> alive_on(const std::vector<int>& parts, const Strategy& s, int micro_batches) {
  const int stages = s.pipeline_parallel;
  const bool piles_up = definition_of(defined_schedule(s)).value_or(Definition{}).piles_up;
  const int m = piles_up ? micro_batches : std::min(micro_batches, 4 * stages);
  const std::vector<std::vector<Pass>> passes = passes_of(defined_schedule(s), stages, s.virtual_pipeline, m);
  std::vector<Alive> all;
  for (int stage = 0; stage < stages; ++stage) {
    all.push_back(alive_in(passes.at(at(stage)), chunks_on(parts, s, stage)));
  }
  return all;
}

}  // namespace

std::vector<StageBytes> memory_by_formula(const models::Job& job, const Strategy& s) {
  const Architecture& a = job.architecture;
  const TrainingLoop& loop = training_loop(s.framework);
  const Sizes z = sizes_of(job, s, loop);
  const LayerShare layer = layer_share(job, s, z);
  const Gathered gathered = gathered_of(a, s, loop);
  const std::vector<int> parts = parts_of(a, s, loop);
  const std::vector<Alive> alive =
      alive_on(parts, s, job.training.global_batch / (s.micro_batch * s.data_parallel));
  // A pass keeps its received and its sent message, and the tables of the rotary embedding that go with them;
  // on GPUs the received message is the first layer's input, and there are no tables.
  double of_a_pass = 0;
  if (s.pipeline_parallel > 1) {
    const bool gpus = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
    of_a_pass = (gpus ? loop.messages : 2) * a.hidden * z.outside;
    const bool tables = !a.learned_positions && (!gpus || loop.kernels == Kernels::nxd);
    if (tables) of_a_pass += 2 * z.element * z.tokens / s.micro_batch * a.head_dim;
  }
  // The gradient of a product's input before it is reduced, and that input gathered again.
  const double product = z.whole_rows * (s.sequence_parallel ? 2 : 1);
  // Ring attention: keys, values and their gradients, the current ones and those in transit.
  const double ring =
      s.context_parallel > 1 ? 6 * z.in_tensor_region * a.heads * static_cast<double>(a.head_dim) : 0;
  // Gradients of the output of each product in a layer; the output and down product make a sum over
  // tensor-parallel ranks.
  const double chosen = a.experts > 0 ? a.experts_per_token : 1;
  const double columns = a.head_dim * (a.heads + 2.0 * a.kv_heads * s.kv_replicator) +
                         chosen * a.intermediate * (a.mlp == models::Mlp::gated ? 2 : 1);
  const models::Recompute& r = s.recompute;
  const bool again = r.full || r.alternate || r.mlp || r.rms_norm || r.activation_multiply ||
                     (r.core_attention && !s.flash_attention);
  const double of_a_deferred = z.in_tensor_region * columns +
                               (1 + chosen / routed_once(a, s)) * z.whole_rows + (again ? layer.remade : 0);
  std::vector<StageBytes> all;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    int layers = 0;
    for (const int chunk : chunks_on(parts, s, stage)) layers += chunk;
    const Alive& held = alive[at(stage)];
    const States states = states_of(job, s, loop, stage, layers);
    StageBytes bytes;
    bytes.states = states.always;
    auto& [loss, backward, step] = bytes.instants;
    loss.activations = layer.kept * held.layers_at_loss + of_a_pass * held.passes_at_loss +
                       of_a_deferred * held.deferred_at_loss;
    if (stage == head_stage(s)) {
      const int words = (a.vocabulary + s.tensor_parallel - 1) / s.tensor_parallel;
      const double logits = z.tokens * words;
      loss.passing = std::max(logit_bytes(loop, s).forward * logits + gathered.loss,
                              logit_bytes(loop, s).backward * logits + product + gathered.head_gradients);
    }
    backward.activations = std::max(
        layer.kept * held.layers + of_a_pass * held.passes + of_a_deferred * held.deferred,
        layer.kept * held.late_layers + of_a_pass * held.late_passes + of_a_deferred * held.late_deferred);
    backward.passing = product + layer.remade + ring + gathered.backward + backward_buffers(loop, s);
    if (loop.name.starts_with("nanotron")) {
      // At a pass's end its gradients, of two bytes, have replaced its activations.
      const int others = held.layers - held.layers / held.passes;
      const double left = layer.kept * others + of_a_pass * (held.passes - 1);
      const double whole = 2 * states.weights + backward_buffers(loop, s);
      if (left + whole > backward.activations + backward.passing) {
        backward.activations = left;
        backward.passing = whole;
      }
    }
    step.passing = states.step;
    all.push_back(bytes);
  }
  return all;
}

double StageBytes::peak() const {
  double most = 0;
  for (const InstantBytes& i : instants) most = std::max(most, i.activations + i.passing);
  return states + most;
}

namespace {

/// Nodes and weights of the standard normal distribution by the trapezoidal rule.
constexpr int kNodes = 13;
constexpr double kWidth = 3.6;  ///< standard deviations on either side

double node(int i) {
  return kWidth * (2.0 * i / (kNodes - 1) - 1);
}

/// A log-normal number of bytes, multiplied by fragmentation or not.
struct Term {
  double median, log_sd;
  bool fragmented;
};

/// P(the term <= room).
double probability_below(const Term& term, double room) {
  if (room <= 0) return 0;
  if (term.median <= 0) return 1;
  const double above = std::log(room / term.median);
  return term.log_sd > 0 ? normal_probability(above / term.log_sd) : above >= 0 ? 1 : 0;
}

/// P(states and terms <= limit): the widest term by its distribution, the others and fragmentation by nodes,
/// with a spacing below the width of that term. `pooled`: states that are fragmented.
double integral(std::array<Term, 3> terms, const models::Value& fragments, double pooled,
                double room_for_all) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.median * a.log_sd > b.median * b.log_sd; });
  double sum = 0, weights = 0;
  const auto drawn = [](const Term& t, int i) { return t.median * std::exp(t.log_sd * node(i)); };
  const auto weight = [](int i) { return std::exp(-node(i) * node(i) / 2); };
  for (int k = 0; k < kNodes; ++k) {
    const double f = fragments.median * std::exp(fragments.log_sd * node(k));
    for (int i = 0; i < kNodes; ++i) {
      const double second = drawn(terms[1], i) * (terms[1].fragmented ? f : 1);
      for (int j = 0; j < kNodes; ++j) {
        const double w = weight(i) * weight(j) * weight(k);
        const double room =
            room_for_all - f * pooled - second - drawn(terms[2], j) * (terms[2].fragmented ? f : 1);
        sum += w * probability_below(terms[0], terms[0].fragmented ? room / f : room);
        weights += w;
      }
    }
  }
  return sum / weights;
}

}  // namespace

Pool pool_of(const models::Job& job, const Strategy& s) {
  if (job.cluster.instance.traits.accelerator != topology::Accelerator::gpu) return {};
  const std::string_view loop = training_loop(s.framework).name;
  const bool plain = loop.starts_with("nanotron") || is_pretrain_gpt(loop) ||
                     loop.starts_with("megatron-deepspeed") || loop == "nxd" || loop == "overlapped";
  return {true, plain && s.tensor_parallel > 1};
}

double fit_by_integration(const StageBytes& stage, const Pool& pool, bool one_graph, Bytes limit,
                          const models::Profile& profile) {
  namespace common = models::common;
  const models::Value& kept = profile.value(one_graph ? common::fused_activations : common::kept_activations);
  const models::Value& passing = profile.value(common::transient_memory);
  const models::Value& fragments =
      profile.value(pool.mixed ? profile.schema->find("mixed_fragmentation") : common::fragmentation);
  const models::Value& reserve = profile.value(common::runtime_reserve);
  const auto most = [](const models::Value& v) { return v.median * std::exp(kWidth * v.log_sd); };
  const double pooled = pool.holds_states ? stage.states : 0, room = limit.value - (stage.states - pooled);
  double least = 1;
  for (const InstantBytes& instant : stage.instants) {
    const double tensors = instant.activations * most(kept) + instant.passing * most(passing);
    if ((tensors + pooled) * most(fragments) + most(reserve) <= room) continue;  // all of it fits
    const std::array<Term, 3> terms = {Term{instant.activations * kept.median, kept.log_sd, true},
                                       Term{instant.passing * passing.median, passing.log_sd, true},
                                       Term{reserve.median, reserve.log_sd, false}};
    least = std::min(least, integral(terms, fragments, pooled, room));
  }
  // Student's t with three degrees of freedom, at the point of the normal distribution: an integral of 1 / (1 + x^2)^2.
  if (!pool.holds_states || least <= 0 || least >= 1) return least;
  const double angle = std::atan(normal_quantile(least) / std::sqrt(3.0));
  return 0.5 + (angle + std::sin(2 * angle) / 2) / std::acos(-1.0);
}

}  // namespace trnplan::second_opinion
