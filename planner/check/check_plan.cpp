#include "planner/check/check_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

namespace trnplan::planner {

using models::Architecture;
using models::Job;
using models::Strategy;

namespace {

/// Collects what is wrong.
class Check {
 public:
  Check(const Job& job, const StatedPlan& stated, const models::Profile& profile, const CheckOptions& options)
      : asked_(job),
        job_(job),
        stated_(stated),
        s_(stated.strategy),
        profile_(profile),
        options_(options),
        stack_(models::stack_named(options.stack)),
        gpus_(job.cluster.instance.traits.accelerator == topology::Accelerator::gpu) {}

  std::vector<std::string> run() {
    if (!place()) return std::move(wrong_);
    batch();
    pins();
    if (!degrees()) return std::move(wrong_);
    splits();
    attention();
    pipeline();
    if (!wrong_.empty()) return std::move(wrong_);  // groups and bytes of nonsense mean nothing
    groups();
    memory();
    limits();
    return std::move(wrong_);
  }

 private:
  void need(bool holds, std::string_view otherwise) {
    if (!holds) wrong_.emplace_back(otherwise);
  }

  /// The cluster of the plan is one that the job allows.
  bool place() {
    const models::SearchSpace& free = asked_.space;
    const auto& nodes = free.nodes;
    const bool allowed = nodes.empty() ? stated_.nodes == asked_.cluster.nodes
                                       : std::find(nodes.begin(), nodes.end(), stated_.nodes) != nodes.end();
    need(allowed, fmt::format("{} nodes are not what the job asks for", stated_.nodes));
    job_.cluster.nodes = stated_.nodes;
    bool known = free.instances.empty() && stated_.instance == asked_.cluster.instance.name;
    for (const topology::Instance& i : free.instances) {
      if (i.name != stated_.instance) continue;
      job_.cluster.instance = i;
      known = true;
    }
    need(known, stated_.instance + " is not what the job asks for");
    need(job_.cluster.instance.traits.step_time,
         fmt::format("a plan for {}, whose time is not modelled", job_.cluster.instance.name));
    return wrong_.empty();
  }

  void batch() {
    const models::SearchSpace& free = asked_.space;
    const int b = stated_.global_batch;
    bool allowed = b == asked_.training.global_batch;
    if (free.batch_per_node > 0) allowed = b == free.batch_per_node * stated_.nodes;
    if (free.largest_batch > 0) allowed = b >= free.smallest_batch && b <= free.largest_batch;
    need(allowed, fmt::format("global batch {} is not what the job asks for", b));
    job_.training.global_batch = b;
    need(free.precision || s_.precision == asked_.training.precision, "another precision than the job's");
  }

  template <class T>
  void pinned(const char* name, const std::optional<T>& pin, T value) {
    need(!pin || *pin == value, fmt::format("{} is not what the job pins", name));
  }

  void pins() {
    const models::Pin& p = asked_.pin;
    pinned("TP", p.tensor_parallel, s_.tensor_parallel);
    pinned("PP", p.pipeline_parallel, s_.pipeline_parallel);
    pinned("CP", p.context_parallel, s_.context_parallel);
    pinned("EP", p.expert_parallel, s_.expert_parallel);
    pinned("DP", p.data_parallel, s_.data_parallel);
    pinned("the micro-batch", p.micro_batch, s_.micro_batch);
    pinned("the KV replicator", p.kv_replicator, s_.kv_replicator);
    pinned("flash attention", p.flash_attention, s_.flash_attention);
    if (s_.pipeline_parallel > 1) pinned("the schedule", p.schedule, s_.schedule);
    // Without tensor or pipeline parallel these two mean nothing.
    if (s_.pipeline_parallel > 1) pinned("VPP", p.virtual_pipeline, s_.virtual_pipeline);
    if (s_.tensor_parallel > 1) pinned("sequence parallel", p.sequence_parallel, s_.sequence_parallel);
    if (!asked_.space.zero1) need(s_.zero1 == p.zero1.value_or(true), "ZeRO-1 is not what the job asks for");
    if (p.recompute) need(same_program(*p.recompute, s_.recompute), "recompute is not what the job pins");
  }

