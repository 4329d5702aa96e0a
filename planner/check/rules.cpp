#include "planner/check/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/framework/framework.h"
#include "models/framework/schedule.h"
#include "models/step/step.h"
#include "planner/plan/space.h"
#include "planner/plan/strategy_grammar.h"

namespace trnplan::planner {

using models::Architecture;
using models::Job;
using models::Strategy;

namespace {

/// Breach of a rule, and values that would satisfy it.
struct Broken {
  std::string message, fix;
};
using Found = std::optional<Broken>;

topology::Degrees degrees_of(const Strategy& s) {
  return {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel};
}

/// Refuses instances with collectives and engines that would be timed as those of another machine.
Found instance(const Job& job, const Strategy&) {
  if (times_steps_on(job.cluster.instance)) return std::nullopt;
  return Broken{why_untimed(job.cluster.instance),
                "use an instance type whose step can be timed: trnplan instances lists them"};
}

/// Degrees near those of `s` with a product that divides the cores.
std::string dividing(const Strategy& s, int cores) {
  const int tp = std::gcd(s.tensor_parallel, cores);
  const int pp = std::gcd(s.pipeline_parallel, cores / tp);
  const int cp = std::gcd(s.context_parallel, cores / tp / pp);
  return fmt::format("tp={},pp={},cp={}", tp, pp, cp);
}

Found divisibility(const Job& job, const Strategy& s) {
  const std::int64_t cores = job.cluster.cores(), ranks = degrees_of(s).world();
  if (ranks == cores && ranks > 0) return std::nullopt;
  const std::string_view device = topology::device_word(job.cluster.instance.traits.accelerator);
  return Broken{
      fmt::format("TP {} x PP {} x CP {} x DP {} is {} ranks, the cluster has {} {}s", s.tensor_parallel,
                  s.pipeline_parallel, s.context_parallel, s.data_parallel, ranks, cores, device),
      cores % s.model_parallel() == 0 ? fmt::format("dp={}, or leave dp out", cores / s.model_parallel())
                                      : fmt::format("choose TP, PP and CP whose product divides the {}s: {}",
                                                    device, dividing(s, job.cluster.cores()))};
}

Found has_experts(const Job& job, const Strategy& s) {
  const bool whole = models::expert_tensor_degree(s) != s.tensor_parallel;
  if (job.architecture.experts == 0) {
    if (s.expert_parallel > 1) return Broken{"expert parallel needs a mixture-of-experts model", "ep=1"};
    if (whole) return Broken{"expert tensor parallel needs a mixture-of-experts model", "leave etp out"};
    return std::nullopt;
  }
  const models::Framework& loop = models::framework_of(s);
  if (whole && !loop.frees_experts())
    return Broken{fmt::format("{} cuts experts as TP {} cuts all else", loop.name(), s.tensor_parallel),
                  "leave etp out"};
  if (whole && !s.sequence_parallel)
    return Broken{"experts that TP does not cut need sequence parallel",
                  fmt::format("sp=true, or etp={}", s.tensor_parallel)};
  return std::nullopt;
}

Found exchanges_overlap(const Job&, const Strategy& s) {
  const models::Framework& loop = models::framework_of(s);
  const models::Lack lack = loop.experts_overlap_lack(s);
  if (lack.what.empty()) return std::nullopt;
  return Broken{fmt::format("{} cannot overlap exchanges with experts {}", loop.name(), lack.what),
                std::string(lack.fix)};
}

Found experts_divide(const Job& job, const Strategy& s) {
  if (s.expert_parallel == 1 || job.architecture.experts == 0) return std::nullopt;
  const int etp = models::expert_tensor_degree(s);
  const std::int64_t ranks = saturating_product({etp, s.pipeline_parallel, s.expert_parallel});
  if (job.cluster.cores() % ranks == 0) return std::nullopt;
  const bool whole = etp != s.tensor_parallel;
  const std::int64_t each = saturating_product({etp, s.pipeline_parallel});
  const bool sets = job.cluster.cores() % each == 0;
  return Broken{
      fmt::format("the ranks do not divide by {} x PP x EP", whole ? "ETP" : "TP"),
      sets    ? fmt::format("ep={}", std::gcd<std::int64_t>(s.expert_parallel, job.cluster.cores() / each))
      : whole ? "leave etp out"
              : "ep=1"};
}

Found heads(const Job& job, const Strategy& s) {
  const Architecture& a = job.architecture;
  const models::Framework& loop = models::framework_of(s);
  const int kv = loop.copies_key_heads() ? 0 : a.kv_heads;
  const auto whole = [&](int t) { return kv % t == 0 && a.heads % t == 0 && a.intermediate % t == 0; };
  if (whole(s.tensor_parallel)) return std::nullopt;
  const std::string fix = near_tensor_parallel(job, s, whole, "choose a TP that divides them");
  if (kv % s.tensor_parallel != 0)
    return Broken{fmt::format("{} key and value heads on TP {}, and {} has no copies of them", kv,
                              s.tensor_parallel, loop.name()),
                  fix};
  return Broken{fmt::format("{} attention heads and intermediate size {} must both divide by TP {}", a.heads,
                            a.intermediate, s.tensor_parallel),
                fix};
}

Found kv_replicator(const Job& job, const Strategy& s) {
  const Architecture& a = job.architecture;
  const int t = s.tensor_parallel, r = s.kv_replicator;
  const int expected = std::max(1, t / std::max(1, a.kv_heads));
  // More copies than TP needs are legal, and only add work.
  if (r >= 1 && saturating_product({a.kv_heads, r}) % t == 0 && t % r == 0) return std::nullopt;
  return Broken{
      fmt::format("{} KV heads x kv_replicator {} cannot be split over TP {}", a.kv_heads, r, t),
      saturating_product({a.kv_heads, expected}) % t == 0
          ? fmt::format("kv={}", expected)
          : near_tensor_parallel(
                job, s, [&](int n) { return a.kv_heads % n == 0 || n % std::max(1, a.kv_heads) == 0; },
                "choose a TP that divides, or is a multiple of, the KV heads")};
}

/// The training loop's own rule for the chunks of an interleaved pipeline.
Found chunks_form(const Job& job, const Strategy& s) {
  const models::Framework& loop = models::framework_of(s);
  const auto forms = [&](int chunks) {
    return chunks == 1 || !loop.chunk_partition(job.architecture, s.pipeline_parallel, chunks).empty();
  };
  if (forms(s.virtual_pipeline)) return std::nullopt;
  int near = s.virtual_pipeline - 1;
  while (!forms(near)) --near;
  return Broken{fmt::format("{} cannot cut {} layers into {} chunks on each of PP {}", loop.name(),
                            job.architecture.layers, s.virtual_pipeline, s.pipeline_parallel),
                fmt::format("vpp={}, or another PP", near)};
}

Found layers(const Job& job, const Strategy& s) {
  const std::int64_t chunks = saturating_product({s.pipeline_parallel, s.virtual_pipeline});
  const int count = job.architecture.layers;
  const bool empty_ends = s.virtual_pipeline > 1 && s.pipeline_cuts.empty() &&
                          models::framework_of(s).leaves_ends_without_layers();
  if (count < chunks - (empty_ends ? 2 : 0)) {
    return Broken{fmt::format("{} layers cannot fill PP {} x VPP {} stages", count, s.pipeline_parallel,
                              s.virtual_pipeline),
                  s.pipeline_parallel <= count
                      ? fmt::format("vpp={}", count / s.pipeline_parallel)
                      : fmt::format("lower PP x VPP to at most {}: pp=1,vpp=1", count)};
  }
  if (s.pipeline_cuts.empty()) return chunks_form(job, s);
  const bool ascending = std::is_sorted(s.pipeline_cuts.begin(), s.pipeline_cuts.end(), std::less_equal<>());
  if (ascending && static_cast<std::int64_t>(s.pipeline_cuts.size()) == chunks - 1 &&
      s.pipeline_cuts.front() >= 0 && s.pipeline_cuts.back() < count - 1)
    return std::nullopt;
  return Broken{
      fmt::format("pipeline_cuts must be {} ascending layer numbers between 0 and {}", chunks - 1, count - 2),
      "name the last layer of each stage except the last"};
}

Found pipeline_parity(const Job& job, const Strategy& s) {
  if (on_gpus(job) || s.pipeline_parallel == 1 || s.pipeline_parallel % 2 == 0) return std::nullopt;
  return Broken{fmt::format("PP {} is odd: NxD pairs neighbouring stages by parity for send and receive",
                            s.pipeline_parallel),
                fmt::format("pp=1, or an even one such as pp={}", s.pipeline_parallel - 1)};
}

Found batch(const Job& job, const Strategy& s) {
  const long long slice = static_cast<long long>(s.micro_batch) * s.data_parallel;
  const long long global = job.training.global_batch;
  if (global >= slice && global % slice == 0) return std::nullopt;
  const long long below = global / slice * slice, above = below + slice;
  return Broken{fmt::format("global batch {} does not divide by micro-batch {} x DP {}", global,
                            s.micro_batch, s.data_parallel),
                below > 0 ? fmt::format("the nearest global batches that do are {} and {}", below, above)
                          : fmt::format("the smallest global batch that does is {}", above)};
}

Found interleaved(const Job& job, const Strategy& s) {
  if (s.micro_batch < 1 || s.data_parallel < 1) return std::nullopt;
  const models::PipelineShape shape = models::shape_of(s, models::micro_batches(job.training, s));
  if (shape.micro_batches % models::schedule_of(s).round(shape) == 0) return std::nullopt;
  return Broken{"the interleaved schedule needs a number of micro-batches that divides by PP",
                "vpp=1, or another mbs or pp"};
}

Found pipeline_schedule(const Job& job, const Strategy& s) {
  if (s.micro_batch < 1 || s.data_parallel < 1 || interleaved(job, s)) return std::nullopt;
  const models::PipelineShape shape = models::shape_of(s, models::micro_batches(job.training, s));
  std::string obstacle = models::schedule_of(s).obstacle(shape);
  if (obstacle.empty()) return std::nullopt;
  return Broken{std::move(obstacle),
                fmt::format("vpp={}, or another schedule",
                            models::chunks_of(models::effective_schedule(s)).nearest(shape.chunks))};
}

/// The largest smaller context-parallel degree that divides the sequence, and the ranks that TP and PP leave.
int context_near(const Job& job, const Strategy& s) {
  const int ranks = job.cluster.cores() / (s.tensor_parallel * s.pipeline_parallel);
  for (int c = s.context_parallel - 1; c > 1; --c)
    if (ranks % c == 0 && context_divides(job, c)) return c;
  return 1;
}

Found context_parallel(const Job& job, const Strategy& s) {
  if (s.context_parallel == 1) return std::nullopt;
  if (!s.flash_attention) return Broken{"ring attention is a flash-attention kernel", "flash=true, or cp=1"};
  if (context_divides(job, s.context_parallel)) return std::nullopt;
  const int sequence = job.training.sequence, cp = s.context_parallel;
  return Broken{on_gpus(job) ? fmt::format("sequence {} does not divide into two pieces for each of CP {}",
                                           sequence, cp)
                             : fmt::format("sequence {} over CP {} must give a multiple of {} tokens",
                                           sequence, cp, kContextTile),
                fmt::format("cp={}, or another sequence length", context_near(job, s))};
}

Found flash_attention(const Job& job, const Strategy& s) {
  if (const models::Framework& loop = models::framework_of(s);
      s.flash_attention && !loop.flash_takes(s.precision))
    return Broken{fmt::format("{} has no flash attention in {}", loop.name(), to_string(s.precision)),
                  s.context_parallel > 1 ? "flash=false and cp=1" : "flash=false (flash_attention: false)"};
  if (on_gpus(job) || !s.flash_attention || s.context_parallel > 1 || job.training.sequence % 2048 == 0)
    return std::nullopt;
  return Broken{fmt::format("NxD's flash attention needs a sequence that divides by 2048, not {}",
                            job.training.sequence),
                "flash=false (flash_attention: false), or another sequence length"};
}

Found sequence_parallel(const Job& job, const Strategy& s) {
  if (!s.sequence_parallel) return std::nullopt;
  const int local = job.training.sequence / s.context_parallel;
  if (s.tensor_parallel > 1 && local % s.tensor_parallel == 0) return std::nullopt;
  return Broken{
      fmt::format("sequence parallel needs TP > 1 and a sequence that divides by TP {}", s.tensor_parallel),
      "sp=false (sequence_parallel: false), or another sequence length"};
}

Found positions(const Job& job, const Strategy&) {
  const Architecture& a = job.architecture;
  if (!a.learned_positions || job.training.sequence <= a.max_positions) return std::nullopt;
  return Broken{fmt::format("sequence {} is longer than the model's {} learned positions",
                            job.training.sequence, a.max_positions),
                "shorten the sequence"};
}

Found rank_order(const Job& job, const Strategy& s) {
  if (degrees_of(s).world() != job.cluster.cores()) return std::nullopt;  // rule divisibility reports it
  const std::string obstacle = topology::RankOrder::obstacle(job.cluster, degrees_of(s));
  if (obstacle.empty()) return std::nullopt;
  return Broken{obstacle, "tp=2 or tp=8, or a DP that fits"};
}

/// Rules by their ids (api/rules/1_strategy.yaml).
constexpr struct {
  std::string_view id;
  Found (*find)(const Job&, const Strategy&);
} kRules[] = {
    {"not-modelled", instance},
    {"divisibility", divisibility},
    {"moe", has_experts},
    {"moe", exchanges_overlap},
    {"divisibility", experts_divide},
    {"heads", heads},
    {"kv-replicator", kv_replicator},
    {"layers", layers},
    {"pipeline-parity", pipeline_parity},
    {"batch", batch},
    {"interleaved", interleaved},
    {"pipeline-schedule", pipeline_schedule},
    {"context-parallel", context_parallel},
    {"flash-attention", flash_attention},
    {"sequence-parallel", sequence_parallel},
    {"positions", positions},
    {"rank-order", rank_order},
};

std::string kind_name(topology::GroupKind kind) {
  std::string name(topology::to_string(kind));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool has_rules_for(const Target* target, const Job& job) {
  return target != nullptr && target->trains_on(job.cluster.instance.traits);
}

}  // namespace

std::vector<Violation> rule_violations(const Job& job, const Strategy& strategy, const Target* target) {
  std::vector<Violation> all;
  for (const auto& [id, find] : kRules)
    if (Found found = find(job, strategy))
      all.push_back({std::string(id), std::move(found->message), std::move(found->fix)});
  if (!has_rules_for(target, job)) return all;
  for (Violation& own : target->rules(job, strategy)) all.push_back(std::move(own));
  return all;
}

bool breaks_a_rule(const Job& job, const Strategy& strategy, const Target* target) {
  return std::any_of(std::begin(kRules), std::end(kRules),
                     [&](const auto& rule) { return rule.find(job, strategy).has_value(); }) ||
         (has_rules_for(target, job) && !target->rules(job, strategy).empty());
}

std::vector<std::string_view> rule_ids() {
  std::vector<std::string_view> ids;
  for (const auto& rule : kRules) ids.push_back(rule.id);
  return ids;
}

std::vector<Violation> contradictions(const Job& job, const Target* target) {
  const auto broken_by = [&](const Strategy& s) { return rule_violations(job, s, target); };
  const auto keep_those_of = [](std::vector<Violation>& all, const std::vector<Violation>& kept) {
    std::erase_if(all, [&](const Violation& v) {
      return std::none_of(kept.begin(), kept.end(), [&](const Violation& k) { return k.rule == v.rule; });
    });
  };
  std::optional<Strategy> first;  // in canonical order
  std::vector<Violation> common;
  each_strategy(job, [&](const Strategy& s) {
    if (first) {
      keep_those_of(common, broken_by(s));
    } else {
      common = broken_by(s);
    }
    if (!first || s < *first) first = s;
    return !common.empty();
  });
  if (!first) common = broken_by(first.emplace(default_strategy(job)));  // the pins leave no strategy at all
  if (common.empty()) return {};
  const std::vector<Violation> rules = std::exchange(common, broken_by(*first));
  keep_those_of(common, rules);
  if (std::any_of(common.begin(), common.end(),
                  [](const Violation& v) { return v.rule == "not-modelled"; })) {
    return {};  // no mistake, and the other rules may not hold there
  }
  std::erase_if(common, [](const Violation& v) { return v.rule == "batch"; });
  return common;
}

bool times_steps_on(const topology::Instance& instance) {
  return instance.traits.step_time;
}

std::string why_untimed(const topology::Instance& instance) {
  const std::string what = "the step time of " + instance.name + " is not modelled";
  if (instance.untimed.empty()) return what + "; its replica groups and memory are judged";
  return what + ": " + instance.untimed;
}

std::optional<Violation> not_modelled(const Job& job, const Strategy& s) {
  const std::string reason = models::StepModel::not_modelled(job, s);
  if (reason.empty()) return std::nullopt;
  return Violation{"not-modelled", reason, "take another precision, strategy, model or type of machine"};
}

Violation beyond_the_clock() {
  return {"not-modelled", "a step takes longer than the simulation clock, 106 days",
          "lower the global batch or add nodes"};
}

std::string near_tensor_parallel(const Job& job, const Strategy& s, const std::function<bool(int)>& fits,
                                 const char* otherwise) {
  int below = 0, above = 0;
  const int cores = job.cluster.instance.cores();
  for (int t = 1; t <= cores; ++t) {
    if (cores % t != 0 || t == s.tensor_parallel || !fits(t)) continue;
    if (t < s.tensor_parallel) below = t;
    if (t > s.tensor_parallel && above == 0) above = t;
  }
  if (below == 0 && above == 0) return otherwise;
  if (below == 0 || above == 0) return fmt::format("tp={}", std::max(below, above));
  return fmt::format("tp={} or tp={}", below, above);
}

std::string replica_group_fix(const Job& job, const topology::ChipGraph& graph, const Strategy& s,
                              const topology::GroupVerdict& offending) {
  if (offending.rule == "no-efa") return "use one node, or an instance type with EFA devices";
  const auto near = supported_neighbours(job.cluster, graph, degrees_of(s), job.architecture.kv_heads);
  if (near.empty()) return "with this PP and CP no TP x DP is accepted here: choose another PP or CP";
  Strategy accepted = s;
  accepted.tensor_parallel = near.front().tensor;
  accepted.data_parallel = near.front().data;
  accepted.kv_replicator =
      near.front().tensor / std::max(1, std::min(job.architecture.kv_heads, near.front().tensor));
  accepted.sequence_parallel = job.pin.sequence_parallel.value_or(true);
  return strategy_grammar(job, models::canonical(accepted)) + " is accepted";
}

topology::PlacementVerdict placement_verdict(const Job& job, const Strategy& strategy,
                                             const topology::ChipGraph& graph) {
  return topology::judge_worst(job.cluster, graph, topology::RankOrder(job.cluster, degrees_of(strategy)),
                               strategy.kv_replicator);
}

std::vector<Violation> replica_group_violation(const topology::PlacementVerdict& verdict) {
  if (verdict.overall == topology::Verdict::supported) return {};
  const topology::GroupVerdict& group = *verdict.offending;
  constexpr std::size_t kRanksShown = 8;
  std::vector<int> shown = group.ranks;
  if (shown.size() > kRanksShown) shown.resize(kRanksShown);
  const std::string ranks =
      fmt::format("{}{}", fmt::join(shown, ", "), group.ranks.size() > kRanksShown ? ", ..." : "");
  Violation v;
  v.rule = "replica-group";
  v.doubtful = verdict.overall == topology::Verdict::doubtful;
  v.message =
      fmt::format("{} {} {{{}}}: {} ({})", kind_name(group.kind), group.ranks.size() == 2 ? "pair" : "group",
                  ranks, group.message, v.doubtful ? "the runtime may refuse it" : "the runtime refuses it");
  return {v};
}

std::vector<topology::Degrees> supported_neighbours(const topology::Cluster& cluster,
                                                    const topology::ChipGraph& graph,
                                                    topology::Degrees degrees, int kv_heads) {
  std::vector<topology::Degrees> found;
  const int ranks = degrees.tensor * degrees.data;
  for (int t = 1; t <= std::min(ranks, cluster.instance.cores()); ++t) {
    if (ranks % t != 0 || t == degrees.tensor) continue;
    const topology::Degrees d{t, degrees.context, ranks / t, degrees.pipeline};
    if (!topology::RankOrder::obstacle(cluster, d).empty()) continue;
    const int replicas = kv_heads > 0 ? std::max(1, t / kv_heads) : 1;
    if (t % replicas != 0) continue;
    if (topology::judge_worst(cluster, graph, topology::RankOrder(cluster, d), replicas).overall ==
        topology::Verdict::supported) {
      found.push_back(d);
    }
  }
  const auto distance = [&](const topology::Degrees& d) {
    return std::abs(std::log2(d.tensor) - std::log2(degrees.tensor));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return found;
}

}  // namespace trnplan::planner
