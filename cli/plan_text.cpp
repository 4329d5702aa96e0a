#include "cli/plan_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "cli/text.h"
#include "units/diagnostic.h"

namespace trnplan::cli {

using models::Resource;
using models::Strategy;
using planner::Plan;

namespace {

constexpr std::size_t kRefusedShown = 6, kDoubtfulShown = 2;
constexpr int kMostOfOneRule = 3;
constexpr double kNearMiss = 1.25;  ///< peak over limit up to which a refusal shows its parts
constexpr double kDay = 86400;

double usd_of(const Plan& p) {
  return p.usd_per_hour * p.run.value / 3600;
}

/// True when no setting of the layout would help.
bool is_far(const planner::Refusal& r) {
  return r.memory && r.memory->worst().peak() > kNearMiss * r.memory->limit;
}

/// How far a refusal is from what people try first: plain strategies that nearly work.
int distance_from_plain(const planner::Refusal& r) {
  constexpr int kFar = 3;  // as far as three settings few people touch
  const Strategy& s = r.strategy;
  return kFar * is_far(r) + (s.pipeline_parallel > 1) + (s.context_parallel > 1) + (s.virtual_pipeline > 1) +
         (s.expert_parallel > 1) + s.recompute.rms_norm + s.recompute.activation_multiply + !s.zero1;
}

std::string refusal_text(const planner::Refusal& r) {
  const std::string start = fmt::format("  {}\n    at least {} s; {}: ", describe(r.strategy),
                                        seconds_text(r.lower_bound), r.why.rule);
  if (is_far(r)) {  // no need for the parts
    return fmt::format("{}needs {:.1f} of {:.1f} GiB a core\n", start, in_gibibytes(r.memory->worst().peak()),
                       in_gibibytes(r.memory->limit));
  }
  return start + r.why.message + "\n" + (r.why.fix.empty() ? "" : fmt::format("    fix: {}\n", r.why.fix));
}

/// Those nearest to what people try, one of each layout and rule; how many others there are.
std::string refusals(const std::vector<planner::Refusal>& list, std::size_t most, const char* heading) {
  if (list.empty()) return "";
  std::vector<const planner::Refusal*> order;
  for (const planner::Refusal& r : list) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tuple(distance_from_plain(*a), a->lower_bound) <
           std::tuple(distance_from_plain(*b), b->lower_bound);
  });
  std::string text = fmt::format("\n{}\n", heading);
  std::set<std::tuple<int, int, int, int, std::string>> told;
  std::map<std::string, int> of_rule;
  for (const planner::Refusal* r : order) {
    const Strategy& s = r->strategy;
    if (told.size() >= most || of_rule[r->why.rule] >= kMostOfOneRule) continue;
    const bool fresh =
        told.emplace(s.tensor_parallel, s.pipeline_parallel, s.data_parallel, s.context_parallel, r->why.rule)
            .second;
    if (!fresh) continue;
    ++of_rule[r->why.rule];
    text += refusal_text(*r);
  }
  if (list.size() > told.size())
    text += fmt::format("  ... and {} more (--format json lists all)\n", list.size() - told.size());
  return text;
}

const char* words_for(Resource r) {
  switch (r) {
    case Resource::tensor:
      return "the tensor engine";
    case Resource::vector:
      return "the vector engines";
    case Resource::hbm:
      return "memory bandwidth (HBM)";
    case Resource::dma:
      return "the DMA engines";
    case Resource::link:
      return "the links between chips";
    case Resource::efa:
      return "the network between nodes";
    case Resource::latency:
      return "the latency of collectives";
    case Resource::launch:
      return "launches of graphs";
    case Resource::count:
      break;
  }
  return "nothing in particular";
}

std::string less(Seconds now, Seconds then) {
  const double saved = now.value - then.value;
  if (saved < 5e-4 * now.value) return "no faster";
  return fmt::format("{} s, {} less", seconds_text(then), seconds_text(Seconds(saved)));
}

