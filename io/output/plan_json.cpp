#include "io/output/plan_json.h"

#include <array>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "planner/plan/space.h"

namespace trnplan::io {

using planner::ClusterPlan;
using planner::Experiment;
using planner::Infeasible;
using planner::Outlook;
using planner::Plan;
using planner::RuleCount;
using planner::Sensitivity;
using planner::SpaceCounts;
using planner::TableRequest;
using targets::Change;
using targets::Finding;

namespace {

template <class T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

std::optional<double> above_zero(double x) {
  return x > 0 ? std::optional(x) : std::nullopt;
}

/// A strategy that was refused, on the cluster that it was refused on.
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

/// What short runs measure, and when the second plan is the better guess by it.
struct Decision {
  std::string_view measured, is;
  double value;
};

Decision decision_of(const Experiment& m) {
  const bool first = m.runs_of_first > 0, both = first && m.runs_of_second > 0;
  return {both    ? "second_over_first"
          : first ? "first_step_seconds"
                  : "second_step_seconds",
          m.above ? "above" : "below", m.threshold};
}

/// What holds of runs alone, not of tables.
template <class Get>
auto of_runs(Get get) {
  return [get](const Experiment& m) {
    const auto value = std::invoke(get, m);
    return m.tables.empty() ? std::optional(value) : std::nullopt;
  };
}

std::string command_of(const TableRequest& t) {
  std::string command;
  for (const std::string& word : planner::nccom_command(t)) command += (command.empty() ? "" : " ") + word;
  return command;
}

struct ShownComparison {
  const planner::Comparison* of;
  double sure;
};

/// `winner` and `confidence` may be null.
struct ShownBaseline {
  const targets::Baseline* of;
  const Plan* winner;
  const planner::Confidence* confidence;

