#include "io/output/plan_json.h"

#include <array>

#include "io/output/comparison_json.h"
#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "planner/plan/space.h"

namespace trnplan::io {

using planner::ClusterPlan;
using planner::Infeasible;
using planner::Outlook;
using planner::Plan;
using planner::RuleCount;
using planner::Sensitivity;
using planner::SpaceCounts;
using targets::Change;

namespace {

template <class T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

/// A refused strategy and its cluster.
struct ShownRefusal {
  const planner::Refusal* of;
  PlacedStrategy strategy;
};

std::vector<ShownRefusal> refusals(const std::vector<planner::Refusal>& list, models::Job job) {
  std::vector<ShownRefusal> all;
  for (const planner::Refusal& r : list) {
    job.training.global_batch = planner::batch_of(job, r.strategy);
    all.push_back({&r, placed(r.strategy, job)});
  }
  return all;
}

struct ShownInfeasible {
  const Infeasible* of;
  std::optional<PlacedStrategy> closest;
};

/// `winner` and `confidence` may be null.
struct ShownBaseline {
  const targets::Baseline* of;
  const Plan* winner;
  const planner::Confidence* confidence;

  [[nodiscard]] bool compares() const { return of->plan && of->runs() && winner != nullptr; }
};

/// Time by which the baseline exceeds the winner, per step of the winner's batch.
std::optional<models::CategorySeconds> seconds_saved(const ShownBaseline& b) {
  if (!b.compares()) return std::nullopt;
  const double scale = static_cast<double>(b.winner->global_batch) / b.of->plan->global_batch;
  models::CategorySeconds saved;
  for (std::size_t i = 0; i < saved.size(); ++i)
    saved[i] = b.of->plan->report.breakdown[i] * scale - b.winner->report.breakdown[i];
  return saved;
}

/// `outlook` may be null.
struct ShownRank {
  const Plan* plan;
  int rank;
  const Outlook* outlook;
  std::optional<int> twin;
  std::optional<double> first_is_better;
};

template <class Get>
auto of_outlook(Get get) {
  return [get](const ShownRank& r) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Outlook&>>;
    return r.outlook == nullptr ? std::optional<Value>() : std::optional<Value>(std::invoke(get, *r.outlook));
  };
}

const Plan& plan_of_rank(const ShownRank& r) {
  return *r.plan;
}
const Plan& plan_of_cluster(const ClusterPlan& c) {
  return c.plan;
}

/// The whole answer of `plan`.
struct ShownSearch {
  const planner::SearchResult& result;
  models::Job home;  ///< the job on the winner's cluster; without a winner on the first that was searched
  double seconds;
  const targets::Baseline* baseline;
  const planner::Confidence* confidence;
  const planner::ForecastRun* run;
  const std::vector<Outlook>& outlooks;
};

models::Job home_of(models::Job job, const std::vector<Plan>& plans) {
  const models::SearchSpace& free = job.space;
  const int nodes = !plans.empty()       ? plans.front().nodes
                    : free.nodes.empty() ? job.cluster.nodes
                                         : free.nodes[0];
  for (const topology::Instance& i : free.instances) {
    if (!plans.empty() && i.name == plans.front().instance) job.cluster.instance = i;
  }
  job.cluster.nodes = nodes;
  if (free.batch_per_node > 0) job.training.global_batch = free.batch_per_node * nodes;
  return job;
}

std::vector<ShownRank> ranks_of(const ShownSearch& s) {
  std::vector<ShownRank> all;
  const std::vector<Plan>& plans = s.result.plans;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    ShownRank r{&plans[i], static_cast<int>(i) + 1, i < s.outlooks.size() ? &s.outlooks[i] : nullptr, {}, {}};
    for (std::size_t k = 0; k < i && !r.twin; ++k) {
      if (planner::near_twins(plans[k], plans[i])) r.twin = static_cast<int>(k) + 1;
    }
    if (s.confidence != nullptr && i > 0) r.first_is_better = s.confidence->first_is_better[i - 1];
    all.push_back(r);
  }
  return all;
}

struct ShownSpace {
  SpaceCounts counts;
  double seconds;
};

const SpaceCounts& counts_of(const ShownSpace& s) {
  return s.counts;
}

}  // namespace

