#include "planner/plan/space.h"

#include <algorithm>
#include <utility>

#include "models/framework/strategy_keys.h"
#include "planner/plan/sorted_once.h"

namespace trnplan::planner {

using models::framework_of;
using models::Job;
using models::Recompute;
using models::Strategy;

namespace {

const models::Framework& loop_of(const Job& job) {
  Strategy s;
  s.framework = models::framework_stated_by(job);
  return framework_of(s);
}

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

/// Recomputation settings of the framework that are different programs (models::canonical). Of sets of module
/// classes it has each that NxDT distinguishes: recompute of the MLP covers that of its product. With flash
/// attention CoreAttention is in every set, because it does nothing there.
/// aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/models/hf_models/
/// llama_model.py, models/megatron/: the Megatron path has CoreAttention alone.
std::vector<Recompute> recompute_policies(const Job& job, bool flash) {
  const bool hf_llama = models::is_llama_like(job.architecture) && job.architecture.experts == 0;
  std::vector<Recompute> all = recomputes_besides(loop_of(job), flash);
  all.push_back({.full = true});
  if (!loop_of(job).recomputes_classes()) {
    all.push_back({.core_attention = flash});
    return all;
  }
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

/// Micro-batch sizes that divide the batch of a data-parallel rank (the largest batch where it is free). 1
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

/// Fewest tokens of a rank for which context parallel is searched: with fewer the ring's messages take longer than
/// the work that hides them. Our own value, which on Trainium is one tile.
constexpr int kFewestTokens = kContextTile;

/// Context-parallel degrees that leave every rank the tokens that the kernel needs, and not too few.
std::vector<int> context_degrees(const Job& job, int ranks, bool flash) {
  if (!flash) return {1};
  std::vector<int> all = divisors(ranks);
  std::erase_if(all, [&](int c) {
    return c > 1 && (!context_divides(job, c) || job.training.sequence / c < kContextTile);
  });
  return all;
}

/// Expert-parallel degrees for the ranks of DP and CP together.
std::vector<int> expert_degrees(const Job& job, std::int64_t ranks) {
  if (job.architecture.experts == 0) return {1};
  std::vector<int> all = divisors(job.architecture.experts);
  std::erase_if(all, [&](int e) { return ranks % e != 0; });
  return all;
}

/// Schedules of the framework for so many chunks; one for a single stage.
std::vector<models::Schedule> schedules(const Job& job, int pipeline, int chunks) {
  if (pipeline == 1) return {models::Schedule::one_f_one_b};
  std::vector<models::Schedule> all;
  for (int i = 0; i < static_cast<int>(models::Schedule::count); ++i) {
    const auto schedule = static_cast<models::Schedule>(i);
    if (!models::chunks_of(schedule).has(chunks)) continue;
    if (job.pin.schedule && *job.pin.schedule != schedule) continue;
    if (loop_of(job).runs(schedule)) all.push_back(schedule);
  }
  return all;
}

/// Numbers of chunks per stage that leave all chunks equal; where PP does not divide the layers, two to four, and those
/// that leave them equal with embedding and loss counted as layers.
/// Empty where the framework has no schedule for them.
std::vector<int> virtual_degrees(const Job& job, int pipeline) {
  if (pipeline == 1) return {1};
  const int layers = job.architecture.layers;
  std::vector<int> all{1};
  if (layers % pipeline == 0) {
    all = divisors(layers / pipeline);
  } else {
    const bool empty_ends = loop_of(job).leaves_ends_without_layers();
    for (int v = 2; v <= 4 && pipeline * v <= layers; ++v) all.push_back(v);
    for (const int counted : {layers + 1, layers + 2}) {  // with embedding and loss
      if (!empty_ends || counted % pipeline != 0) continue;
      const std::vector<int> more = divisors(counted / pipeline);
      all.insert(all.end(), more.begin(), more.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  std::erase_if(all, [&](int v) { return schedules(job, pipeline, v).empty(); });
  return all;
}

bool flash_takes(const Job& job) {
  return loop_of(job).flash_takes(job.pin.precision.value_or(job.training.precision));
}

/// Kinds of attention: flash, plain, or both. Context parallelism needs flash attention.
std::vector<bool> attention_kinds(const Job& job) {
  if (job.pin.flash_attention) return {*job.pin.flash_attention};
  if (!loop_of(job).has_flash_attention(job.architecture)) return {job.architecture.flash_attention};
  if (job.pin.context_parallel.value_or(1) > 1) return {true};
  if (!job.space.precision && !flash_takes(job)) return {false};
  return {true, false};
}

/// True if the kernel's blocks divide the sequence, or the user chose the attention.
bool attention_runs(const Job& job, const Strategy& s) {
  return on_gpus(job) || job.pin.flash_attention || !s.flash_attention || s.context_parallel > 1 ||
         job.training.sequence % 2048 == 0;
}

std::vector<models::Precision> precisions(const Job& job) {
  using enum models::Precision;
  if (!job.space.precision) return {job.training.precision};
  if (on_gpus(job)) return {mixed_precision, fp32};
  return {mixed_precision, autocast, bf16_sr, fp32};
}

std::vector<bool> zero1_choices(const Job& job) {
  if (job.space.zero1) return {true, false};
  return {job.pin.zero1.value_or(true)};
}

int natural_replicator(const Job& job, int tensor_parallel) {
  return std::max(1, tensor_parallel / std::max(1, job.architecture.kv_heads));
}

/// Flash attention where nothing states it: as in the model's published training, which is on Trainium; true
/// on GPUs, but for a precision that its kernel does not take.
bool usual_flash(const Job& job) {
  return flash_takes(job) && (job.architecture.flash_attention ||
                              (on_gpus(job) && loop_of(job).has_flash_attention(job.architecture)));
}

/// The part of a strategy that no loop varies.
Strategy fixed_part(const Job& job) {
  Strategy s;
  s.flash_attention = usual_flash(job);
  s.precision = job.training.precision;
  s.framework = models::framework_stated_by(job);
  s.sharding = loop_of(job).shardings().front();
  models::apply_pins(job.pin, s);
  return s;
}

/// Data-parallel ranks that fit on the rest of the cluster, at least one.
int what_is_left(const Job& job, const Strategy& s) {
  return static_cast<int>(std::max<std::int64_t>(1, job.cluster.cores() / s.model_parallel()));
}

}  // namespace

/// SelectiveOp comes first with flash attention: it keeps the output of the kernel.
std::vector<Recompute> recomputes_besides(const models::Framework& framework, bool flash) {
  std::vector<Recompute> all;
  Strategy s;
  s.recompute = {.alternate = true};
  if (flash && framework.recomputed(s).alternate) all.push_back(s.recompute);
  s.recompute = {.full = true, .every = 2};
  if (framework.recomputed(s).every == 2) all.push_back(s.recompute);
  return all;
}

Strategy default_strategy(const Job& job) {
  Strategy s = fixed_part(job);
  if (!job.pin.data_parallel) s.data_parallel = what_is_left(job, s);
  if (!job.pin.sequence_parallel) s.sequence_parallel = s.tensor_parallel > 1;
  if (!job.pin.kv_replicator) s.kv_replicator = natural_replicator(job, s.tensor_parallel);
  return s;
}

namespace {

/// Calls `found` with every strategy, each in canonical form and once, in no order, until it returns false.
template <class Found>
class Enumeration {
 public:
  Enumeration(const Job& job, Found found)
      : job_(job),
        found_(std::move(found)),
        precisions_(precisions(job)),
        zero1_(zero1_choices(job)),
        s_(fixed_part(job)) {}

  /// False if `found` ended it, as for the functions inside.
  bool run() {
    const int cores = job_.cluster.cores(), per_node = job_.cluster.instance.cores();
    std::vector<int> tensor = divisors(cores);
    tensor.erase(std::upper_bound(tensor.begin(), tensor.end(), per_node), tensor.end());
    std::reverse(tensor.begin(), tensor.end());  // the degrees at which large models fit come first
    for (const bool flash : attention_kinds(job_)) {
      s_.flash_attention = flash;
      policies_ = pinned_or(job_.pin.recompute, recompute_policies(job_, flash));
      for (const int t : pinned_or(job_.pin.tensor_parallel, tensor)) {
        s_.tensor_parallel = t;
        s_.kv_replicator = job_.pin.kv_replicator.value_or(natural_replicator(job_, t));
        for (const int c :
             pinned_or(job_.pin.context_parallel, context_degrees(job_, std::max(1, cores / t), flash))) {
          s_.context_parallel = c;
          if (attention_runs(job_, s_) && !pipelines(cores)) return false;
        }
      }
    }
    return true;
  }

 private:
  bool pipelines(int cores) {
    const auto left = cores / saturating_product({s_.tensor_parallel, s_.context_parallel});
    std::vector<int> pipeline = divisors(std::max(1, static_cast<int>(left)));
    pipeline.erase(std::upper_bound(pipeline.begin(), pipeline.end(), job_.architecture.layers),
                   pipeline.end());
    std::reverse(pipeline.begin(), pipeline.end());
    for (const int p : pinned_or(job_.pin.pipeline_parallel, pipeline)) {
      s_.pipeline_parallel = p;
      s_.data_parallel = job_.pin.data_parallel.value_or(what_is_left(job_, s_));
      if (!job_.pin.tensor_parallel && !job_.pin.pipeline_parallel &&
          saturating_product({s_.model_parallel(), s_.data_parallel}) != cores)
        continue;
      if (!layouts()) return false;
    }
    return true;
  }

  bool layouts() {
    for (const int cut : pinned_or(job_.pin.expert_tensor_parallel, expert_cuts())) {
      s_.expert_tensor_parallel = cut;
      for (const int e : pinned_or(job_.pin.expert_parallel, expert_degrees(job_, ranks_of_experts()))) {
        s_.expert_parallel = e;
        if (!is_usual_cut() && !chunks()) return false;
      }
    }
    return true;
  }

  /// Ways to cut experts: 0, which is the loop's own, and where the loop has both, whole ones and those that TP cuts.
  std::vector<int> expert_cuts() const {
    if (job_.architecture.experts == 0 || s_.tensor_parallel == 1 || !loop_of(job_).frees_experts())
      return {0};
    return {0, 1, s_.tensor_parallel};
  }

  /// True for a number that means the loop's own cut, which 0 stands for.
  bool is_usual_cut() const {
    if (s_.expert_tensor_parallel == 0 || job_.pin.expert_tensor_parallel) return false;
    Strategy usual = s_;
    usual.expert_tensor_parallel = 0;
    return models::expert_tensor_degree(usual) == s_.expert_tensor_parallel;
  }

  bool chunks() {
    for (const int v : pinned_or(job_.pin.virtual_pipeline, virtual_degrees(job_, s_.pipeline_parallel))) {
      s_.virtual_pipeline = v;
      for (const models::Schedule schedule : schedules(job_, s_.pipeline_parallel, v)) {
        s_.schedule = schedule;
        for (const int m : pinned_or(job_.pin.micro_batch, micro_batches(job_, s_.data_parallel))) {
          s_.micro_batch = m;
          if (!programs()) return false;
        }
      }
    }
    return true;
  }

  /// Ranks of a stage among which experts may be spread.
  std::int64_t ranks_of_experts() const {
    Strategy spread = s_;
    spread.expert_parallel = 2;
    return saturating_product({s_.data_parallel, s_.context_parallel, s_.tensor_parallel}) /
           models::expert_tensor_degree(spread);
  }

  bool programs() {
    // With one tensor-parallel rank both orders are one program; whole experts need sequence parallel.
    std::vector<bool> orders{true, false};
    if (s_.tensor_parallel == 1) {
      orders = {false};
    } else if (job_.architecture.experts > 0 && models::has_whole_experts(s_)) {
      orders = {true};
    }
    for (const bool sp : pinned_or(job_.pin.sequence_parallel, orders)) {
      s_.sequence_parallel = sp;
      for (const Recompute& r : policies_) {
        const bool whole = job_.architecture.layers % (s_.pipeline_parallel * r.every) == 0;
        if (r.every > 1 && !whole && !job_.pin.recompute) continue;  // a stage has fewer layers than this
        s_.recompute = r;
        for (const models::Precision p : precisions_) {
          s_.precision = p;
          for (const bool z : zero1_) {
            s_.zero1 = z;
            if (!(one_sharding_ ? found_(models::canonical(s_)) : shardings())) return false;
          }
        }
      }
    }
    return true;
  }

  /// Varies sharding by the framework over all ranks, over groups of any size that divides them, or as
  /// pinned.
  bool shardings() {
    std::vector<int> groups = pinned_or(job_.pin.shard_degree, std::vector<int>{0});
    const int ranks = s_.data_ranks();
    const bool grouped = s_.zero1 && s_.pipeline_parallel == 1 && loop_of(job_).tries_shard_groups();
    if (!job_.pin.shard_degree && grouped) groups = divisors(ranks);
    for (const models::Sharding sharding : pinned_or(job_.pin.sharding, loop_of(job_).shardings())) {
      s_.sharding = sharding;
      for (const int group : groups) {
        if (group == 1 && !job_.pin.shard_degree) continue;  // nothing is sharded
        s_.shard_ranks = group;
        if (!found_(models::canonical(s_))) return false;
      }
      if (groups == std::vector<int>{1} && !job_.pin.shard_degree) {  // a single rank
        s_.shard_ranks = 0;
        if (!found_(models::canonical(s_))) return false;
      }
    }
    return true;
  }

  const Job& job_;
  Found found_;
  const std::vector<models::Precision> precisions_;
  const std::vector<bool> zero1_;
  Strategy s_;  ///< as chosen so far
  const bool one_sharding_ =
      loop_of(job_).shardings().size() == 1 && !loop_of(job_).tries_shard_groups() && !job_.pin.shard_degree;
  std::vector<Recompute> policies_;
};

}  // namespace

bool each_strategy(const Job& job, const std::function<bool(const Strategy&)>& found) {
  return Enumeration(job, found).run();
}

bool on_gpus(const Job& job) {
  return job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
}

bool context_divides(const Job& job, int context) {
  return job.training.sequence % (std::int64_t{on_gpus(job) ? 2 : kContextTile} * context) == 0;
}

std::vector<Strategy> enumerate(const Job& job) {
  std::vector<Strategy> found;
  Enumeration(job, [&](Strategy s) {
    found.push_back(std::move(s));
    return true;
  }).run();
  return sorted_once(std::move(found));
}

namespace {

constexpr unsigned kBetweenLooks = 1 << 12;  ///< strategies between two calls of `stop`

bool limits(const Target* target, const Job& job) {
  return target != nullptr && target->trains_on(job.cluster.instance.traits);
}

}  // namespace

bool is_beyond_target(const Job& job, const Target* target, const std::function<bool()>& stop) {
  if (!limits(target, job)) return false;
  unsigned seen = 0;
  bool expressed = false;
  Enumeration(job, [&](const Strategy& s) {
    expressed = target->expresses(job, s);
    return !expressed && (++seen % kBetweenLooks != 0 || !stop || !stop());
  }).run();
  return !expressed && seen > 0;
}

void each_in_space(const Job& job, const Target* target, bool beyond_target,
                   const std::function<bool(const Strategy&)>& found) {
  const bool limited = !beyond_target && limits(target, job);
  Enumeration(job, [&](const Strategy& s) {
    return (limited && !target->expresses(job, s)) || found(s);
  }).run();
}

Space space_of(const Job& job, const Target* target, const std::function<bool()>& stop) {
  constexpr std::ptrdiff_t kKept = 1 << 16;
  const bool limited = limits(target, job);
  unsigned seen = 0;
  const auto walk = [&](Space& space, bool says_all) {
    space.complete = Enumeration(job, [&](Strategy s) {
                       if (!says_all && limited && !target->expresses(job, s))
                         ++space.inexpressible;
                       else
                         space.strategies.push_back(std::move(s));
                       return !stop || ++seen % kBetweenLooks != 0 || !stop();
                     }).run();
    // A caller that stopped it has no time to look at more.
    if (!space.complete && std::ssize(space.strategies) > kKept)
      space.strategies.erase(space.strategies.begin() + kKept, space.strategies.end());
    space.strategies = sorted_once(std::move(space.strategies));
  };
  Space space;
  walk(space, false);
  if (!space.strategies.empty() || space.inexpressible == 0) return space;
  Space whole;
  whole.beyond_target = true;
  walk(whole, true);
  return whole;
}

int batch_of(const Job& job, const Strategy& s) {
  if (job.space.largest_batch == 0) return job.training.global_batch;
  const std::int64_t slice =
      saturating_product({s.micro_batch, s.data_parallel, models::schedule_of(s).round(models::shape_of(s))});
  const std::int64_t most = slice > 0 ? job.space.largest_batch / slice * slice : 0;
  return most >= job.space.smallest_batch && most > 0 ? static_cast<int>(most) : job.space.largest_batch;
}

}  // namespace trnplan::planner
