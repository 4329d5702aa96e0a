#include "tests/second_opinion/activations.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace trnplan::second_opinion {

using models::Architecture;
using models::Precision;
using models::Strategy;

namespace {

/// One saved activation of a layer, and the class whose recomputation drops it ("" = none but the layer's).
struct Saved {
  std::string_view what;
  double bytes;
  std::string_view dropped_by;
};

/// Probabilities of a layer: the mean, and of the layer with most.
struct Probabilities {
  double mean = 0, most = 0;
};
Probabilities probabilities_of(const models::Job& job, const Strategy& s, const Sizes& z) {
  const Architecture& a = job.architecture;
  const double local = static_cast<double>(job.training.sequence) / s.context_parallel;
  Probabilities p;
  for (int layer = 1; layer <= a.layers; ++layer) {
    const bool full = a.sliding_window_pattern > 0 && layer % a.sliding_window_pattern == 0;
    const bool window = !full && a.causal && a.sliding_window > 0 && a.sliding_window < local;
    const double bytes = 3 * z.in_tensor_region * a.heads * (window ? a.sliding_window : local);
    p.mean += bytes / a.layers;
    p.most = std::max(p.most, bytes);
  }
  return p;
}

double mixture_bytes(const Architecture& a, const Strategy& s, const Sizes& z) {
  // A rank whose neighbours have other experts routes its own tokens only.
  const bool alone = cuts_of_expert(s) < s.tensor_parallel;
  const double tokens = alone ? z.tokens / s.tensor_parallel : z.tokens;
  double places = tokens * a.experts_per_token;
  if (const double factor = a.capacity_factor.value_or(z.capacity); factor > 0) {
    const double of_one = std::min(tokens, std::ceil(places * factor / a.experts));
    places = a.experts * of_one;
  }
  const double inner = static_cast<double>(a.intermediate) / cuts_of_expert(s);
  const double of_a_place = 2.0 * a.hidden + (a.mlp == models::Mlp::gated ? 4 : 2) * inner;
  return z.element * places * of_a_place + (s.sequence_parallel && !alone ? z.whole_rows : 0);
}

/// A norm's input, in the width it computes in, and its output; a kernel that fuses it keeps the input as it is.
void save_norms(std::vector<Saved>& all, double rows, const Sizes& z) {
  for (int norm = 0; norm < 2; ++norm) {
    if (z.kernels != Kernels::nxd) {
      all.push_back({"input of a norm", rows, ""});
      all.push_back({"output of a norm", rows, "LlamaRMSNorm"});
    } else {
      all.push_back({"wide copy of a norm's input", 2 * rows, "LlamaRMSNorm"});
      all.push_back({"output of a norm", rows, ""});
      all.push_back({"input of the product after it", rows, ""});
    }
  }
}

/// Keys and values are repeated to the heads of the queries but for a kernel that takes them as they are.
void save_attention(std::vector<Saved>& all, const models::Job& job, const Strategy& s, const Sizes& z) {
  const Architecture& a = job.architecture;
  const double q = z.in_tensor_region * a.heads * static_cast<double>(a.head_dim);
  const double keys = z.in_tensor_region * a.kv_heads * a.head_dim * s.kv_replicator;
  const bool repeated = z.kernels == Kernels::nxd, eager = z.kernels == Kernels::eager;
  all.push_back({"query", q, ""});
  all.push_back({"key", repeated ? q : keys, ""});
  all.push_back({"value", repeated ? q : keys, ""});
  all.push_back({"context", q, ""});
  if (eager && a.kv_heads == a.heads)
    all.push_back({"keys and values joined with the queries", 2 * keys, ""});
  if (eager && s.micro_batch > 1) all.push_back({"context in the order of the sequence", q, ""});
  if (a.qk_norm) {
    for (const double of : {q, keys}) {
      all.push_back({"wide copy of heads before their norm", 2 * of, ""});
      all.push_back({"heads that the norm's weight multiplies", of, ""});
    }
  }
  if (z.flash) {
    if (repeated) all.push_back({"permuted context", q, ""});
    return;
  }
  all.push_back({"probabilities", probabilities_of(job, s, z).mean, "CoreAttention"});
}

/// What autograd keeps of a layer (docs/models.md, "Memory").
std::vector<Saved> saved_by(const models::Job& job, const Strategy& s, const Sizes& z) {
  const Architecture& a = job.architecture;
  std::vector<Saved> all;
  save_norms(all, a.hidden * z.outside, z);
  save_attention(all, job, s, z);
  const double inner = a.intermediate * z.in_tensor_region;
  if (a.experts > 0) {
    all.push_back({"experts", mixture_bytes(a, s, z), "LlamaMLP"});
  } else if (a.mlp == models::Mlp::gated) {
    for (const char* of : {"gate", "up"}) all.push_back({of, inner, "LlamaMLP"});
    if (z.kernels != Kernels::fused) all.push_back({"activated gate", inner, "LlamaMLP"});
    all.push_back({"product of gate and up", inner, "ActivationMultiplyMLP"});
  } else {
    for (const char* of : {"inner", "activated inner"}) all.push_back({of, inner, "LlamaMLP"});
  }
  return all;
}

/// Gradients inside the MLP of the layer whose backward pass runs: of the product, and of what it was made of; eager
/// operators make one more of the activated gate, and join those of gate and up.
double gradients_inside(const Architecture& a, const Sizes& z) {
  if (z.kernels == Kernels::nxd || a.experts > 0) return 0;
  if (a.mlp != models::Mlp::gated) return 2.0 * a.intermediate * z.in_tensor_region;
  const int joined = 2, each = z.kernels == Kernels::fused ? 3 : 4 + joined;
  return static_cast<double>(each) * a.intermediate * z.in_tensor_region;
}

bool recomputes(const models::Recompute& r, std::string_view name) {
  if (r.full) return true;
  if (name == "LlamaRMSNorm") return r.rms_norm;
  if (name == "CoreAttention") return r.core_attention;
  if (name == "LlamaMLP") return r.mlp;
  if (name == "ActivationMultiplyMLP") return r.mlp || r.activation_multiply;
  return false;
}

}  // namespace

Sizes sizes_of(const models::Job& job, const Strategy& s, const TrainingLoop& loop) {
  const bool gpus = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  Sizes z{};
  // A policy of every second product is TorchTitan's list, which counts every operator.
  z.kernels = gpus && !s.recompute.alternate ? loop.kernels : Kernels::nxd;
  z.capacity = loop.capacity;
  z.element = s.precision == Precision::fp32 ? 4 : 2;
  z.tokens = static_cast<double>(job.training.sequence) * s.micro_batch / s.context_parallel;
  z.in_tensor_region = z.element * z.tokens / s.tensor_parallel;
  z.outside = s.sequence_parallel ? z.in_tensor_region : z.element * z.tokens;
  z.whole_rows = z.element * z.tokens * job.architecture.hidden;
  z.flash = s.flash_attention || s.context_parallel > 1;
  return z;
}

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
  if (!z.flash && recomputes(s.recompute, "CoreAttention")) {  // any layer may be the one that is made again
    const Probabilities p = probabilities_of(job, s, z);
    share.remade += p.most - p.mean;
  }
  share.remade += gradients_inside(job.architecture, z);
  return share;
}

}  // namespace trnplan::second_opinion