  [[nodiscard]] bool compares() const { return of->plan && of->runs() && winner != nullptr; }
};

/// What the baseline takes more than the winner, a step of the winner's batch.
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

/// All that `plan` answers.
struct ShownSearch {
  const planner::SearchResult& result;
  models::Job home;  ///< the job on the winner's cluster; without a winner on the first that was looked at
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

/// `simulate` of a strategy that has a program.
struct ShownSimulation {
  const Plan& plan;
  const std::vector<planner::Violation>& broken;
};

const Plan& plan_of_simulation(const ShownSimulation& s) {
  return s.plan;
}

struct ShownCheck {
  const std::string& verdict;
  const std::vector<Finding>& findings;
  const Plan* prediction;
  const std::string& no_prediction;
  const std::vector<NearestJson>& nearest;
};

}  // namespace

template <>
const Record<SpaceCounts>& record() {
  static const Record<SpaceCounts> described(
      "SpaceCounts", "How many strategies there were; `enumerated` is the sum of the next four.",
      {{"enumerated", &SpaceCounts::enumerated},
       {"refused", &SpaceCounts::refused, "doubtful ones among them"},
       {"too_large", &SpaceCounts::too_large},
       {"bounded", &SpaceCounts::bounded, "their bound does not beat the best plans"},
       {"simulated", &SpaceCounts::simulated},
       {"inexpressible", &SpaceCounts::inexpressible,
        "left out besides, because the target cannot say them"}});
  return described;
}

template <>
const Record<ShownSpace>& record() {
  static const Record<ShownSpace> described("Space", "What was searched.", &counts_of,
                                            {{"seconds", &ShownSpace::seconds, "wall time of the search"}});
  return described;
}

template <>
const Record<ShownRefusal>& record() {
  static const Record<ShownRefusal> described(
      "Refusal", "A tempting strategy that was refused: its bound beats the winner, or there is no winner.",
      {{"strategy", &ShownRefusal::strategy},
       {"rule", [](const ShownRefusal& r) { return r.of->why.rule; }},
       {"message", [](const ShownRefusal& r) { return r.of->why.message; }},
       {"fix", [](const ShownRefusal& r) { return r.of->why.fix; }},
       {"step_seconds_bound", [](const ShownRefusal& r) { return r.of->lower_bound; },
        "a time that it would not beat; for rules other than `memory` of computing alone, every collective "
        "free"},
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
      "Reasons", "What holds the recommended plan back.",
      {{"binds", &Sensitivity::resource, "the part of the machine that the step depends on most"},
       {"elasticity", &Sensitivity::elasticity, "of the step to it"},
       {"step_seconds_with_faster_kernels", &Sensitivity::with_faster_kernels,
        "tensor-engine efficiencies 10 % higher"},
       {"step_seconds_with_twice_the_nics",
        [](const Sensitivity& r) { return above_zero(r.with_twice_the_nics.value); }, "`null` on one node"},
       {"with_one_more_gibibyte", &Sensitivity::with_more_memory,
        "the plan that would win, where it is faster"}});
  return described;
}

template <>
const Record<ClusterPlan>& record() {
  static const Record<ClusterPlan> described(
      "ClusterPlan", "The best plan of one of several clusters.", &plan_of_cluster,
      {{"on_front", &ClusterPlan::on_front, "no other has fewer days, dollars and nodes"}});
  return described;
}

template <>
const Record<TableRequest>& record() {
  static const Record<TableRequest> described(
      "TableRequest", "A table of nccom-test.",
      {{"operation", &TableRequest::op},
       {"ranks", &TableRequest::ranks},
       {"nodes", &TableRequest::nodes},
       {"smallest_bytes", [](const TableRequest& t) { return whole_bytes(Bytes(t.smallest)); }},
       {"largest_bytes", [](const TableRequest& t) { return whole_bytes(Bytes(t.largest)); }},
       {"command", &command_of, "to which two nodes add `--hosts`"}});
  return described;
}

template <>
const Record<Decision>& record() {
  static const Record<Decision> described(
      "Decision", "When the second plan is the better choice.",
      {{"measured", &Decision::measured,
        "`second_over_first`, the ratio of the mean steps; `first_step_seconds`; `second_step_seconds`"},
       {"is", &Decision::is, "`above` or `below`"},
       {"value", &Decision::value}});
  return described;
}

template <>
const Record<Experiment>& record() {
  static const Record<Experiment> described(
      "Measurement", "What to measure to tell two plans apart.",
      {{"kind", [](const Experiment& m) { return m.tables.empty() ? "run" : "nccom-test"; },
        "`run`: short runs of the plans; `nccom-test`: tables of it"},
       {"probability_after", &Experiment::probability,
        "expected, before it is made, that the plan chosen after it is the better one"},
       {"expected_gain", &Experiment::gain,
        "of choosing after it instead of now, on average: share of the step"},
       {"expected_gain_usd", [](const Experiment& m) { return above_zero(m.gain_usd); },
        "that share of `run_usd`; `null` without tokens or price"},
       {"expected_gain_node_hours", &Experiment::gain_node_hours,
        "that share of the run; without tokens of a week"},
       {"node_hours", &Experiment::node_hours, "what it takes: compiling, starting and the steps"},
       {"usd", [](const Experiment& m) { return above_zero(m.usd); },
        "at the on-demand price; `null`: none is known"},
       {"tables",
        [](const Experiment& m) { return m.tables.empty() ? std::nullopt : std::optional(m.tables); },
        "with `nccom-test`", Absent::left_out},
       {"runs_of_first", of_runs(&Experiment::runs_of_first), "with `run`: how often the plan runs",
        Absent::left_out},
       {"runs_of_second", of_runs(&Experiment::runs_of_second), "likewise", Absent::left_out},
       {"steps_of_a_run", of_runs([](const Experiment&) { return planner::kShortRunSteps; }), "",
        Absent::left_out},
       {"second_is_better_when", of_runs(&decision_of), "with `run`", Absent::left_out}});
  return described;
}

template <>
const Record<ShownComparison>& record() {
  using C = ShownComparison;
  static const Record<C> described(
      "Comparison", "The recommended plan and its rival, by their ranks.",
      {{"first", [](const C& c) { return c.of->first + 1; }, "the recommended plan"},
       {"second", [](const C& c) { return c.of->second + 1; },
        "its rival: the fastest, or where that is recommended the next that is no near twin"},
       {"probability_first_is_better", [](const C& c) { return c.of->probability; }},
       {"sure", &C::sure, "`--sure`"},
       {"told_apart", [](const C& c) { return c.of->told_apart; },
        "the ranking of the two is at least as sure"},
       {"equal", [](const C& c) { return c.of->equal; },
        "the model sees one and the same step; no measurement is named"},
       {"measurement", [](const C& c) { return c.of->best; },
        "of those that pay the cheapest that brings `probability_after` to `sure`, else the cheapest of "
        "those that come within 0.01 "
        "of the most; `null` when told apart or equal, or when nothing tells more"},
       {"measurement_decides", [](const C& c) { return c.of->decides; },
        "it brings `probability_after` to `sure`"},
       {"measurement_pays", [](const C& c) { return c.of->pays; },
        "some measurement gains more node-hours over the run than it takes; a run without tokens counts as a "
        "week"},
       {"considered", [](const C& c) { return c.of->considered; },
        "all measurements that tell anything, the cheapest first"}});
  return described;
}

template <>
const Record<Change>& record() {
  static const Record<Change> described(
      "Change", "A key of a config, what stands there and what is to.",
      {{"key", &Change::key},
       {"from", &Change::from, "as the file writes it; `null` where the key is absent"},
       {"to", &Change::to},
       {"line", [](const Change& c) { return c.at.line; }, "0: the key is not there"},
       {"column", [](const Change& c) { return c.at.column; }}});
  return described;
}

template <>
const Record<ShownBaseline>& record() {
  using B = ShownBaseline;
  static const Record<B> described(
      "Baseline", "What runs today, beside the plan.",
      {{"strategy", [](const B& b) { return placed(b.of->strategy, b.of->job); },
        "of the config, on the winner's cluster"},
       {"violations", [](const B& b) { return b.of->broken; },
        "why it is refused or doubtful, and errors of `check`; empty when it is legal and fits"},
       {"runs", [](const B& b) { return b.of->runs(); },
        "nothing is broken for certain: it fits and is accepted"},
       {"prediction", [](const B& b) { return b.of->plan; },
        "`null` when it has no program; of one that does not run what it would take if it did"},
       {"speedup",
        [](const B& b) {
          return b.compares() ? std::optional(targets::speedup(*b.winner, *b.of)) : std::nullopt;
        },
        "tokens per second of the winner over its own; `null` without prediction or winner, and where `runs` "
        "is false"},
       {"seconds_saved", &seconds_saved,
        "by cause, a step of the winner's global batch: what the baseline takes more"},
       {"changes", [](const B& b) { return b.of->changes; },
        "keys of the YAML to change; those whose change would leave the program as it is are left out"},
       {"remarks", [](const B& b) { return b.of->remarks; }, "where it trains something else than the job"},
       {"probability_winner_is_faster",
        [](const B& b) { return b.confidence == nullptr ? std::nullopt : b.confidence->beats_baseline; },
        "that the winner takes less time a token; `null` without prediction or winner"}});
  return described;
}

template <>
const Record<RuleCount>& record() {
  static const Record<RuleCount> described("RuleCount",
                                           "How many strategies broke a rule first, with one as an example.",
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
        "0: none up to 1,875, or nodes are not the problem"},
       {"nearest_global_batch", [](const I& i) { return i.of->nearest_batch; }, "0: no help"},
       {"rules", [](const I& i) { return i.of->rules; }, "the most frequent first; memory is not among them"},
       {"closest", &I::closest, "of what is legal or doubtful and too large the strategy that lacks least",
        Absent::left_out},
       {"memory_bytes_per_core",
        [](const I& i) { return i.of->closest ? std::optional(worst_of(*i.of->memory)) : std::nullopt; },
        "of `closest`", Absent::left_out},
       {"fastest", [](const I& i) { return pointer(i.of->too_slow); }, "where the deadline refuses all",
        Absent::left_out},
       {"cheapest", [](const I& i) { return pointer(i.of->too_expensive); }, "where the budget refuses all",
        Absent::left_out}});
  return described;
}

template <>
const Record<ShownRank>& record() {
  static const Record<ShownRank> described(
      "RankedPlan", "A plan of the ranking, with how near it is to what is known to run.", &plan_of_rank,
      {{"rank", &ShownRank::rank, "from 1, the fastest; with objective cost the cheapest"},
       {"distance", of_outlook([](const Outlook& o) { return o.distance.value; }),
        "from the nearest known run of such a model"},
       {"nearest_run",
        [](const ShownRank& r) {
          return r.outlook == nullptr || r.outlook->nearest.empty() ? std::nullopt
                                                                    : std::optional(r.outlook->nearest);
        },
        "which that is; `null`: none is known"},
       {"untested", of_outlook([](const Outlook& o) { return o.distance.untested; }),
        "what no known run of such a model has: \"micro-batch 2\", \"manual cuts\""},
       {"differs_from_nearest", of_outlook([](const Outlook& o) { return o.distance.differs; }),
        "what the nearest run has not, and another known run has"},
       {"fit_probability_at_distance", of_outlook(&Outlook::fits),
        "that it fits, with the further doubt of that distance"},
       {"compile_probability_at_distance", of_outlook(&Outlook::compiles), "that it compiles, likewise"},
       {"run_probability", of_outlook(&Outlook::runs), "that it runs at all"},
       {"works_probability", of_outlook(&Outlook::works), "the product of these three"},
       {"expected_tokens_per_second", of_outlook(&Outlook::expected_tokens_per_second),
        "after the risk, with the recommended plan in its place where it does not work"},
       {"near_twin_of", &ShownRank::twin,
        "rank of the plan of which it is a near twin: the text shows both as one line", Absent::left_out},
       {"probability_first_is_better", &ShownRank::first_is_better,
        "that the plan of rank 1 takes less time a token or, with objective cost, fewer USD; `null` where a "
        "deadline puts it last for "
        "its nodes"}});
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
        "whether the winner was proven to be the best"},
       {"gap",
        [](const S& s) {
          return s.result.complete || s.result.gap > 0 ? std::optional(s.result.gap) : std::nullopt;
        },
        "0.031: at most 3.1 % above the best there can be, in what the objective counts; `null` when it was "
        "stopped before "
        "that could be said (`--time-limit`, Ctrl-C)"},
       {"cut_short",
        [](const S& s) {
          return s.result.cut_short.empty() ? std::nullopt : std::optional(s.result.cut_short);
        },
        "what `--time-limit` left undone, a sentence each (also on standard error)", Absent::left_out},
       {"plans", &ranks_of,
        "at most `--top`, the fastest first (with objective cost the cheapest); one more where the "
        "recommended plan is not among them"},
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
        "of the recommended plan; left out where it is on another cluster than the fastest",
        Absent::left_out},
       {"clusters", [](const S& s) { return s.result.clusters; },
        "where the job leaves nodes or instance free; deadline and budget are not applied here"},
       {"comparison",
        [](const S& s) {
          const bool compared = s.confidence != nullptr && s.confidence->comparison;
          return compared ? std::optional(ShownComparison{&*s.confidence->comparison, s.confidence->sure})
                          : std::nullopt;
        },
        "left out where there is one plan, or where a deadline puts the rival last for its nodes",
        Absent::left_out},
       {"baseline",
        [](const S& s) {
          const Plan* winner = s.result.plans.empty() ? nullptr : &s.result.plans.front();
          return s.baseline == nullptr ? std::nullopt
                                       : std::optional(ShownBaseline{s.baseline, winner, s.confidence});
        },
        "with `--baseline`", Absent::left_out},
       {"run", &S::run,
        "where deadline or budget is stated: the recommended plan's whole run with failures; where the "
        "limits refuse "
        "every plan, what they let the nearest one reach",
        Absent::left_out},
       {"doubtful", [](const S& s) { return refusals(s.result.doubtful, s.home); },
        "by their replica groups; the fastest first"},
       {"refused", [](const S& s) { return refusals(s.result.refused, s.home); },
        "those that break a rule first, then those that are too large, the nearest miss first"},
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