template <>
const Record<SpaceCounts>& record() {
  static const Record<SpaceCounts> described(
      "SpaceCounts", "The number of strategies; `enumerated` is the sum of the next four.",
      {{"enumerated", &SpaceCounts::enumerated},
       {"refused", &SpaceCounts::refused, "doubtful ones among them"},
       {"too_large", &SpaceCounts::too_large},
       {"bounded", &SpaceCounts::bounded, "their bound does not beat the best plans"},
       {"simulated", &SpaceCounts::simulated},
       {"inexpressible", &SpaceCounts::inexpressible,
        "also left out, because the target cannot express them"}});
  return described;
}

template <>
const Record<ShownSpace>& record() {
  static const Record<ShownSpace> described("Space", "The extent of the search.", &counts_of,
                                            {{"seconds", &ShownSpace::seconds, "wall time of the search"}});
  return described;
}

template <>
const Record<ShownRefusal>& record() {
  static const Record<ShownRefusal> described(
      "Refusal", "A near miss that was refused: its bound beats the best plan, or there is no plan.",
      {{"strategy", &ShownRefusal::strategy},
       {"rule", [](const ShownRefusal& r) { return r.of->why.rule; }},
       {"message", [](const ShownRefusal& r) { return r.of->why.message; }},
       {"fix", [](const ShownRefusal& r) { return r.of->why.fix; }},
       {"step_seconds_bound", [](const ShownRefusal& r) { return r.of->lower_bound; },
        "a time that it cannot beat; for rules other than `memory` the time of computing alone, with every "
        "collective free"},
       {"memory_bytes_per_core",
        [](const ShownRefusal& r) {
          return r.of->memory ? std::optional(worst_of(*r.of->memory)) : std::nullopt;
        },
        "with rule `memory`", Absent::left_out},
       {"chips",
        [](const ShownRefusal& r) { return r.of->chips.empty() ? std::nullopt : std::optional(r.of->chips); },
        "of the group, with rule `replica-group`", Absent::left_out}});
  return described;
}

template <>
const Record<Sensitivity>& record() {
  static const Record<Sensitivity> described(
      "Reasons", "What limits the recommended plan.",
      {{"binds", &Sensitivity::resource, "the part of the machine on which the step depends most"},
       {"elasticity", &Sensitivity::elasticity, "of the step with respect to it"},
       {"step_seconds_with_faster_kernels", &Sensitivity::with_faster_kernels,
        "tensor-engine efficiencies 10 % higher"},
       {"step_seconds_with_twice_the_nics",
        [](const Sensitivity& r) {
          const Seconds step = r.with_twice_the_nics;
          return step.value > 0 ? std::optional(step) : std::nullopt;
        },
        "`null` on one node"},
       {"with_one_more_gibibyte", &Sensitivity::with_more_memory,
        "the plan that would then be the best, if it is faster"}});
  return described;
}

template <>
const Record<ClusterPlan>& record() {
  static const Record<ClusterPlan> described(
      "ClusterPlan", "The best plan of one of several clusters.", &plan_of_cluster,
      {{"on_front", &ClusterPlan::on_front, "no other has fewer days, dollars and nodes"},
       {"within_limits", &ClusterPlan::within_limits,
        "it keeps the job's deadline and budget, without failures; if not, no plan of this cluster does"}});
  return described;
}

template <>
const Record<ShownBaseline>& record() {
  using B = ShownBaseline;
  static const Record<B> described(
      "Baseline", "What runs today, compared with the plan.",
      {{"strategy", [](const B& b) { return placed(b.of->strategy, b.of->job); },
        "of the config, on the cluster of the best plan"},
       {"violations", [](const B& b) { return b.of->broken; },
        "why it is refused or doubtful, and errors of `check`; empty when it is legal and fits"},
       {"runs", [](const B& b) { return b.of->runs(); },
        "nothing definite is broken: it fits and is accepted"},
       {"prediction", [](const B& b) { return b.of->plan; },
        "`null` if it has no program; for one that does not run, the step that it would take"},
       {"speedup",
        [](const B& b) {
          return b.compares() ? std::optional(targets::speedup(*b.winner, *b.of)) : std::nullopt;
        },
        "tokens per second of the best plan over its own; `null` without a prediction or a plan, and if "
        "`runs` is false"},
       {"seconds_saved", &seconds_saved,
        "by cause, for a step of the best plan's global batch: how much longer the baseline takes"},
       {"changes", [](const B& b) { return b.of->changes; },
        "keys of the YAML to change; keys whose change would not change the program are left out"},
       {"remarks", [](const B& b) { return b.of->remarks; }, "where it trains something other than the job"},
       {"probability_winner_is_faster",
        [](const B& b) { return b.confidence == nullptr ? std::nullopt : b.confidence->beats_baseline; },
        "that the best plan takes less time per token; `null` without a prediction or a plan"}});
  return described;
}