  bool same_program(const models::Recompute& a, const models::Recompute& b) const {
    if (a.full || b.full) return a.full == b.full && a.every == b.every;
    if (a.alternate || b.alternate) return a.alternate == b.alternate;
    const bool attention = s_.flash_attention || a.core_attention == b.core_attention;
    const bool product = a.mlp || a.activation_multiply == b.activation_multiply;
    return attention && product && a.mlp == b.mlp && a.rms_norm == b.rms_norm;
  }

  bool degrees() {
    std::int64_t ranks = 1;
    for (const int d : {s_.tensor_parallel, s_.context_parallel, s_.data_parallel, s_.pipeline_parallel,
                        s_.virtual_pipeline, s_.expert_parallel, s_.micro_batch, s_.kv_replicator})
      need(d >= 1, "a degree below 1");
    if (!wrong_.empty()) return false;
    for (const int d : {s_.tensor_parallel, s_.context_parallel, s_.data_parallel, s_.pipeline_parallel}) {
      ranks *= d;
      if (ranks > job_.cluster.cores()) break;  // and no overflow
    }
    need(ranks == job_.cluster.cores(),
         fmt::format("the degrees do not multiply to the cluster's {} cores", job_.cluster.cores()));
    return wrong_.empty();
  }

  void divides(int divisor, int number, const char* what) {
    need(number % divisor == 0, fmt::format("{} does not divide {} {}", divisor, what, number));
  }

  void splits() {
    const Architecture& a = job_.architecture;
    const int t = s_.tensor_parallel, cores = job_.cluster.instance.host_cores();
    divides(t, a.heads, "the heads");
    divides(t, a.intermediate, "the intermediate size");
    if (!stack_.pads_vocabulary && a.norm == models::Norm::rms && a.causal && !a.learned_positions)
      divides(t, a.vocabulary, "the vocabulary");  // the HF path pads nothing
    divides(t, a.kv_heads * s_.kv_replicator, "the KV heads and their copies");
    divides(s_.kv_replicator, t, "TP");
    // What shards weights too is PyTorch's own FSDP, which torchrun starts any number of.
    need(stated_.weights.sharded || !stack_.starts_few_counts || cores <= 2 || cores == 8 || cores == 32 ||
             cores == 64 || cores == 128,
         fmt::format("NxD starts no {} processes a node", cores));
    if (s_.expert_parallel > 1) {
      need(a.experts > 0, "expert parallel without experts");
      need(job_.cluster.cores() % (t * s_.pipeline_parallel * s_.expert_parallel) == 0,
           "EP does not divide the ranks");
    }
    const std::int64_t slice = std::int64_t{s_.micro_batch} * s_.data_parallel;
    need(stated_.global_batch >= slice && stated_.global_batch % slice == 0,
         fmt::format("micro-batch x DP does not divide global batch {}", stated_.global_batch));
    need(stated_.micro_batches == stated_.global_batch / slice,
         fmt::format("{} micro-batches are claimed, {} follow", stated_.micro_batches,
                     stated_.global_batch / slice));
  }

  void attention() {
    const int sequence = job_.training.sequence, c = s_.context_parallel;
    if (c > 1) {
      need(s_.flash_attention, "context parallel without flash attention");
      need(job_.architecture.experts == 0, "context parallel with experts");
      if (gpus_)
        divides(2 * c, sequence, "the sequence (two pieces a rank)");
      else
        divides(1024 * c, sequence, "the sequence (1024 tokens a rank)");
    } else if (s_.flash_attention && !gpus_) {
      divides(2048, sequence, "the sequence (flash attention)");
    }
    if (s_.sequence_parallel) {
      need(s_.tensor_parallel > 1, "sequence parallel without tensor parallel");
      divides(s_.tensor_parallel * c, sequence, "the sequence");
    }
    need(!job_.architecture.learned_positions || sequence <= job_.architecture.max_positions,
         "the sequence is longer than the table of positions");
  }

