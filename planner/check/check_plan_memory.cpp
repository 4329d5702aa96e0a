// Bytes of a core by lists of what is alive: tensors, saved activations, a walk through the schedule.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "planner/check/check_plan.h"
#include "units/index.h"
#include "units/normal.h"

namespace trnplan::planner {

using models::Architecture;
using models::Precision;
using models::Strategy;

namespace {

/// A weight of one rank, one by one: ZeRO-1 pads its first dimension to a multiple of the ranks that share
/// it.
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
    all.push_back({here, h * entering, true});
    all.push_back({here, h * inner, true});
    all.push_back({static_cast<double>(a.experts), h});
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
  if (a.biases || a.qkv_bias) all.push_back({query + key_value, 1});
  if (!a.biases) return;
  all.push_back({entering, 1});
  for (int i = 0; i < 4; ++i) all.push_back({h, 1});
}

std::vector<Weight> weights_on(const Architecture& a, const Strategy& s, int stage, int layers) {
  const bool first = stage == 0, last = stage == s.pipeline_parallel - 1;
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

/// Bytes per parameter: on every rank, in a rank's shard, and of a reduced shard inside the optimizer's step.
struct PerParameter {
  double whole, shard, reduced;
};

/// aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py: bf16 weights and fp32 gradient
/// sums on every rank, fp32 master weights and moments in shards; without ZeRO-1 no master weights and no
/// sums.
PerParameter per_parameter(const Strategy& s) {
  const double parameter = s.precision == Precision::fp32 ? 4 : 2;
  const double wide = s.precision == Precision::bf16_sr ? 2 : 4;  // master weights, moments, gradients
  if (!s.zero1) return {2 * parameter, 2 * wide, 0};
  return {parameter + wide, 3 * wide, wide};
}

/// What is whole for a while of weights that are sharded: at the loss, while the head's gradients are computed, and
/// in a layer's backward pass.
struct Gathered {
  double loss = 0, head_gradients = 0, backward = 0;
};

Gathered gathered_of(const Architecture& a, const Strategy& s, const ShardedWeights& sharded) {
  const bool by_unit = sharded.sharded && s.zero1 && s.pipeline_parallel == 1;
  if (!by_unit || s.data_parallel * s.context_parallel == 1) return {};
  double root = 0, layer = 0;
  for (const Weight& w : weights_on(a, s, 0, 0)) root += w.rows * w.columns;
  for (const Weight& w : weights_on(a, s, 0, 1)) layer += w.rows * w.columns;
  layer -= root;
  const bool again = s.sharding == models::Sharding::parameters;
  Gathered g;
  g.loss = again ? 2 * root : 0;
  g.head_gradients = g.loss + 2 * root;  // the root's gradients wait for the embedding's
  g.backward = g.head_gradients + (2 + 4) * layer + (again ? 2 * sharded.copies * layer : 0);
  return g;
}

/// States of a stage, and what the optimizer's step needs besides.
struct States {
  double always = 0, step = 0;
};

States states_of(const models::Job& job, const Strategy& s, const ShardedWeights& sharded, int stage,
                 int layers) {
  const int all = s.data_parallel * s.context_parallel;
  const int sharers = !s.zero1 ? 1 : s.shard_ranks > 0 ? s.shard_ranks : all;
  const int expert_sharers = std::max(1, sharers / s.expert_parallel);
  double whole = 0, shared = 0, of_experts = 0, largest = 0;
  for (const Weight& w : weights_on(job.architecture, s, stage, layers)) {
    const double mine = std::ceil(w.rows / (w.expert ? expert_sharers : sharers)) * w.columns;
    whole += w.rows * w.columns;
    shared += mine;
    if (w.expert) of_experts += mine;
    largest = std::max(largest, w.rows * w.columns);
  }
  States states;
  if (sharded.sharded) {
    // fp32 weights, gradients and moments in shards; what is whole beside them in bf16, and a pipeline's gradients.
    const double beside = !s.zero1                                    ? 0
                          : s.pipeline_parallel > 1                   ? 6
                          : s.sharding == models::Sharding::gradients ? 2
                                                                      : 0;
    states.always = beside * whole + 16 * shared;
    return states;
  }
  const PerParameter per = per_parameter(s);
  states.always = per.whole * whole + per.shard * shared;
  if (!s.zero1) return states;
  // With expert parallel there are two optimizers, one after the other.
  const double stepped = s.expert_parallel > 1 ? std::max(of_experts, shared - of_experts) : shared;
  // Buckets are counted with elements of 8 bytes where the device has 4; the gathered one is cut into the
  // ranks' shards by whole megabytes.
  const double half_megabyte = 0.5e6;
  const double scattered = half_megabyte * s.bucket_mb;
  const double gathered = half_megabyte * std::max(1, s.bucket_mb / sharers) * sharers;
  states.step = per.reduced * stepped + std::max({scattered, gathered, 4 * largest});
  return states;
}

/// One saved activation of a layer, and the class whose recomputation drops it ("" = none but the layer's).
struct Saved {
  std::string_view what;
  double bytes;
  std::string_view dropped_by;
};

/// Bytes of one micro-batch on one rank.
struct Sizes {
  double element, tokens;
  double in_tensor_region;  ///< bytes of tokens / T values of one element each
  double outside;           ///< likewise where sequence parallel splits and plain tensor parallel does not
  double whole_rows;        ///< bytes of tokens x hidden
  bool flash;
};

Sizes sizes_of(const models::Job& job, const Strategy& s) {
  Sizes z{};
  z.element = s.precision == Precision::fp32 ? 4 : 2;
  z.tokens = static_cast<double>(job.training.sequence) * s.micro_batch / s.context_parallel;
  z.in_tensor_region = z.element * z.tokens / s.tensor_parallel;
  z.outside = s.sequence_parallel ? z.in_tensor_region : z.element * z.tokens;
  z.whole_rows = z.element * z.tokens * job.architecture.hidden;
  z.flash = s.flash_attention || s.context_parallel > 1;
  return z;
}

double mixture_bytes(const Architecture& a, const Strategy& s, const Sizes& z) {
  double places = z.tokens * a.experts_per_token;
  if (a.capacity_factor > 0) {
    const double of_one = std::min(z.tokens, std::ceil(places * a.capacity_factor / a.experts));
    places = a.experts * of_one;
  }
  const double inner = static_cast<double>(a.intermediate) / s.tensor_parallel;
  const double of_a_place = 2.0 * a.hidden + (a.mlp == models::Mlp::gated ? 4 : 2) * inner;
  return z.element * places * of_a_place + (s.sequence_parallel ? z.whole_rows : 0);
}

/// What autograd keeps of a layer (docs/models.md, "Memory"); the norms compute in twice the element's width.
std::vector<Saved> saved_by(const models::Job& job, const Strategy& s, const Sizes& z) {
  const Architecture& a = job.architecture;
  const double h = a.hidden, q = static_cast<double>(a.heads) * a.head_dim, f = a.intermediate;
  const double local = static_cast<double>(job.training.sequence) / s.context_parallel;
  std::vector<Saved> all;
  for (int norm = 0; norm < 2; ++norm) {
    all.push_back({"wide copy of a norm's input", 2 * h * z.outside, "LlamaRMSNorm"});
    all.push_back({"output of a norm", h * z.outside, ""});
    all.push_back({"input of the product after it", h * z.outside, ""});
  }
  for (const char* of : {"query", "key", "value", "context"}) {
    all.push_back({of, q * z.in_tensor_region, ""});
  }
  if (a.qk_norm) {
    const double keys = static_cast<double>(a.kv_heads) * s.kv_replicator * a.head_dim;
    for (const double of : {q, keys}) {
      all.push_back({"wide copy of heads before their norm", 2 * of * z.in_tensor_region, ""});
      all.push_back({"heads that the norm's weight multiplies", of * z.in_tensor_region, ""});
    }
  }
  if (z.flash) {
    all.push_back({"permuted context", q * z.in_tensor_region, ""});
  } else {
    const bool window = a.causal && a.sliding_window > 0 && a.sliding_window < local;
    const double seen = window ? a.sliding_window : local;
    all.push_back({"probabilities", 3 * z.in_tensor_region * a.heads * seen, "CoreAttention"});
  }
  if (a.experts > 0) {
    all.push_back({"experts", mixture_bytes(a, s, z), "LlamaMLP"});
  } else if (a.mlp == models::Mlp::gated) {
    for (const char* of : {"gate", "up", "activated gate"})
      all.push_back({of, f * z.in_tensor_region, "LlamaMLP"});
    all.push_back({"product of gate and up", f * z.in_tensor_region, "ActivationMultiplyMLP"});
  } else {
    for (const char* of : {"inner", "activated inner"})
      all.push_back({of, f * z.in_tensor_region, "LlamaMLP"});
  }
  return all;
}

bool recomputes(const models::Recompute& r, std::string_view name) {
  if (r.full) return true;
  if (name == "LlamaRMSNorm") return r.rms_norm;
  if (name == "CoreAttention") return r.core_attention;
  if (name == "LlamaMLP") return r.mlp;
  if (name == "ActivationMultiplyMLP") return r.mlp || r.activation_multiply;
  return false;
}

struct LayerShare {
  double kept = 0, remade = 0;
};

LayerShare layer_share(const models::Job& job, const Strategy& s, const Sizes& z) {
  LayerShare share;
  for (const Saved& saved : saved_by(job, s, z)) {
    (recomputes(s.recompute, saved.dropped_by) ? share.remade : share.kept) += saved.bytes;
  }
  if (s.recompute.alternate) {
    const Architecture& a = job.architecture;
    const double all = share.kept + share.remade, q = static_cast<double>(a.heads) * a.head_dim;
    const double products = a.experts > 0 ? mixture_bytes(a, s, z) : a.intermediate * z.in_tensor_region;
    // The layer's input and its last product; q, v and the context.
    const double kept = 2.0 * a.hidden * z.outside + (2 * q + a.kv_dim()) * z.in_tensor_region + products;
    share.kept = std::min(all, kept);
    share.remade = all - share.kept;
  }
  if (s.recompute.full) {  // the layer's input; of the layers between all
    const double between = s.recompute.every - 1;
    share.kept = (job.architecture.hidden * z.outside + between * share.remade) / s.recompute.every;
  }
  return share;
}

/// Layers of the parts 0 .. PP * VPP - 1 of the model; what does not divide goes to the last ones.
std::vector<int> parts_of(const Architecture& a, const Strategy& s) {
  const int parts = s.pipeline_parallel * s.virtual_pipeline;
  std::vector<int> layers;
  for (int part = 0, next = 0; part < parts; ++part) {
    int end = a.layers;
    if (!s.pipeline_cuts.empty()) {
      if (part + 1 < parts) end = s.pipeline_cuts[at(part)] + 1;
    } else {
      const int without = parts - a.layers % parts;
      end = next + a.layers / parts + (part >= without ? 1 : 0);
    }
    layers.push_back(end - next);
    next = end;
  }
  return layers;
}

/// What a stage holds between forward and backward: passes and their layers together, when most of each are.
struct Held {
  int passes = 0, layers = 0, layers_at_loss = 0;
};

/// Walks through a stage's schedule, as NxD's scheduler.py orders it: warm up, one forward and one backward
/// in turn, cool down. Beyond a few rounds nothing new happens, so long schedules are cut short.
Held walk(const std::vector<int>& parts, const Strategy& s, int micro_batches, int stage) {
  const int stages = s.pipeline_parallel, chunks = s.virtual_pipeline;
  const int m = micro_batches > 4 * stages ? 4 * stages : micro_batches;
  const int total = m * chunks;
  int warm_up = std::min(m, stages - 1 - stage);
  if (chunks > 1) {
    warm_up =
        micro_batches == stages ? total : std::min(total, 2 * (stages - 1 - stage) + (chunks - 1) * stages);
  }
  // The k-th pass goes through this chunk; a chunk takes PP micro-batches at a time.
  const auto chunk = [&](int k) { return chunks == 1 ? 0 : k / stages % chunks; };
  const auto layers = [&](int chunk_number) { return parts[at(chunk_number * stages + stage)]; };
  Held held;
  int passes = 0, alive = 0, forwards = 0, backwards = 0;
  const auto forward = [&] {
    alive += layers(chunk(forwards++));
    held.passes = std::max(held.passes, ++passes);
    held.layers = std::max(held.layers, alive);
  };
  const auto backward = [&] {
    alive -= layers(chunks - 1 - chunk(backwards++));
    --passes;
  };
  while (forwards < warm_up) forward();
  if (forwards < total) forward();
  held.layers_at_loss = alive;
  while (forwards < total) {
    backward();
    forward();
  }
  return held;
}

}  // namespace

std::vector<StageBytes> memory_by_formula(const models::Job& job, const Strategy& s,
                                          const ShardedWeights& sharded) {
  const Architecture& a = job.architecture;
  const Sizes z = sizes_of(job, s);
  const LayerShare layer = layer_share(job, s, z);
  const Gathered gathered = gathered_of(a, s, sharded);
  const std::vector<int> parts = parts_of(a, s);
  const int micro_batches = job.training.global_batch / (s.micro_batch * s.data_parallel);
  // A pass keeps what it received, what it sends, and the tables of the rotary embedding that travel along.
  double of_a_pass = 0;
  if (s.pipeline_parallel > 1) {
    of_a_pass = 2.0 * a.hidden * z.outside;
    if (!a.learned_positions) of_a_pass += 2 * z.element * z.tokens / s.micro_batch * a.head_dim;
  }
  // The gradient of a product's input before it is reduced, and that input gathered again.
  const double product = z.whole_rows * (s.sequence_parallel ? 2 : 1);
  // Ring attention: keys, values and their gradients, those at hand and those on their way.
  const double ring =
      s.context_parallel > 1 ? 6 * z.in_tensor_region * a.heads * static_cast<double>(a.head_dim) : 0;
  std::vector<StageBytes> all;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    int layers = 0;
    for (std::size_t part = at(stage); part < parts.size(); part += at(s.pipeline_parallel))
      layers += parts[part];
    const Held held = walk(parts, s, micro_batches, stage);
    const States states = states_of(job, s, sharded, stage, layers);
    StageBytes bytes;
    bytes.states = states.always;
    auto& [loss, backward, step] = bytes.instants;
    loss.activations = layer.kept * held.layers_at_loss + of_a_pass * held.passes;
    if (stage == s.pipeline_parallel - 1) {
      const int words = (a.vocabulary + s.tensor_parallel - 1) / s.tensor_parallel;
      // 14 bytes a logit while the loss is computed: bf16, fp32, its shifted copy, its softmax; 6 while the
      // head's gradients are: the fp32 logits that are returned and a bf16 gradient.
      loss.passing = std::max(14 * z.tokens * words + gathered.loss,
                              6 * z.tokens * words + product + gathered.head_gradients);
    }
    backward.activations = layer.kept * held.layers + of_a_pass * held.passes;
    backward.passing = product + layer.remade + ring + gathered.backward;
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

}  // namespace

double fit_by_integration(const StageBytes& stage, bool one_graph, Bytes limit,
                          const models::Profile& profile) {
  namespace common = models::common;
  const models::Value& kept = profile.value(one_graph ? common::fused_activations : common::kept_activations);
  const models::Value& passing = profile.value(common::transient_memory);
  const models::Value& fragments = profile.value(common::fragmentation);
  const models::Value& reserve = profile.value(common::runtime_reserve);
  std::array<std::array<double, kNodes>, 3> drawn{};
  std::array<double, kNodes> weight{};
  for (int i = 0; i < kNodes; ++i) {
    weight[at(i)] = std::exp(-node(i) * node(i) / 2);
    drawn[0][at(i)] = kept.median * std::exp(kept.log_sd * node(i));
    drawn[1][at(i)] = passing.median * std::exp(passing.log_sd * node(i));
    drawn[2][at(i)] = fragments.median * std::exp(fragments.log_sd * node(i));
  }
  const double most_reserve = reserve.median * std::exp(kWidth * reserve.log_sd);
  double least = 1;
  for (const InstantBytes& instant : stage.instants) {
    const double most = instant.activations * drawn[0].back() + instant.passing * drawn[1].back();
    if (stage.states + most * drawn[2].back() + most_reserve <= limit.value) continue;  // all of it fits
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (std::size_t j = 0; j < kNodes; ++j) {
        const double tensors = instant.activations * drawn[0][i] + instant.passing * drawn[1][j];
        for (std::size_t k = 0; k < kNodes; ++k) {
          const double w = weight[i] * weight[j] * weight[k];
          const double room = limit.value - stage.states - tensors * drawn[2][k];
          weights += w;
          if (room <= 0) continue;
          const double above = std::log(room / reserve.median);
          sum += w * (reserve.log_sd > 0 ? normal_probability(above / reserve.log_sd) : above >= 0 ? 1 : 0);
        }
      }
    }
    least = std::min(least, sum / weights);
  }
  return least;
}

}  // namespace trnplan::planner
