#include "models/memory.h"

#include <algorithm>
#include <cmath>

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

StateBytes state_bytes(Precision precision, bool zero1) {
  const bool fp32 = precision == Precision::fp32, bf16 = precision == Precision::bf16_sr;
  if (zero1) {
    if (fp32) return {4, 4, 12, 4, 16, 16, 28};
    if (bf16) return {2, 2, 6, 2, 8, 8, 14};
    return {2, 4, 12, 4, 12, 12, 28};
  }
  if (fp32) return {4, 4, 8, 0, 16, 28, 0};
  if (bf16) return {2, 2, 4, 0, 8, 14, 0};
  return {2, 2, 8, 0, 8, 24, 0};
}

const StageMemory& Memory::worst() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const StageMemory& a, const StageMemory& b) { return a.peak() < b.peak(); });
}

std::vector<int> layers_per_stage(const Architecture& a, const Strategy& s) {
  const int stages = s.pipeline_parallel;
  std::vector<int> layers(static_cast<std::size_t>(stages));
  if (!s.pipeline_cuts.empty()) {
    int previous = -1;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const int last = i < s.pipeline_cuts.size() ? s.pipeline_cuts[i] : a.layers - 1;
      layers[i] = last - previous;
      previous = last;
    }
    return layers;
  }
  for (int i = 0; i < stages; ++i) {
    const bool extra = i >= stages - a.layers % stages;
    layers[static_cast<std::size_t>(i)] = a.layers / stages + (extra ? 1 : 0);
  }
  return layers;
}