template <>
const Record<ShownSimulation>& record() {
  static const Record<ShownSimulation> described(
      "Simulation", "One plan, with the rules that it breaks.", &plan_of_simulation,
      {{"violations",
        [](const ShownSimulation& s) { return s.broken.empty() ? std::nullopt : std::optional(s.broken); },
        "doubts included", Absent::left_out}});
  return described;
}

template <>
const Record<Finding>& record() {
  static const Record<Finding> described(
      "Finding", "What the linter says of a config.",
      {{"rule", &Finding::rule, "a word of [rules.md](rules.md)"},
       {"severity", &Finding::severity, "`error`, `warning` or `note`"},
       {"key", &Finding::key, "as the file calls it; empty for the whole file"},
       {"line", [](const Finding& f) { return f.at.line; }, "0 without a place"},
       {"column", [](const Finding& f) { return f.at.column; }},
       {"message", &Finding::message},
       {"fix", &Finding::fix},
       {"source", &Finding::source, "repository and path of the rule"}});
  return described;
}

template <>
const Record<NearestJson>& record() {
  using N = NearestJson;
  static const Record<N> described(
      "NearConfig", "A config near to a refused one that is accepted and fits.",
      {{"keys", [](const N& n) { return n.config.changes.size(); }, "how many change"},
       {"changes", [](const N& n) { return n.config.changes; }},
       {"diff", &N::diff, "of the file; empty where it cannot be told"},
       {"warnings", [](const N& n) { return n.config.warnings; }, "that the file did not have before"},
       {"fit_probability", [](const N& n) { return n.config.fit_probability; }},
       {"works_probability", [](const N& n) { return n.config.plan.works; }},
       {"plan", [](const N& n) { return n.config.plan; }}});
  return described;
}