std::string reasons_text(const Plan& winner, const planner::Reasons& why) {
  const bool length = why.resource == Resource::latency || why.resource == Resource::launch;
  std::string text = "What holds it back\n";
  text += fmt::format("  binds       {}: 1 % {} and the step is {:.2f} % shorter, to first order\n",
                      words_for(why.resource), length ? "less of it" : "faster", std::abs(why.elasticity));
  text += fmt::format("  kernels     10 % more efficient: {}\n",
                      less(winner.report.step, why.with_faster_kernels));
  if (why.with_twice_the_nics.value > 0)
    text +=
        fmt::format("  NICs        twice as many: {}\n", less(winner.report.step, why.with_twice_the_nics));
  if (!why.with_more_memory) return text + "  memory      1 GiB more a core: no faster\n";
  return text + fmt::format("  memory      1 GiB more a core: {} with {}\n",
                            less(winner.report.step, why.with_more_memory->report.step),
                            describe(why.with_more_memory->strategy));
}

std::string clusters_text(const std::vector<planner::ClusterPlan>& clusters) {
  if (clusters.empty()) return "";
  const bool run = clusters.front().plan.run.value > 0;
  std::string text = fmt::format("\nBest of each cluster (p: no other is as fast, as cheap and as small)\n");
  text +=
      fmt::format("  {:<1} {:>5} {:<16} {:>6} {:>9} {:>10} {:>9} {:>11}  {}\n", "", "nodes", "instance",
                  "batch", "step s", "tokens/s", run ? "days" : "", run ? "USD" : "USD/1e9 tok", "strategy");
  for (const planner::ClusterPlan& c : clusters) {
    const Plan& p = c.plan;
    const double per_token = p.usd_per_hour / 3600 / p.report.tokens_per_second;
    text +=
        fmt::format("  {:<1} {:>5} {:<16} {:>6} {:>9} {:>10.0f} {:>9} {:>11.0f}  {}\n", c.on_front ? "p" : "",
                    p.nodes, printable(p.instance), p.global_batch, seconds_text(p.report.step),
                    p.report.tokens_per_second, run ? fmt::format("{:.1f}", p.run.value / kDay) : "",
                    run ? usd_of(p) : per_token * 1e9, describe(p.strategy));
  }
  return text;
}

std::string limits_text(const models::Job& job, const planner::Infeasible& why) {
  std::string text;
  const auto cluster = [](const Plan& p) {
    return fmt::format("{} x {}, {}", p.nodes, printable(p.instance), describe(p.strategy));
  };
  if (why.too_slow) {
    text += fmt::format("  too slow: the fastest takes {:.1f} days, the deadline is {:.1f}\n    {}\n",
                        why.too_slow->run.value / kDay, job.deadline.value / kDay, cluster(*why.too_slow));
    text += "    fix: more nodes (cluster.nodes), fewer tokens, or a later deadline\n";
  }
  if (why.too_expensive) {
    text += fmt::format("  too expensive: the cheapest costs {:.0f} USD, the budget is {:.0f}\n    {}\n",
                        usd_of(*why.too_expensive), job.budget, cluster(*why.too_expensive));
    text += "    fix: fewer tokens, or a larger budget\n";
  }
  return text;
}

std::string infeasible_text(const models::Job& job, const planner::Infeasible& why) {
  if (why.too_slow || why.too_expensive) return "No plan keeps the limits.\n" + limits_text(job, why);
  std::string text = "No strategy is legal and fits.\n";
  for (const planner::RuleCount& r : why.rules) {
    text += fmt::format("  {} strategies break {}; for example {}: {}\n", r.strategies, r.why.rule,
                        describe(r.example), r.why.message);
    if (!r.why.fix.empty()) text += fmt::format("    fix: {}\n", r.why.fix);
  }
  if (why.closest) {
    const models::StageMemory& worst = why.memory->worst();
    const Bytes excess = worst.peak() - why.memory->limit;
    text += fmt::format("  closest: {}: {} (stage {})\n", describe(*why.closest),
                        excess.value > 0 ? fmt::format("{:.2f} GiB a core too much", in_gibibytes(excess))
                                         : "fits, but not surely enough (--fit-probability)",
                        worst.stage);
    text += memory_table(*why.memory);
    text +=
        why.nodes_that_would_do > 0
            ? fmt::format("  {} nodes of {} would do\n", why.nodes_that_would_do, job.cluster.instance.name)
            : fmt::format("  no cluster of up to 1,875 nodes of {} would do\n", job.cluster.instance.name);
  }
  if (why.nearest_batch > 0) {
    text += fmt::format("  with global batch {} none is legal and fits; the nearest that has one is {}\n",
                        job.training.global_batch, why.nearest_batch);
  }
  return text;
}