namespace {

/// Peak bytes per logit while the loss is computed: bf16 logits, fp32 copy, shifted copy, softmax.
constexpr double kLogitBytes = 14;

/// A weight of one core: ZeRO-1 shards it along the first dimension.
struct Tensor {
  double rows, columns;
  int count = 1;
  double elements() const { return rows * columns * count; }
};

std::vector<Tensor> local_tensors(const Architecture& a, const Strategy& s, int stage) {
  const double t = s.tensor_parallel, h = a.hidden, q = static_cast<double>(a.heads) * a.head_dim / t;
  const double kv = 2.0 * a.kv_dim() * s.kv_replicator / t, f = a.intermediate / t;
  const int layers = layers_per_stage(a, s)[static_cast<std::size_t>(stage)];
  std::vector<Tensor> all = {
      {q + kv, h, layers}, {h, q, layers},     {(a.mlp == Mlp::gated ? 2 : 1) * f, h, layers},
      {h, f, layers},      {h, 1, 2 * layers},
  };
  if (a.biases) {
    all.push_back({q + kv, 1, layers});
    all.push_back({f, 1, layers});
    all.push_back({h, 1, 4 * layers});
  }
  const bool first = stage == 0, last = stage == s.pipeline_parallel - 1;
  const double vocabulary = std::ceil(a.vocabulary / t);
  if (first) {
    all.push_back({vocabulary, h});
    if (a.learned_positions) all.push_back({static_cast<double>(a.max_positions), h});
  }
  if (last) {
    all.push_back({h, 1});
    if (!a.tied_embeddings || !first) all.push_back({vocabulary, h});
  }
  return all;
}

/// Activations of a layer and micro-batch, per core: what autograd keeps, and what recomputation makes anew.
struct LayerBytes {
  double kept, remade;
};

LayerBytes layer_bytes(const Job& job, const Strategy& s) {
  const Architecture& a = job.architecture;
  const double h = a.hidden, f = a.intermediate, t = s.tensor_parallel, b = s.micro_batch;
  const double sequence = static_cast<double>(job.training.sequence) / s.context_parallel;
  const double wide = s.precision == Precision::fp32 ? 2 : 1;      // the counts below are for bf16
  const double x = sequence * b / t * wide;                        // inside the tensor-parallel region
  const double y = s.sequence_parallel ? x : sequence * b * wide;  // norms and linear inputs
  const double scores = b * a.heads / t * sequence * sequence;

  const double norms = 12 * h * y, inputs = 4 * h * y;
  const double heads = (s.flash_attention ? 10 : 8) * h * x;  // q, k, v (repeated), o; the input of o_proj
  const double mlp = (a.mlp == Mlp::gated ? 8 : 4) * f * x;
  const double probabilities = s.flash_attention ? 0 : 6 * scores * wide;
  const double all = norms + inputs + heads + mlp + probabilities;
  if (s.recompute.full) return {2 * h * y, all};

  LayerBytes bytes{all, 0};
  const auto drop = [&](double amount) {
    bytes.kept -= amount;
    bytes.remade += amount;
  };
  if (s.recompute.mlp) {
    drop(mlp);
  } else if (s.recompute.activation_multiply && a.mlp == Mlp::gated) {
    drop(2 * f * x);
  }
  if (s.recompute.rms_norm) drop(8 * h * y);
  if (s.recompute.core_attention) drop(probabilities);
  return bytes;
}

StageMemory stage_memory(const Job& job, const Strategy& s, const Profile& profile, int stage, int layers,
                         const LayerBytes& layer) {
  const Architecture& a = job.architecture;
  const double tokens = static_cast<double>(job.training.sequence) / s.context_parallel * s.micro_batch;
  const double shards = s.zero1 ? static_cast<double>(s.data_parallel) * s.context_parallel : 1.0;
  const StateBytes per = state_bytes(s.precision, s.zero1);
  const double element = s.precision == Precision::fp32 ? 4 : 2;
  double n = 0, padded = 0, largest = 0;
  for (const Tensor& w : local_tensors(a, s, stage)) {
    n += w.elements();
    padded += std::ceil(w.rows / shards) * w.columns * w.count;
    largest = std::max(largest, w.rows * w.columns);
  }

  StageMemory m;
  m.stage = stage;
  m.layers = layers;
  m.in_flight = std::min(std::max(1, micro_batches(job.training, s)), s.pipeline_parallel - stage);
  m.parameters = Bytes(per.parameter * n);
  m.gradients = Bytes(per.gradient * n);
  m.optimizer = Bytes(per.shard * padded);
  m.runtime = Bytes(profile[Parameter::runtime_reserve]);

  double kept = layer.kept * layers * m.in_flight;
  if (s.pipeline_parallel > 1) {  // received input, output, and the cos and sin tables that are passed along
    const double message = element * tokens * a.hidden / (s.sequence_parallel ? s.tensor_parallel : 1);
    const double tables = a.learned_positions ? 0.0 : 2 * element * tokens / s.micro_batch * a.head_dim;
    kept += m.in_flight * (2 * message + tables);
  }
  const double gathered = s.sequence_parallel ? element * tokens * a.hidden : 0.0;
  const bool last = stage == s.pipeline_parallel - 1;
  const double logits = last ? kLogitBytes * tokens * std::ceil(1.0 * a.vocabulary / s.tensor_parallel) : 0.0;

  struct Candidate {
    PeakInstant instant;
    double activations, logits, staging;
  };
  const Candidate candidates[] = {
      {PeakInstant::loss, kept, logits, gathered},
      {PeakInstant::backward, kept, 0, 2 * gathered + layer.remade},
      {PeakInstant::optimizer, 0, 0,
       per.reduced * padded + (s.zero1 ? std::max(kZeroBucketBytes, 4 * largest) : 0.0)},
  };
  const Candidate& worst = *std::max_element(
      std::begin(candidates), std::end(candidates), [](const Candidate& p, const Candidate& q) {
        return p.activations + p.logits + p.staging < q.activations + q.logits + q.staging;
      });
  m.instant = worst.instant;
  m.activations = Bytes(worst.activations);
  m.logits = Bytes(worst.logits);
  m.staging = Bytes(worst.staging);
  return m;
}

}  // namespace

int micro_batches(const Training& t, const Strategy& s) {
  return static_cast<int>(t.global_batch / (static_cast<long long>(s.micro_batch) * s.data_parallel));
}

double local_parameters(const Architecture& a, const Strategy& s, int stage) {
  double n = 0;
  for (const Tensor& w : local_tensors(a, s, stage)) n += w.elements();
  return n;
}

Memory memory_of(const Job& job, const Strategy& s, const Profile& profile) {
  Memory memory;
  memory.limit = job.cluster.instance.core.memory;
  const std::vector<int> layers = layers_per_stage(job.architecture, s);
  const LayerBytes layer = layer_bytes(job, s);
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    memory.stages.push_back(
        stage_memory(job, s, profile, stage, layers[static_cast<std::size_t>(stage)], layer));
  }
  return memory;
}

}  // namespace trnplan::models
