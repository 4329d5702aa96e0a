#include "planner/space.h"

#include <algorithm>
#include <set>

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

std::vector<Recompute> recompute_policies() {
  return {Recompute{}, Recompute{.core_attention = true}, Recompute{.core_attention = true, .mlp = true},
          Recompute{.full = true}};
}

/// Micro-batch sizes that divide the batch of a data-parallel rank; 1 alone when the batch does not divide at
/// all, so that the rule can say so.
std::vector<int> micro_batches(const Job& job, int data_parallel) {
  if (data_parallel < 1 || job.training.global_batch % data_parallel != 0) return {1};
  return divisors(job.training.global_batch / data_parallel);
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
  std::set<Strategy> found;
  const int cores = job.cluster.cores(), per_node = job.cluster.instance.cores();
  std::vector<int> tensor = divisors(cores);
  tensor.erase(std::upper_bound(tensor.begin(), tensor.end(), per_node), tensor.end());
  Strategy s = fixed_part(job);
  for (const int t : pinned_or(job.pin.tensor_parallel, tensor)) {
    s.tensor_parallel = t;
    s.kv_replicator = job.pin.kv_replicator.value_or(natural_replicator(job, t));
    std::vector<int> pipeline =
        divisors(std::max(1, static_cast<int>(cores / saturating_product({t, s.context_parallel}))));
    pipeline.erase(std::upper_bound(pipeline.begin(), pipeline.end(), job.architecture.layers),
                   pipeline.end());
    for (const int p : pinned_or(job.pin.pipeline_parallel, pipeline)) {
      s.pipeline_parallel = p;
      s.data_parallel = job.pin.data_parallel.value_or(what_is_left(job, s));
      if (!job.pin.tensor_parallel && !job.pin.pipeline_parallel &&
          s.model_parallel() * s.data_parallel != cores)
        continue;
      for (const int m : pinned_or(job.pin.micro_batch, micro_batches(job, s.data_parallel))) {
        s.micro_batch = m;
        for (const bool sp : pinned_or(job.pin.sequence_parallel, {true, false})) {
          s.sequence_parallel = sp;
          for (const Recompute& r : pinned_or(job.pin.recompute, recompute_policies())) {
            s.recompute = r;
            found.insert(models::canonical(s));
          }
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace trnplan::planner