template <>
const Record<RuleCount>& record() {
  static const Record<RuleCount> described(
      "RuleCount", "The number of strategies that broke a rule first, with an example.",
      {{"rule", [](const RuleCount& r) { return r.why.rule; }},
       {"strategies", &RuleCount::strategies},
       {"message", [](const RuleCount& r) { return r.why.message; }},
       {"fix", [](const RuleCount& r) { return r.why.fix; }}});
  return described;
}

template <>
const Record<ShownInfeasible>& record() {
  using I = ShownInfeasible;
  static const Record<I> described(
      "Infeasible", "Why nothing was found, and what would help.",
      {{"nodes_that_would_do", [](const I& i) { return i.of->nodes_that_would_do; },
        "0: not even 1,875 are enough, or nodes are not the problem"},
       {"nodes_in_limits", [](const I& i) { return i.of->nodes_in_limits; },
        "fewest nodes whose run works and keeps the deadline with `probability_in_limits`, 80 % or more; 0: "
        "none "
        "was found; absent: no deadline or no tokens are stated",
        Absent::left_out},
       {"probability_in_limits",
        [](const I& i) {
          return i.of->nodes_in_limits.value_or(0) > 0 ? std::optional(i.of->probability_in_limits)
                                                       : std::nullopt;
        },
        "of `nodes_in_limits`", Absent::left_out},
       {"nearest_global_batch", [](const I& i) { return i.of->nearest_batch; }, "0: none helps"},
       {"rules", [](const I& i) { return i.of->rules; }, "the most frequent first; memory is not among them"},
       {"closest", &I::closest,
        "of the strategies that are legal or doubtful but too large, the one that lacks the least memory",
        Absent::left_out},
       {"memory_bytes_per_core",
        [](const I& i) { return i.of->closest ? std::optional(worst_of(*i.of->memory)) : std::nullopt; },
        "of `closest`", Absent::left_out},
       {"fastest", [](const I& i) { return pointer(i.of->too_slow); }, "if the deadline refuses all",
        Absent::left_out},
       {"cheapest", [](const I& i) { return pointer(i.of->too_expensive); }, "if the budget refuses all",
        Absent::left_out}});
  return described;
}

template <>
const Record<ShownRank>& record() {
  static const Record<ShownRank> described(
      "RankedPlan", "A plan of the ranking, with its distance from what is known to run.", &plan_of_rank,
      {{"rank", &ShownRank::rank, "from 1, the fastest; with objective cost the cheapest"},
       {"distance", of_outlook([](const Outlook& o) { return o.distance.value; }),
        "from the nearest known run of such a model"},
       {"nearest_run",
        [](const ShownRank& r) {
          return r.outlook == nullptr || r.outlook->nearest.empty() ? std::nullopt
                                                                    : std::optional(r.outlook->nearest);
        },
        "that run; `null` if none is known"},
       {"untested", of_outlook([](const Outlook& o) { return o.distance.untested; }),
        "what no known run of such a model has: \"micro-batch 2\", \"manual cuts\""},
       {"differs_from_nearest", of_outlook([](const Outlook& o) { return o.distance.differs; }),
        "what the nearest run does not have but another known run does"},
       {"fit_probability_at_distance", of_outlook(&Outlook::fits),
        "that it fits, with the doubt from that distance and what its own runs showed"},
       {"compile_probability_at_distance", of_outlook(&Outlook::compiles), "that it compiles, likewise"},
       {"run_probability", of_outlook(&Outlook::runs), "that it runs at all"},
       {"works_probability", of_outlook(&Outlook::works), "the product of these three"},
       {"expected_tokens_per_second", of_outlook(&Outlook::expected_tokens_per_second),
        "including the risk: if it does not work, the recommended plan replaces it"},
       {"near_twin_of", &ShownRank::twin,
        "rank of the plan whose near twin it is: the text shows both in one line", Absent::left_out},
       {"probability_first_is_better", &ShownRank::first_is_better,
        "that the plan of rank 1 takes less time per token or, with objective cost, fewer USD; `null` if a "
        "deadline puts it last for its nodes"}});
  return described;
}