std::string changes_text(const planner::Baseline& b) {
  if (!b.no_changes.empty()) return fmt::format("  what to change cannot be told: {}\n", b.no_changes);
  if (b.changes.empty()) return "  nothing to change\n";
  std::size_t width = 0;
  for (const planner::Change& c : b.changes) width = std::max(width, c.key.size());
  std::string text = "  to change\n";
  for (const planner::Change& c : b.changes) {
    text += fmt::format("    {:<{}}  {} -> {}{}\n", c.key, width, printable(c.from), c.to,
                        c.at.line > 0 ? fmt::format("  (line {})", c.at.line) : "  (not there yet)");
  }
  return text;
}

/// The baseline as if its step had as many sequences as the winner's.
Plan scaled(Plan p, int global_batch) {
  const double factor = static_cast<double>(global_batch) / p.global_batch;
  p.report.step = Seconds(p.report.step.value * factor);
  for (Seconds& s : p.report.breakdown) s = Seconds(s.value * factor);
  return p;
}

std::string baseline_text(const planner::Baseline& b, const std::string& file, const Plan* winner,
                          const std::optional<double>& probability) {
  std::string text =
      fmt::format("\nToday, by {}: {}, on {} x {}\n", printable(file, 400), describe(b.strategy),
                  b.job.cluster.nodes, printable(b.job.cluster.instance.name));
  for (const planner::Violation& v : b.broken) {
    text +=
        fmt::format("  {}: {}: {}\n", v.doubtful ? "doubtful" : "refused", v.rule, printable(v.message, 600));
    if (!v.fix.empty()) text += fmt::format("    fix: {}\n", printable(v.fix, 400));
  }
  if (b.plan) {
    text += fmt::format("  step        {} s, 90 % between {} and {} s; {:.0f} tokens/s\n",
                        seconds_text(b.plan->report.step), seconds_text(b.plan->report.low),
                        seconds_text(b.plan->report.high), b.plan->report.tokens_per_second);
  } else {
    text += "  no step time: it has no program to predict\n";
  }
  if (winner == nullptr) return text;
  if (b.plan) {
    text += fmt::format(
        "  the winner is {:.2f} times as fast{}\n", planner::speedup(*winner, b),
        probability ? fmt::format("; faster at all with {}", probability_text(*probability)) : "");
    text += comparison(*winner, scaled(*b.plan, winner->global_batch));
  }
  return text + changes_text(b);
}

std::string proof_text(const planner::SearchResult& r) {
  if (r.complete) return "";
  if (r.plans.empty()) return "Stopped before any plan was found; more time would tell.\n";
  if (r.gap <= 0) return "Stopped before the winner was proven.\n";
  return fmt::format("Stopped before the winner was proven: at most {:.1f} % above the best there can be.\n",
                     100 * r.gap);
}

bool several_clusters(const models::Job& job) {
  return job.freedom.nodes.size() > 1 || job.freedom.instances.size() > 1;
}

std::string winner_text(const models::Job& job, const planner::SearchResult& result) {
  const Plan& winner = result.plans.front();
  std::string where;
  if (several_clusters(job)) where += fmt::format(", on {} x {}", winner.nodes, printable(winner.instance));
  if (job.freedom.largest_batch > 0) where += fmt::format(", global batch {}", winner.global_batch);
  if (job.freedom.precision) where += fmt::format(", {}", to_string(winner.strategy.precision));
  std::string text = fmt::format("\nWinner: {}{}\n", describe(winner.strategy), where) + plan_details(winner);
  for (std::size_t i = 1; i < result.layouts.size() && i < 3; ++i)
    text += comparison(winner, scaled(result.layouts[i], winner.global_batch));
  if (result.reasons) text += reasons_text(winner, *result.reasons);
  return text;
}

