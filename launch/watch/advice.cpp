#include "launch/watch/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "launch/watch/remedies.h"
#include "models/device/devices.h"
#include "models/framework/strategy_words.h"
#include "models/memory/memory.h"
#include "models/step/graph_size.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "topology/chip_graph.h"
#include "topology/rank_order.h"
#include "topology/verdict.h"
#include "units/quantity.h"

namespace trnplan::launch {

namespace {

constexpr int kPlansConsidered = 100;
/// Share of a device that a plan may fill by what a run needed until an allocation failed, which need not have been the
/// last one. Our own value.
constexpr double kFilled = 0.95;

/// Finds plans to replace the one that ran, with a profile.
struct Finder {
  const models::Profile& profile;
  const FindPlans& find;
};

/// Recommended plan for the job that ran, followed by the plans with its PP and CP, fastest first. With
/// `same_stages` false, the plans of any PP and CP.
std::vector<planner::Plan> alternatives(const RanPlan& ran, const Finder& finder, int most,
                                        bool same_stages = true) {
  models::Job job = ran.job;
  job.space = {};
  job.objective = models::Objective::step_time;
  job.deadline = {};
  job.budget = 0;
  job.pin = {};
  std::vector<planner::Plan> plans = finder.find(job, finder.profile, same_stages ? 1 : most);
  if (!same_stages) return plans;
  if (plans.size() > 1) plans.resize(1);
  job.pin.pipeline_parallel = ran.strategy ? ran.strategy->pipeline_parallel : 1;
  job.pin.context_parallel = ran.strategy ? ran.strategy->context_parallel : 1;
  for (planner::Plan& plan : finder.find(job, finder.profile, most)) plans.push_back(std::move(plan));
  return plans;
}

/// First of the plans that differs from the one that ran.
std::optional<planner::Plan> another(const std::vector<planner::Plan>& plans, const RanPlan& ran) {
  for (const planner::Plan& plan : plans) {
    if (!ran.strategy || models::canonical(*ran.strategy) != models::canonical(plan.strategy)) return plan;
  }
  return std::nullopt;
}

std::string next_text(const planner::Plan& plan) {
  return fmt::format("use {}: {:.1f} s a step, {:.1f} GiB a {}", models::strategy_words(plan.strategy),
                     plan.report.step.value, plan.memory.worst().peak().value / kGiB,
                     topology::device_word(plan.accelerator));
}

std::string job_text(const RanPlan& ran) {
  return fmt::format("{}, sequence {}, global batch {}, {} x {}", ran.job.architecture.name,
                     ran.job.training.sequence, ran.job.training.global_batch, ran.job.cluster.nodes,
                     ran.job.cluster.instance.name);
}

/// Degrees that explain a refused group if the plan is unknown: the group's ranks are data parallel, the rest
/// tensor parallel, on one node.
topology::Degrees degrees_of(const RanPlan& ran, const logs::Failure& f) {
  if (ran.strategy) {
    const models::Strategy& s = *ran.strategy;
    return {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel};
  }
  const int cores = ran.job.cluster.instance.cores();
  const int ranks = std::max({1, f.group_ranks, static_cast<int>(f.devices.size())});
  const int data = cores % ranks == 0 ? ranks : 1;
  return {cores / data, 1, data, 1};
}

/// Group that the runtime refused: among the unsupported ones, the one that contains most of the devices
/// named in the log.
std::optional<topology::GroupVerdict> refused_group(const topology::Cluster& cluster,
                                                    const topology::ChipGraph& graph,
                                                    const topology::Degrees& degrees,
                                                    const logs::Failure& f) {
  if (degrees.world() != static_cast<std::int64_t>(cluster.cores()) ||
      !topology::RankOrder::obstacle(cluster, degrees).empty()) {
    return std::nullopt;
  }
  const auto verdict = topology::judge_all(cluster, graph, topology::RankOrder(cluster, degrees));
  const int cores = cluster.instance.host_cores();  // the runtime numbers the cores of its host
  std::optional<topology::GroupVerdict> best;
  int most = -1;
  for (const topology::GroupVerdict& g : verdict.groups) {
    if (g.verdict == topology::Verdict::supported) continue;
    const auto named = std::count_if(g.ranks.begin(), g.ranks.end(), [&](int rank) {
      return std::binary_search(f.devices.begin(), f.devices.end(), rank % cores);
    });
    if (static_cast<int>(named) <= most) continue;
    most = static_cast<int>(named);
    best = g;
  }
  return best;
}

std::string kind_text(topology::GroupKind kind) {
  switch (kind) {
    case topology::GroupKind::tensor:
      return "TP";
    case topology::GroupKind::pipeline:
      return "PP";
    case topology::GroupKind::data:
      return "DP";
    case topology::GroupKind::context:
      return "CP";
    case topology::GroupKind::kv_replicas:
      return "KV replica";
  }
  return "";
}

planner::Observation observation_on(const topology::GroupVerdict& group, const RanPlan& ran, bool accepted) {
  planner::Observation e;
  e.rule = "replica-group";
  e.accepted = accepted;
  e.instance = ran.job.cluster.instance.name;
  e.ranks = group.ranks;
  std::sort(e.ranks.begin(), e.ranks.end());
  e.chips = group.chips;
  e.nodes = group.nodes;
  return e;
}

/// One group of each kind in the plan that ran, if the rules refuse or doubt it: it works.
std::vector<planner::Observation> accepted_groups(const RanPlan& ran) {
  std::vector<planner::Observation> all;
  const topology::Cluster& cluster = ran.job.cluster;
  const topology::Degrees degrees = degrees_of(ran, {});
  if (degrees.world() != static_cast<std::int64_t>(cluster.cores()) ||
      !topology::RankOrder::obstacle(cluster, degrees).empty()) {
    return all;
  }
  const topology::ChipGraph graph(cluster.instance);
  const auto verdict = topology::judge_all(cluster, graph, topology::RankOrder(cluster, degrees),
                                           std::max(1, ran.strategy->kv_replicator));
  for (const topology::KindVerdict& k : topology::by_kind(graph, verdict)) {
    if (k.worst.verdict == topology::Verdict::supported) continue;
    all.push_back(observation_on(k.worst, ran, true));
    all.back().kind = topology::to_string(k.kind);
  }
  return all;
}

void name_next(Advice& a, const RanPlan& ran, const std::optional<planner::Plan>& next) {
  a.next = next;
  if (!next) {
    a.fix = "no plan with this PP and CP is accepted: run trnplan plan for others";
    return;
  }
  a.fix = next_text(*next);
  if (ran.assumed) a.fix += " (assumed: " + job_text(ran) + "; state what ran with --plan or --job)";
}

/// Judges the group that the log itself lists, whatever degrees ran.
bool advise_listed_group(Advice& a, const topology::Cluster& cluster, const topology::ChipGraph& graph) {
  const std::vector<int>& ranks = a.failure.group;
  if (ranks.size() < 2 || ranks.back() >= cluster.cores()) return false;
  const topology::GroupVerdict group = topology::judge(cluster, graph, topology::GroupKind::data, ranks);
  a.ranks = group.ranks;
  a.chips = group.chips;
  a.problem = fmt::format(
      "the runtime refused the group {{{}}}: {} (by trnplan's rules: {})", fmt::join(ranks, ", "),
      group.message.empty() ? "no reason is known" : group.message, topology::to_string(group.verdict));
  return true;
}

void advise_group(Advice& a, const RanPlan& ran, const Finder& finder) {
  a.rule = "replica-group";
  const topology::ChipGraph graph(ran.job.cluster.instance);
  topology::Cluster cluster = ran.job.cluster;
  if (advise_listed_group(a, cluster, graph)) {
    return name_next(a, ran, another(alternatives(ran, finder, 1), ran));
  }
  if (!ran.strategy) cluster.nodes = 1;
  const topology::Degrees degrees = degrees_of(ran, a.failure);
  const auto group = refused_group(cluster, graph, degrees, a.failure);
  if (!group) {
    a.problem = a.failure.devices.empty()
                    ? std::string("the runtime refused a group")
                    : fmt::format("the runtime refused a group of {}s {{{}}}",
                                  topology::device_word(cluster.instance.traits.accelerator),
                                  fmt::join(a.failure.devices, ", "));
    a.problem += "; trnplan's rules accept every group of what ran";
    a.fix = "check that EFA is up on every node, and report the log: the rules may be wrong";
    return;
  }
  a.kind = group->kind;
  a.ranks = group->ranks;
  a.chips = group->chips;
  a.problem =
      fmt::format("TP {} x PP {} x DP {}: the runtime refused the {} {} {{{}}}: {}", degrees.tensor,
                  degrees.pipeline, degrees.data, kind_text(group->kind),
                  group->ranks.size() == 2 ? "pair" : "group", fmt::join(group->ranks, ", "), group->message);
  name_next(a, ran, another(alternatives(ran, finder, 1), ran));
}

/// What is known of the memory of a device that was full.
struct FullDevice {
  std::string_view word;
  std::optional<double> limit;   ///< bytes
  std::optional<double> needed;  ///< bytes in use, and those of the allocation that failed
  bool or_more = false;          ///< nothing says how much: it was full
};

FullDevice full_device(const logs::Failure& f, const RanPlan& ran) {
  const topology::Instance& instance = ran.job.cluster.instance;
  const bool known = !ran.assumed || ran.machine_stated;
  FullDevice d;
  d.word = topology::device_word(f.cuda && !known ? topology::Accelerator::gpu : instance.traits.accelerator);
  if (f.limit_gib) {
    d.limit = *f.limit_gib * kGiB;
  } else if (known || !f.cuda) {
    d.limit = instance.core.memory.value;
  }
  if (f.gib) d.needed = (*f.gib + f.tried_gib.value_or(0)) * kGiB;
  if (!f.gib && known && d.limit) {
    d.needed = d.limit;
    d.or_more = true;
  }
  return d;
}

std::string full_text(const logs::Failure& f) {
  if (f.kind == logs::FailureKind::compile_memory) {
    return f.gib ? fmt::format("the compiler estimates {:.2f} GiB for one graph", *f.gib)
                 : "the compiler estimates more than there is for one graph";
  }
  const std::string tried =
      f.tried_gib ? fmt::format("an allocation of {:.2f} GiB", *f.tried_gib) : "an allocation";
  return f.gib ? fmt::format("{} failed with {:.2f} GiB in use", tried, *f.gib)
               : fmt::format("{} failed; the log does not say how much was in use", tried);
}

void advise_memory(Advice& a, const RanPlan& ran, const Finder& finder) {
  a.rule = "memory";
  const FullDevice d = full_device(a.failure, ran);
  a.problem = full_text(a.failure);
  if (d.limit)
    a.problem += fmt::format("; a {} has {:.{}f} GiB", d.word, *d.limit / kGiB, a.failure.limit_gib ? 2 : 0);
  if (!ran.strategy) {
    a.fix =
        "add --plan, or --job and --strategy, to be shown a plan that fits; or recompute more, or raise TP "
        "or PP";
    return;
  }
  const auto judged = planner::judge(ran.job, *ran.strategy, finder.profile, &targets::of(ran.job));
  if (!judged.memory) return;
  const double predicted = judged.memory->worst().peak().value;
  a.problem += fmt::format("; {:.2f} was predicted", predicted / kGiB);
  if (a.failure.unused_gib && a.failure.unused_gib > a.failure.tried_gib.value_or(0)) {
    a.problem += fmt::format("; {:.2f} GiB were reserved and unused, in pieces that were too small",
                             *a.failure.unused_gib);
    a.fix = "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: the allocator then joins these pieces";
    return;
  }
  const double limit = d.limit.value_or(ran.job.cluster.instance.core.memory.value);
  // What the run needed beyond its prediction, any other plan is expected to need too.
  const double excess = d.needed ? std::max(0.0, *d.needed - predicted) : 0;
  const char* const more = d.or_more ? " or more" : "";
  const double above = d.needed ? std::max(0.0, *d.needed - limit) : 0;
  const double most = std::min(predicted - above, (excess > 0 ? kFilled * limit : limit) - excess);
  for (const bool same_stages : {true, false}) {
    for (const planner::Plan& plan : alternatives(ran, finder, kPlansConsidered, same_stages)) {
      const double peak = plan.memory.worst().peak().value;
      if (!(peak < predicted && peak <= most)) continue;
      name_next(a, ran, plan);
      if (excess > 0)
        a.fix +=
            fmt::format("; with the {:.2f} GiB{} that this run needed beyond its prediction {:.2f} of {:.2f}",
                        excess / kGiB, more, (peak + excess) / kGiB, limit / kGiB);
      return;
    }
  }
  if (excess > 0) {
    a.fix = fmt::format(
        "no plan is predicted to fit with the {:.2f} GiB{} that this run needed beyond its prediction: look "
        "for what "
        "took them (another batch, sequence or recomputation than stated, fragmentation, other processes)",
        excess / kGiB, more);
    return;
  }
  a.fix = "no plan is predicted to need so much less: use more nodes, or a shorter sequence";
}

/// Among plans with any PP and CP, the fastest with a largest graph smaller by the excess of this one.
void advise_instructions(Advice& a, const RanPlan& ran, const Finder& finder) {
  const auto limit = models::device_of(ran.job.cluster.instance.core).graph_limit();
  const double most = a.failure.of.value_or(limit ? limit->instructions : 0);
  a.problem =
      a.failure.number && most > 0
          ? fmt::format("one graph has {:.0f} instructions, the compiler accepts {:.0f}", *a.failure.number,
                        most)
      : most > 0
          ? fmt::format("one graph has more instructions than the {:.0f} that the compiler accepts", most)
          : "one graph has more instructions than the compiler accepts";
  a.problem += ": micro-batch, sequence or layers of a stage are too large";
  a.fix = "raise TP or PP, or take a smaller micro-batch; recomputation and a lower --optlevel do not help";
  if (!ran.strategy) return;
  const double size = models::largest_graph(ran.job, *ran.strategy, finder.profile).expected;
  const double share = a.failure.number && most > 0 ? std::min(1.0, most / *a.failure.number) : 1;
  for (const planner::Plan& plan : alternatives(ran, finder, kPlansConsidered, false)) {
    const double next = models::largest_graph(ran.job, plan.strategy, finder.profile).expected;
    if (next < size && next <= share * size) return name_next(a, ran, plan);
  }
}

}  // namespace

std::vector<Advice> advise(const std::vector<logs::Failure>& failures, const RanPlan& ran,
                           const models::Profile& profile, const FindPlans& find) {
  const Finder finder{profile, find};
  std::vector<Advice> all;
  for (const logs::Failure& f : failures) {
    Advice a;
    a.failure = f;
    if (f.kind == logs::FailureKind::replica_group) {
      advise_group(a, ran, finder);
    } else if (f.kind == logs::FailureKind::compile_memory || f.kind == logs::FailureKind::device_memory) {
      advise_memory(a, ran, finder);
    } else if (f.kind == logs::FailureKind::instructions) {
      advise_instructions(a, ran, finder);
    } else {
      Remedy remedy = remedy_of(f, setting_of(ran));
      a.problem = std::move(remedy.problem);
      a.fix = std::move(remedy.fix);
    }
    all.push_back(std::move(a));
  }
  return all;
}

std::vector<planner::Observation> observations_of(const std::vector<Advice>& advice, const RanPlan& ran,
                                                  int last_step_line, bool timed, const std::string& file,
                                                  const std::string& sha256) {
  std::vector<planner::Observation> all;
  for (const Advice& a : advice) {
    if (last_step_line > a.failure.last_line) continue;
    if (a.rule == "replica-group" && !a.ranks.empty()) {
      topology::GroupVerdict group;
      group.ranks = a.ranks;
      group.chips = a.chips;
      const int cores = ran.job.cluster.instance.cores();
      std::set<int> nodes;
      for (const int rank : a.ranks) nodes.insert(rank / cores);
      group.nodes = static_cast<int>(nodes.size());
      all.push_back(observation_on(group, ran, false));
      if (a.kind) all.back().kind = topology::to_string(*a.kind);
    } else if (a.rule == "memory" && ran.strategy) {
      all.push_back(planner::memory_of_run(ran.job, *ran.strategy, false));
      all.back().bytes = a.failure.gib.value_or(0) * kGiB;
    } else {
      continue;
    }
    all.back().line = a.failure.at.line;
  }
  if (last_step_line > 0 && ran.strategy) {
    const bool full = std::any_of(all.begin(), all.end(), [](const auto& e) { return e.rule == "memory"; });
    const auto done = all.size();
    for (planner::Observation& e : accepted_groups(ran)) all.push_back(std::move(e));
    if (timed && !full) all.push_back(planner::memory_of_run(ran.job, *ran.strategy, true));
    for (std::size_t i = done; i < all.size(); ++i) all[i].line = last_step_line;
  }
  for (planner::Observation& e : all) {
    e.file = file;
    e.sha256 = sha256;
  }
  return all;
}

}  // namespace trnplan::launch
