#include "tests/second_opinion/check_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "tests/second_opinion/groups.h"
#include "tests/second_opinion/memory.h"

namespace trnplan::second_opinion {

using models::Job;
using models::Strategy;

namespace {

/// Collects what is wrong.
class Check {
 public:
  Check(const Job& job, const StatedPlan& stated, const models::Profile& profile, const CheckOptions& options)
      : asked_(job), job_(job), stated_(stated), s_(stated.strategy), profile_(profile), options_(options) {}

  std::vector<Fault> run() {
    place();
    if (!wrong_.empty()) return std::move(wrong_);
    batch();
    pins();
    for (const int d : {s_.tensor_parallel, s_.context_parallel, s_.data_parallel, s_.pipeline_parallel,
                        s_.virtual_pipeline, s_.expert_parallel, s_.micro_batch})
      need(d >= 1, "divisibility", "a degree below 1");
    if (!wrong_.empty()) return std::move(wrong_);
    wrong_ = broken_rules(job_, s_, options_.target);
    if (!wrong_.empty()) return std::move(wrong_);  // groups and bytes of nonsense mean nothing
    const int follow = stated_.global_batch / (s_.micro_batch * s_.data_parallel);
    need(stated_.micro_batches == follow, "claim",
         fmt::format("{} micro-batches are claimed, {} follow", stated_.micro_batches, follow));
    groups();
    memory();
    limits();
    return std::move(wrong_);
  }

 private:
  void need(bool holds, const char* rule, std::string otherwise) {
    if (!holds) wrong_.push_back({rule, std::move(otherwise)});
  }

  /// The cluster of the plan is one that the job allows.
  void place() {
    const models::SearchSpace& free = asked_.space;
    const auto& nodes = free.nodes;
    const bool allowed = nodes.empty() ? stated_.nodes == asked_.cluster.nodes
                                       : std::find(nodes.begin(), nodes.end(), stated_.nodes) != nodes.end();
    need(allowed, "job", fmt::format("{} nodes are not what the job asks for", stated_.nodes));
    job_.cluster.nodes = stated_.nodes;
    bool known = free.instances.empty() && stated_.instance == asked_.cluster.instance.name;
    for (const topology::Instance& i : free.instances) {
      if (i.name != stated_.instance) continue;
      job_.cluster.instance = i;
      known = true;
    }
    need(known, "job", stated_.instance + " is not what the job asks for");
  }

  void batch() {
    const models::SearchSpace& free = asked_.space;
    const int b = stated_.global_batch;
    bool allowed = b == asked_.training.global_batch;
    if (free.batch_per_node > 0) allowed = b == free.batch_per_node * stated_.nodes;
    if (free.largest_batch > 0) allowed = b >= free.smallest_batch && b <= free.largest_batch;
    need(allowed, "job", fmt::format("global batch {} is not what the job asks for", b));
    job_.training.global_batch = b;
    need(free.precision || s_.precision == asked_.training.precision, "job",
         "another precision than the job's");
  }

  template <class T>
  void pinned(const char* name, const std::optional<T>& pin, T value) {
    need(!pin || *pin == value, "job", fmt::format("{} is not what the job pins", name));
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
    pinned("the framework", p.framework, s_.framework);
    if (s_.pipeline_parallel > 1) pinned("the schedule", p.schedule, s_.schedule);
    // Without tensor or pipeline parallel these two mean nothing.
    if (s_.pipeline_parallel > 1) pinned("VPP", p.virtual_pipeline, s_.virtual_pipeline);
    if (s_.tensor_parallel > 1) pinned("sequence parallel", p.sequence_parallel, s_.sequence_parallel);
    if (s_.zero1) pinned("what is sharded", p.sharding, s_.sharding);
    if (!asked_.space.zero1)
      need(s_.zero1 == p.zero1.value_or(true), "job", "ZeRO-1 is not what the job asks for");
    if (p.recompute)
      need(same_program(*p.recompute, s_.recompute), "job", "recompute is not what the job pins");
  }

  bool same_program(const models::Recompute& a, const models::Recompute& b) const {
    if (a.full || b.full) return a.full == b.full && a.every == b.every;
    if (a.alternate || b.alternate) return a.alternate == b.alternate;
    const bool attention = s_.flash_attention || a.core_attention == b.core_attention;
    const bool product = a.mlp || a.activation_multiply == b.activation_multiply;
    return attention && product && a.mlp == b.mlp && a.rms_norm == b.rms_norm;
  }

  void groups() {
    const GroupsOpinion opinion = groups_by_backtracking(job_.cluster, s_);
    const bool pinned_layout =
        asked_.pin.tensor_parallel && (asked_.pin.pipeline_parallel || asked_.pin.data_parallel);
    const bool let_in = options_.allow_doubtful || pinned_layout;
    need(opinion.worst != GroupOpinion::refused, "replica-group", "refused: " + opinion.why);
    need(opinion.worst != GroupOpinion::doubtful || let_in, "replica-group", "doubtful: " + opinion.why);
  }

  void memory() {
    constexpr double kPartInAMillion = 1e-6;
    // The integral, and the closed form that it checks, are each good to a hundredth.
    constexpr double kRounding = 0.02, kMoreProbablyThanNot = 0.5;
    const double reserve = profile_[models::common::runtime_reserve];
    const double wanted = std::max(options_.fit_probability, kMoreProbablyThanNot) - kRounding;
    const std::vector<StageBytes> stages = memory_by_formula(job_, s_);
    need(stages.size() == stated_.peaks.size(), "claim",
         fmt::format("memory of {} stages is claimed, there are {}", stated_.peaks.size(), stages.size()));
    const Bytes limit = job_.cluster.instance.core.memory;
    for (std::size_t i = 0; i < stages.size() && i < stated_.peaks.size(); ++i) {
      const double mine = stages[i].peak() + reserve, theirs = stated_.peaks[i].value;
      need(std::abs(mine - theirs) <= kPartInAMillion * mine, "claim",
           fmt::format("stage {}: {:.0f} bytes a core are claimed, {:.0f} follow", i, theirs, mine));
      const double p =
          fit_by_integration(stages[i], pool_of(job_, s_), s_.pipeline_parallel == 1, limit, profile_);
      need(p >= wanted && mine <= limit.value * (1 + kPartInAMillion), "memory",
           fmt::format("stage {} does not fit: {:.0f} bytes a core, with probability {:.2f}", i, mine, p));
    }
  }

  void limits() {
    if (stated_.step.value <= 0 || job_.training.tokens <= 0) return;
    const double tokens_a_step = static_cast<double>(stated_.global_batch) * job_.training.sequence;
    const double run = job_.training.tokens / tokens_a_step * stated_.step.value;
    const double usd = run / kHour * stated_.nodes * job_.cluster.instance.usd_per_hour();
    constexpr double kRounding = 1 + 1e-9;
    need(asked_.deadline.value <= 0 || run <= asked_.deadline.value * kRounding, "job",
         "the run misses the deadline");
    need(asked_.budget <= 0 || usd <= asked_.budget * kRounding, "job", "the run costs more than the budget");
  }

  const Job& asked_;
  Job job_;  ///< with cluster and batch of the plan
  const StatedPlan& stated_;
  const Strategy& s_;
  const models::Profile& profile_;
  const CheckOptions& options_;
  std::vector<Fault> wrong_;
};

}  // namespace

std::vector<Fault> check_plan(const Job& job, const StatedPlan& stated, const models::Profile& profile,
                              const CheckOptions& options) {
  return Check(job, stated, profile, options).run();
}

}  // namespace trnplan::second_opinion