std::string measurement_name(const planner::Measurement& m) {
  if (m.tables.size() == 1) {
    const planner::TableRequest& t = m.tables.front();
    return fmt::format("nccom-test {} of {} ranks on {}", to_string(t.op), t.ranks,
                       t.nodes == 1 ? "one node" : "two nodes");
  }
  if (!m.tables.empty()) return fmt::format("{} nccom-test tables", m.tables.size());
  const int runs = std::max(m.runs_of_first, m.runs_of_second);
  return fmt::format("{} of {} ({} steps)", runs == 1 ? "a short run" : fmt::format("{} short runs", runs),
                     m.runs_of_second == 0  ? "1"
                     : m.runs_of_first == 0 ? "2"
                                            : "each",
                     planner::kShortRunSteps);
}

/// Whether the first two are told apart, and what would do so.
std::string certainty_text(const models::Job& job, const planner::Certainty& certainty,
                           const std::string& script) {
  if (!certainty.comparison) return "";
  const planner::Comparison& c = *certainty.comparison;
  if (c.told_apart) return "";
  if (c.equal) return "1 and 2 are one and the same to the model: no measurement would pay.\n";
  const char* better = job.objective == models::Objective::cost ? "cheaper" : "faster";
  std::string text =
      fmt::format("1 and 2 cannot be told apart: 1 is {} with a probability of {} (--sure asks for {})\n",
                  better, probability_text(c.probability), probability_text(certainty.sure));
  if (!c.best) return text + "  measure     nothing considered would tell more\n";
  const planner::Measurement& m = *c.best;
  text += fmt::format("  measure     {}: {:.1f} node-hours{}; script: {}\n", measurement_name(m),
                      m.node_hours, m.usd > 0 ? fmt::format(", {:.0f} USD", m.usd) : std::string(),
                      script.empty() ? "--out DIR" : printable(script, 400));
  text += fmt::format(
      "              after it the choice is right with {}{}, and the step {:.1f} % shorter on average{}\n",
      probability_text(m.probability), c.decides ? "" : "; nothing considered brings much more", 100 * m.gain,
      m.gain_usd <= 0      ? ""
      : m.gain_usd < m.usd ? ": less than it costs over the whole run"
                           : fmt::format(": {:.0f} USD over the whole run", m.gain_usd));
  return text;
}

}  // namespace

std::string search_text(const models::Job& job, const planner::SearchResult& result,
                        const planner::Certainty& certainty, const planner::Baseline* baseline,
                        const std::string& baseline_file, const std::string& script) {
  const bool found = !result.plans.empty();
  std::string text = job_line(job) + proof_text(result);
  if (found) {
    text += "\n" + plan_table(result.plans, certainty.first_is_better) +
            certainty_text(job, certainty, script) + winner_text(job, result);
  } else if (result.infeasible) {
    text += "\n" + infeasible_text(job, *result.infeasible);
  }
  if (baseline != nullptr)
    text += baseline_text(*baseline, baseline_file, found ? &result.plans.front() : nullptr,
                          certainty.beats_baseline);
  text += clusters_text(result.clusters);
  text +=
      refusals(result.refused, kRefusedShown, found ? "Refused although it could be faster:" : "Refused:");
  text += refusals(result.doubtful, kDoubtfulShown, "Doubtful, left out (--allow-doubtful lets them in):");
  const planner::SpaceCounts& c = result.counts;
  return text +
         fmt::format("\n{} strategies: {} refused, {} too large, {} beaten by their bound, {} simulated\n",
                     c.enumerated, c.refused, c.too_large, c.bounded, c.simulated);
}

}  // namespace trnplan::cli