template <>
const Record<ShownCheck>& record() {
  using C = ShownCheck;
  static const Record<C> described(
      "CheckResult", "The verdict on a config.",
      {{"verdict", [](const C& c) { return c.verdict; },
        "`refused` with any error, `warn` with any warning, else `ok`"},
       {"findings", [](const C& c) { return c.findings; },
        "errors, then warnings, then notes. Without `--instance`, a note `instance` says which type is "
        "assumed"},
       {"prediction", &C::prediction,
        "`null` when the strategy cannot be simulated or the config needs what is not modelled"},
       {"no_prediction",
        [](const C& c) { return c.no_prediction.empty() ? std::nullopt : std::optional(c.no_prediction); },
        "why there is none"},
       {"nearest", [](const C& c) { return c.nearest; },
        "where the strategy is refused: configs of the same cluster, batch, sequence and precision that are "
        "accepted and fit, at "
        "most three, those without a new warning first, then fewest keys, then the faster"}});
  return described;
}

std::string search_json(const planner::SearchResult& result, const models::Job& job, double wall_seconds,
                        const targets::Baseline* baseline, const planner::Confidence* confidence,
                        const planner::ForecastRun* run, const std::vector<Outlook>& outlooks) {
  return document_of(
      ShownSearch{result, home_of(job, result.plans), wall_seconds, baseline, confidence, run, outlooks});
}

std::string plan_json(const Plan& plan, const std::vector<planner::Violation>& broken) {
  return document_of(ShownSimulation{plan, broken});
}

std::string refusal_json(const std::vector<planner::Violation>& broken) {
  Json j = document();
  j["violations"] = Shown<std::vector<planner::Violation>>::json(broken);
  return dumped(j);
}

std::string check_json(const std::string& verdict, const std::vector<Finding>& findings,
                       const Plan* prediction, const std::vector<NearestJson>& nearest,
                       const std::string& no_prediction) {
  return document_of(ShownCheck{verdict, findings, prediction, no_prediction, nearest});
}

const Description& search_document() {
  return record<ShownSearch>().description();
}

const Description& simulation_document() {
  return record<ShownSimulation>().description();
}

const Description& check_document() {
  return record<ShownCheck>().description();
}

}  // namespace trnplan::io
