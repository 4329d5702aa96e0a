#include "planner/plan/space.h"

#include <algorithm>

namespace trnplan::planner {

using models::Job;
using models::Recompute;
using models::Strategy;

namespace {

std::vector<int> divisors(int n) {
  std::vector<int> small, large;
  for (int d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d != n / d) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

template <class T>
std::vector<T> pinned_or(const std::optional<T>& pin, std::vector<T> otherwise) {
  return pin ? std::vector<T>{*pin} : otherwise;
}

/// Each set of classes that NxDT resolves and that is a program of its own (models::canonical): the MLP's
/// recompute covers its product's, and with flash attention CoreAttention is in every set because it does
/// nothing.
/// aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/models/hf_models/
/// llama_model.py, models/megatron/: the Megatron path knows CoreAttention alone.
std::vector<Recompute> recompute_policies(const Job& job, bool flash) {
  const bool hf_llama = models::is_llama_like(job.architecture) && job.architecture.experts == 0;
  std::vector<Recompute> all{Recompute{.full = true}};
  for (const bool attention : {false, true}) {
    if (flash && !attention) continue;
    all.push_back({.core_attention = attention});
    if (!hf_llama) continue;
    for (const bool norm : {false, true}) {
      if (norm) all.push_back({.core_attention = attention, .rms_norm = true});
      all.push_back({.core_attention = attention, .mlp = true, .rms_norm = norm});
      all.push_back({.core_attention = attention, .rms_norm = norm, .activation_multiply = true});
    }
  }
  return all;
}

/// Micro-batch sizes that divide the batch of a data-parallel rank, of the largest batch where it is free; 1
/// alone when the batch does not divide at all, so that the rule can say so.
std::vector<int> micro_batches(const Job& job, int data_parallel) {
  if (data_parallel < 1) return {1};
  const int batch = job.training.global_batch;
  if (job.space.largest_batch > 0) {
    std::vector<int> powers;
    for (std::int64_t m = 1; m * data_parallel <= job.space.largest_batch; m *= 2)
      powers.push_back(static_cast<int>(m));
    return powers.empty() ? std::vector<int>{1} : powers;
  }
  if (batch % data_parallel != 0) return {1};
  return divisors(batch / data_parallel);
}

/// Context-parallel degrees that leave every rank the multiple of 1024 tokens that the kernel needs.
std::vector<int> context_degrees(const Job& job, int ranks, bool flash) {
  if (!flash || job.architecture.experts > 0) return {1};
  std::vector<int> all = divisors(ranks);
  std::erase_if(all, [&](int c) { return c > 1 && job.training.sequence % (1024 * c) != 0; });
  return all;
}

std::vector<int> expert_degrees(const Job& job, int data_parallel) {
  if (job.architecture.experts == 0) return {1};
  std::vector<int> all = divisors(job.architecture.experts);
  std::erase_if(all, [&](int e) { return data_parallel % e != 0; });
  return all;
}

/// Chunks a stage that leave all chunks equal; where PP does not divide the layers, two to four.
std::vector<int> virtual_degrees(const Job& job, int pipeline) {
  if (pipeline == 1) return {1};
  const int layers = job.architecture.layers;
  if (layers % pipeline == 0) return divisors(layers / pipeline);
  std::vector<int> all{1};
  for (int v = 2; v <= 4 && pipeline * v <= layers; ++v) all.push_back(v);
  return all;
}

std::vector<models::Precision> precisions(const Job& job) {
  using enum models::Precision;
  if (!job.space.precision) return {job.training.precision};
  return {mixed_precision, autocast, bf16_sr, fp32};
}

std::vector<bool> zero1_choices(const Job& job) {
  if (job.space.zero1) return {true, false};
  return {job.pin.zero1.value_or(true)};
}

int natural_replicator(const Job& job, int tensor_parallel) {
  return std::max(1, tensor_parallel / std::max(1, job.architecture.kv_heads));
}

/// What no loop varies.
Strategy fixed_part(const Job& job) {
  Strategy s;
  s.context_parallel = job.pin.context_parallel.value_or(1);
  s.expert_parallel = job.pin.expert_parallel.value_or(1);
  s.virtual_pipeline = job.pin.virtual_pipeline.value_or(1);
  s.zero1 = job.pin.zero1.value_or(true);
  s.flash_attention = job.pin.flash_attention.value_or(job.architecture.flash_attention);
  s.precision = job.training.precision;
  return s;
}

/// Data-parallel ranks that remain on the cluster, at least one.
int what_is_left(const Job& job, const Strategy& s) {
  return static_cast<int>(std::max<std::int64_t>(1, job.cluster.cores() / s.model_parallel()));
}

}  // namespace

Strategy default_strategy(const Job& job) {
  Strategy s = fixed_part(job);
  s.tensor_parallel = job.pin.tensor_parallel.value_or(1);
  s.pipeline_parallel = job.pin.pipeline_parallel.value_or(1);
  s.data_parallel = job.pin.data_parallel.value_or(what_is_left(job, s));
  s.micro_batch = job.pin.micro_batch.value_or(1);
  s.sequence_parallel = job.pin.sequence_parallel.value_or(s.tensor_parallel > 1);
  s.recompute = job.pin.recompute.value_or(Recompute{});
  s.kv_replicator = job.pin.kv_replicator.value_or(natural_replicator(job, s.tensor_parallel));
  return s;
}

std::vector<Strategy> enumerate(const Job& job) {
  std::vector<Strategy> found;
  const int cores = job.cluster.cores(), per_node = job.cluster.instance.cores();
  std::vector<int> tensor = divisors(cores);
  tensor.erase(std::upper_bound(tensor.begin(), tensor.end(), per_node), tensor.end());
  Strategy s = fixed_part(job);
  const std::vector<Recompute> policies =
      pinned_or(job.pin.recompute, recompute_policies(job, s.flash_attention));
  const std::vector<bool> orders = pinned_or(job.pin.sequence_parallel, std::vector<bool>{true, false});

  const auto with_layout = [&] {
    for (const int e : pinned_or(job.pin.expert_parallel, expert_degrees(job, s.data_parallel))) {
      s.expert_parallel = e;
      for (const int v : pinned_or(job.pin.virtual_pipeline, virtual_degrees(job, s.pipeline_parallel))) {
        s.virtual_pipeline = v;
        for (const int m : pinned_or(job.pin.micro_batch, micro_batches(job, s.data_parallel))) {
          s.micro_batch = m;
          for (const bool sp : orders) {
            s.sequence_parallel = sp;
            for (const Recompute& r : policies) {
              s.recompute = r;
              for (const models::Precision p : precisions(job)) {
                s.precision = p;
                for (const bool z : zero1_choices(job)) {
                  s.zero1 = z;
                  found.push_back(models::canonical(s));
                }
              }
            }
          }
        }
      }
    }
  };
  for (const int t : pinned_or(job.pin.tensor_parallel, tensor)) {
    s.tensor_parallel = t;
    s.kv_replicator = job.pin.kv_replicator.value_or(natural_replicator(job, t));
    for (const int c : pinned_or(job.pin.context_parallel,
                                 context_degrees(job, std::max(1, cores / t), s.flash_attention))) {
      s.context_parallel = c;
      std::vector<int> pipeline = divisors(std::max(1, static_cast<int>(cores / saturating_product({t, c}))));
      pipeline.erase(std::upper_bound(pipeline.begin(), pipeline.end(), job.architecture.layers),
                     pipeline.end());
      for (const int p : pinned_or(job.pin.pipeline_parallel, pipeline)) {
        s.pipeline_parallel = p;
        s.data_parallel = job.pin.data_parallel.value_or(what_is_left(job, s));
        if (!job.pin.tensor_parallel && !job.pin.pipeline_parallel &&
            s.model_parallel() * s.data_parallel != cores)
          continue;
        with_layout();
      }
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

int batch_of(const Job& job, const Strategy& s) {
  if (job.space.largest_batch == 0) return job.training.global_batch;
  const std::int64_t slice =
      saturating_product({s.micro_batch, s.data_parallel, s.virtual_pipeline > 1 ? s.pipeline_parallel : 1});
  const std::int64_t most = slice > 0 ? job.space.largest_batch / slice * slice : 0;
  return most >= job.space.smallest_batch && most > 0 ? static_cast<int>(most) : job.space.largest_batch;
}

}  // namespace trnplan::planner