  void pipeline() {
    const int p = s_.pipeline_parallel, parts = p * s_.virtual_pipeline, layers = job_.architecture.layers;
    need(gpus_ || p == 1 || p % 2 == 0, fmt::format("PP {} is odd", p));
    need(parts <= layers, fmt::format("{} layers do not fill {} parts", layers, parts));
    if (s_.virtual_pipeline > 1) divides(p, stated_.micro_batches, "the micro-batches (interleaved)");
    need(p == 1 || !job_.architecture.tied_embeddings || stack_.ties_across_stages,
         "tied embeddings on different stages");
    if (s_.pipeline_cuts.empty()) return;
    int before = -1;
    bool ascends = static_cast<int>(s_.pipeline_cuts.size()) == parts - 1;
    for (const int cut : s_.pipeline_cuts) {
      ascends = ascends && cut > before && cut < layers - 1;
      before = cut;
    }
    need(ascends, "the cuts do not make a stage of every part");
  }

  void groups() {
    const GroupsOpinion opinion = groups_by_backtracking(job_.cluster, s_);
    const bool pinned_layout =
        asked_.pin.tensor_parallel && (asked_.pin.pipeline_parallel || asked_.pin.data_parallel);
    const bool let_in = options_.allow_doubtful || pinned_layout;
    need(opinion.worst != GroupOpinion::refused, "refused: " + opinion.why);
    need(opinion.worst != GroupOpinion::doubtful || let_in, "doubtful: " + opinion.why);
  }

  void memory() {
    constexpr double kPartInAMillion = 1e-6;
    // The integral, and the closed form that it checks, are each good to a hundredth.
    constexpr double kRounding = 0.02, kMoreProbablyThanNot = 0.5;
    const double reserve = profile_[models::common::runtime_reserve];
    const double wanted = std::max(options_.fit_probability, kMoreProbablyThanNot) - kRounding;
    // Of the states and buffers of the training loops on GPUs there is one opinion alone.
    if (gpus_) return;
    const std::vector<StageBytes> stages = memory_by_formula(job_, s_, stated_.weights);
    need(stages.size() == stated_.peaks.size(),
         fmt::format("memory of {} stages is claimed, there are {}", stated_.peaks.size(), stages.size()));
    for (std::size_t i = 0; i < stages.size() && i < stated_.peaks.size(); ++i) {
      const double mine = stages[i].peak() + reserve, theirs = stated_.peaks[i].value;
      need(std::abs(mine - theirs) <= kPartInAMillion * mine,
           fmt::format("stage {}: {:.0f} bytes a core are claimed, {:.0f} follow", i, theirs, mine));
      const double p = fit_by_integration(stages[i], s_.pipeline_parallel == 1,
                                          job_.cluster.instance.core.memory, profile_);
      need(p >= wanted,
           fmt::format("stage {} does not fit: {:.0f} bytes a core, with probability {:.2f}", i, mine, p));
    }
  }

  void limits() {
    if (stated_.step.value <= 0 || job_.training.tokens <= 0) return;
    const double tokens_a_step = static_cast<double>(stated_.global_batch) * job_.training.sequence;
    const double run = job_.training.tokens / tokens_a_step * stated_.step.value;
    const double usd = run / kHour * stated_.nodes * job_.cluster.instance.usd_per_hour();
    constexpr double kRounding = 1 + 1e-9;
    need(asked_.deadline.value <= 0 || run <= asked_.deadline.value * kRounding,
         "the run misses the deadline");
    need(asked_.budget <= 0 || usd <= asked_.budget * kRounding, "the run costs more than the budget");
  }

  const Job& asked_;
  Job job_;  ///< with cluster and batch of the plan
  const StatedPlan& stated_;
  const Strategy& s_;
  const models::Profile& profile_;
  const CheckOptions& options_;
  const models::StackTraits& stack_;
  const bool gpus_;  ///< to which rules of NxD's sends and kernels do not apply
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_plan(const Job& job, const StatedPlan& stated, const models::Profile& profile,
                                    const CheckOptions& options) {
  return Check(job, stated, profile, options).run();
}

}  // namespace trnplan::planner