template <>
const Record<ShownSearch>& record() {
  using S = ShownSearch;
  static const Record<S> described(
      "PlanResult", "What ``plan`` found.",
      {{"space",
        [](const S& s) {
          return ShownSpace{s.result.counts, s.seconds};
        }},
       {"proven", [](const S& s) { return s.result.complete; },
        "whether the best plan was proven to be the best"},
       {"gap",
        [](const S& s) {
          return s.result.complete || s.result.gap > 0 ? std::optional(s.result.gap) : std::nullopt;
        },
        "0.031: at most 3.1 % above the best that is possible, in what the objective counts; `null` if it "
        "was stopped before that was known (`--time-limit`, Ctrl-C)"},
       {"cut_short",
        [](const S& s) {
          return s.result.cut_short.empty() ? std::nullopt : std::optional(s.result.cut_short);
        },
        "what `--time-limit` left undone, a sentence each (also on standard error)", Absent::left_out},
       {"plans", &ranks_of,
        "at most `--top`, the fastest first (with objective cost the cheapest); one more if the recommended "
        "plan is not among them"},
       {"recommended",
        [](const S& s) {
          return s.result.plans.empty() ? std::nullopt : std::optional(s.result.recommended);
        },
        "index of the recommended plan in `plans`, from 0 (`--risk`; [models.md](models.md#recommendation)); "
        "`null` without "
        "plans. `--out` writes it, and `reasons`, `baseline` and `run` are about it"},
       {"layouts", [](const S& s) { return s.result.layouts; },
        "the best plan of each of up to six layouts (TP, PP, CP, DP), those with the best bounds; best "
        "first"},
       {"reasons", [](const S& s) { return s.result.sensitivity; },
        "of the recommended plan; left out if it is on another cluster than the fastest", Absent::left_out},
       {"clusters", [](const S& s) { return s.result.clusters; },
        "if the job leaves nodes or instance free: the plan that is recommended on each cluster alone, of "
        "any training loop; deadline and budget are not applied here"},
       {"comparison",
        [](const S& s) {
          const bool compared = s.confidence != nullptr && s.confidence->comparison;
          return compared ? std::optional(ShownComparison{&*s.confidence->comparison, s.confidence->sure})
                          : std::nullopt;
        },
        "left out if there is one plan, or if a deadline puts the runner-up last for its nodes",
        Absent::left_out},
       {"baseline",
        [](const S& s) {
          const Plan* winner = s.result.recommended_plan();
          return s.baseline == nullptr ? std::nullopt
                                       : std::optional(ShownBaseline{s.baseline, winner, s.confidence});
        },
        "with `--baseline`", Absent::left_out},
       {"run", &S::run,
        "if a deadline or budget is stated: the recommended plan's whole run with failures; if the limits "
        "refuse every plan, how far the nearest one gets within them",
        Absent::left_out},
       {"doubtful", [](const S& s) { return refusals(s.result.doubtful, s.home); },
        "by their replica groups; the fastest first"},
       {"refused", [](const S& s) { return refusals(s.result.refused, s.home); },
        "first those that break a rule, then those that are too large, the nearest miss first"},
       {"infeasible",
        [](const S& s) {
          if (!s.result.infeasible) return std::optional<ShownInfeasible>();
          std::optional<PlacedStrategy> closest;
          if (const auto& near = s.result.infeasible->closest) closest = placed(*near, s.home);
          return std::optional(ShownInfeasible{&*s.result.infeasible, closest});
        },
        "when `plans` is empty", Absent::left_out}});
  return described;
}

std::string search_json(const planner::SearchResult& result, const models::Job& job, double wall_seconds,
                        const targets::Baseline* baseline, const planner::Confidence* confidence,
                        const planner::ForecastRun* run, const std::vector<Outlook>& outlooks) {
  return document_of(
      ShownSearch{result, home_of(job, result.plans), wall_seconds, baseline, confidence, run, outlooks});
}

const Description& search_document() {
  return record<ShownSearch>().description();
}

}  // namespace trnplan::io
