#include "cli/text/plan_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/refused_text.h"
#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::cli {

using planner::Plan;

namespace {

constexpr std::size_t kRefusedShown = 6, kDoubtfulShown = 2;
constexpr int kMostOfOneRule = 3;

std::string refusal_text(const planner::Refusal& r, std::string_view device) {
  const std::string start = fmt::format("  {}\n    at least {} s; {}: ", strategy_words(r.strategy),
                                        seconds_text(r.lower_bound), r.why.rule);
  if (is_far(r)) {  // its parts are not needed
    return fmt::format("{}needs {:.1f} of {:.1f} GiB a {}\n", start, in_gibibytes(r.memory->worst().peak()),
                       in_gibibytes(r.memory->limit), device);
  }
  return start + r.why.message + "\n" + (r.why.fix.empty() ? "" : fmt::format("    fix: {}\n", r.why.fix));
}

std::string refusals(const std::vector<planner::Refusal>& list, std::size_t most, std::string_view device,
                     const char* heading) {
  if (list.empty()) return "";
  std::string text = fmt::format("\n{}\n", heading);
  const std::vector<const planner::Refusal*> shown = nearest_refusals(list, most, kMostOfOneRule);
  for (const planner::Refusal* r : shown) text += refusal_text(*r, device);
  if (list.size() > shown.size())
    text += fmt::format("  ... and {} more (--format json lists all)\n", list.size() - shown.size());
  return text;
}

std::string less(Seconds now, Seconds then) {
  const double saved = now.value - then.value;
  if (saved < 5e-4 * now.value) return "no faster";
  return fmt::format("{} s, {} less", seconds_text(then), seconds_text(Seconds(saved)));
}

std::string sensitivity_text(const Plan& winner, const planner::Sensitivity& why) {
  std::string text = "What holds it back\n";
  text += fmt::format("  limit       {}: 1 % {} makes the step {:.2f} % shorter, to first order\n",
                      resource_words(why.resource, winner.accelerator),
                      is_duration(why.resource) ? "less" : "faster", std::abs(why.elasticity));
  text += fmt::format("  kernels     10 % more efficient: {}\n",
                      less(winner.report.step, why.with_faster_kernels));
  if (why.with_twice_the_nics.value > 0)
    text += fmt::format("  network     twice as many {}: {}\n",
                        winner.accelerator == topology::Accelerator::gpu ? "NICs" : "EFA devices",
                        less(winner.report.step, why.with_twice_the_nics));
  const std::string_view device = topology::device_word(winner.accelerator);
  if (!why.with_more_memory) return text + fmt::format("  memory      1 GiB more a {}: no faster\n", device);
  return text + fmt::format("  memory      1 GiB more a {}: {} with {}\n", device,
                            less(winner.report.step, why.with_more_memory->report.step),
                            strategy_words(why.with_more_memory->strategy));
}

std::string clusters_text(const models::Job& job, const std::vector<planner::ClusterPlan>& clusters,
                          int width) {
  if (clusters.empty()) return "";
  const bool run = clusters.front().plan.run.value > 0;
  std::vector<Column> columns = {{""},       {"nodes"},   {"instance", true}, {"batch", false, 1},
                                 {"step s"}, {"tokens/s"}};
  Seconds longest{};
  for (const planner::ClusterPlan& c : clusters) longest = std::max(longest, c.plan.run);
  const TimeUnit& unit = unit_of(longest);
  if (run) columns.push_back({unit.name});
  columns.push_back({run ? "USD" : "USD/B tokens"});
  Table table(std::move(columns), "strategy");
  bool all_within = true;
  for (const planner::ClusterPlan& c : clusters) {
    const Plan& p = c.plan;
    all_within = all_within && c.within_limits;
    std::vector<std::string> cells = {std::string(c.on_front ? "*" : "") + (c.within_limits ? "" : "!"),
                                      fmt::format("{}", p.nodes),
                                      printable(p.instance),
                                      fmt::format("{}", p.global_batch),
                                      seconds_text(p.report.step),
                                      grouped(p.report.tokens_per_second)};
    if (run) cells.push_back(fmt::format("{:.1f}", p.run.value / unit.seconds));
    cells.push_back(grouped(run ? run_usd(p) : usd_per_billion_tokens(p)));
    table.row(std::move(cells), planner::strategy_grammar(job, p));
  }
  return fmt::format("\nBest of each cluster (*: no other is as fast, as cheap and as small{})\n",
                     all_within ? "" : "; !: misses the limits") +
         table.text(width);
}

std::string infeasible_text(const planner::Infeasible& why, topology::Accelerator accelerator, int width) {
  if (why.too_slow || why.too_expensive) return "";
  std::string text;
  for (const planner::RuleCount& r : why.rules) {
    text += fmt::format("  {} strategies break {}; for example {}: {}\n", grouped(r.strategies), r.why.rule,
                        strategy_words(r.example), r.why.message);
    if (!r.why.fix.empty()) text += fmt::format("    fix: {}\n", r.why.fix);
  }
  if (why.closest) {
    text += fmt::format("  closest: {}\n", strategy_words(*why.closest)) +
            memory_table(*why.memory, *why.closest, accelerator, width);
  }
  return text;
}

std::string changes_text(const targets::Baseline& b) {
  if (!b.no_changes.empty()) return fmt::format("  what to change is not known: {}\n", b.no_changes);
  if (b.changes.empty()) return "  nothing to change\n";
  std::size_t width = 0;
  for (const targets::Change& c : b.changes) width = std::max(width, c.key.size());
  std::string text = "  to change\n";
  for (const targets::Change& c : b.changes) {
    text += fmt::format("    {:<{}}  {} -> {}{}\n", c.key, width, printable(c.from), c.to,
                        c.at.line > 0 ? fmt::format("  (line {})", c.at.line) : "  (new line)");
  }
  return text;
}

/// The baseline, scaled to a step with as many sequences as the winner's.
Plan scaled(Plan p, int global_batch) {
  const double factor = static_cast<double>(global_batch) / p.global_batch;
  p.report.step = Seconds(p.report.step.value * factor);
  for (Seconds& s : p.report.breakdown) s = Seconds(s.value * factor);
  return p;
}

std::string baseline_text(const targets::Baseline& b, const std::string& file, const Plan* winner,
                          const std::optional<double>& probability) {
  std::string text =
      fmt::format("\nToday, by {}: {}, on {} x {}\n", printable(file, 400), strategy_words(b.strategy),
                  b.job.cluster.nodes, printable(b.job.cluster.instance.name));
  for (const planner::Violation& v : b.broken) {
    text +=
        fmt::format("  {}: {}: {}\n", v.doubtful ? "doubtful" : "refused", v.rule, printable(v.message, 600));
    if (!v.fix.empty()) text += fmt::format("    fix: {}\n", printable(v.fix, 400));
  }
  if (b.plan && !b.runs()) {
    text += "  it cannot run, so there is no speed to compare\n";
  } else if (b.plan) {
    text += fmt::format("  step        {} s, 90 % between {} and {} s; {} tokens/s\n",
                        seconds_text(b.plan->report.step), seconds_text(b.plan->report.low),
                        seconds_text(b.plan->report.high), grouped(b.plan->report.tokens_per_second));
  } else {
    text += "  no step time: it has no program that could be predicted\n";
  }
  if (winner == nullptr) return text;
  if (b.plan && b.runs()) {
    text += fmt::format(
        "  the best plan is {:.2f} times as fast{}\n", targets::speedup(*winner, b),
        probability ? fmt::format("; {} likely to be faster", probability_text(*probability)) : "");
    text += comparison(*winner, scaled(*b.plan, winner->global_batch));
  }
  return text + changes_text(b);
}

/// Distance of the recommended plan from known runs.
std::string risk_text(const Answer& a) {
  if (a.result.recommended >= a.outlooks.size()) return "";
  const planner::Outlook& o = a.outlooks[a.result.recommended];
  const auto list = [](const std::vector<std::string>& words) {
    return words.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(words, ", "));
  };
  std::string text = fmt::format(
      "  nearest     {}; distance {:.1f}\n",
      o.nearest.empty() ? "no run of such a model is recorded" : printable(o.nearest, 200), o.distance.value);
  if (!o.nearest.empty()) text += fmt::format("  differs in  {}\n", list(o.distance.differs));
  text += fmt::format("  untested    {}\n", list(o.distance.untested));
  const std::string compiles =
      a.result.recommended_plan()->graph.is_limited() ? ", compiles " + probability_text(o.compiles) : "";
  return text + fmt::format(
                    "  works       {}, counting what no run has tried: fits {}{}, runs {}; {} tokens/s "
                    "expected with that risk\n",
                    probability_text(o.works()), probability_text(o.fits), compiles, probability_text(o.runs),
                    grouped(o.expected_tokens_per_second));
}

std::string winner_text(const Answer& a, int width) {
  const Plan& winner = *a.result.recommended_plan();
  std::string text = fmt::format("\nBest: {}\n", strategy_words(winner.strategy)) +
                     plan_details(winner, true, width) + risk_text(a);
  std::size_t compared = 0;
  for (const Plan& other : a.result.layouts) {
    if (compared == 2 || other.strategy == winner.strategy) continue;
    ++compared;
    text += comparison(winner, scaled(other, winner.global_batch));
  }
  if (a.result.sensitivity) text += sensitivity_text(winner, *a.result.sensitivity);
  return text;
}

std::string measurement_name(const planner::Experiment& m, const planner::Comparison& c) {
  if (m.tables.size() == 1) {
    const planner::TableRequest& t = m.tables.front();
    return fmt::format("nccom-test {} of {} ranks on {}", to_string(t.op), t.ranks,
                       t.nodes == 1 ? "one node" : "two nodes");
  }
  if (!m.tables.empty()) return fmt::format("{} nccom-test tables", m.tables.size());
  const int runs = std::max(m.runs_of_first, m.runs_of_second);
  return fmt::format("{} of {} ({} steps)", runs == 1 ? "a short run" : fmt::format("{} short runs", runs),
                     m.runs_of_second == 0  ? fmt::to_string(c.first + 1)
                     : m.runs_of_first == 0 ? fmt::to_string(c.second + 1)
                                            : "each",
                     planner::kShortRunSteps);
}

/// States if the first two plans can be distinguished, and the measurement that would do so.
std::string confidence_text(const models::Job& job, const planner::Confidence& confidence,
                            const std::string& script) {
  if (!confidence.comparison) return "";
  const planner::Comparison& c = *confidence.comparison;
  if (c.told_apart) return "";
  if (c.equal)
    return fmt::format("{} and {} are the same to the model, so no measurement pays.\n", c.first + 1,
                       c.second + 1);
  const char* better = job.objective == models::Objective::cost ? "cheaper" : "faster";
  std::string text = fmt::format(
      "{} and {} are too close to call: {} is {} with probability {} (--sure asks for {})\n", c.first + 1,
      c.second + 1, c.first + 1, better, probability_text(c.probability), probability_text(confidence.sure));
  if (!c.best)
    return text + (c.considered.empty() ? "  measure     no measurement considered here would tell more\n"
                                        : "  measure     nothing: no measurement is worth its cost\n");
  const planner::Experiment& m = *c.best;
  text += fmt::format("  measure     {}: {:.1f} node-hours{}; script: {}\n", measurement_name(m, c),
                      m.node_hours, m.usd > 0 ? fmt::format(", {} USD", grouped(m.usd)) : std::string(),
                      script.empty() ? "--out DIR" : printable(script, 400));
  text += fmt::format(
      "              after it the choice is {} likely to be right{}, and the step {:.1f} % shorter on "
      "average{}\n",
      probability_text(m.probability), c.decides ? "" : "; nothing else brings much more", 100 * m.gain,
      m.gain_usd <= 0      ? ""
      : m.gain_usd < m.usd ? ": less than it costs over the whole run"
                           : fmt::format(": {} USD over the whole run", grouped(m.gain_usd)));
  return text;
}

/// Ranking of the plans of each other training loop that was searched.
std::string others_text(const Answer& a, int width) {
  std::string text;
  for (const api::OtherStack& o : a.others) {
    if (o.plans.empty()) continue;
    const std::string more = o.written ? fmt::format("--target {} plans for it alone", o.name)
                                       : std::string("its config cannot be written");
    text += fmt::format("\nTrained by {} ({})\n", o.name, more) +
            plan_table(a.job, o.plans, {}, width, o.recommended);
  }
  return text;
}

}  // namespace

std::string search_details(const Answer& a, int width) {
  const planner::SearchResult& r = a.result;
  const bool found = !r.plans.empty();
  const topology::Accelerator accelerator = a.job.cluster.instance.traits.accelerator;
  const std::string_view device = topology::device_word(accelerator);
  std::string text;
  if (found) {
    text += "\n" + plan_table(a.job, r.plans, a.confidence.first_is_better, width, r.recommended) +
            confidence_text(a.job, a.confidence, a.script) + others_text(a, width) + winner_text(a, width);
  } else if (r.infeasible) {
    text += "\n" + infeasible_text(*r.infeasible, accelerator, width);
  }
  if (a.baseline != nullptr)
    text += baseline_text(*a.baseline, a.baseline_file, r.recommended_plan(), a.confidence.beats_baseline);
  text += clusters_text(a.job, r.clusters, width);
  text += refusals(r.refused, kRefusedShown, device,
                   found ? "Refused, although they could be faster:" : "Refused:");
  text +=
      refusals(r.doubtful, kDoubtfulShown, device, "Doubtful, left out (--allow-doubtful includes them):");
  const planner::SpaceCounts& c = r.counts;
  text += fmt::format("\n{} strategies: {} refused, {} too large, {} cannot be faster, {} simulated\n",
                      c.enumerated, c.refused, c.too_large, c.bounded, c.simulated);
  if (c.inexpressible > 0)
    text +=
        fmt::format("{} more are left out: the stack that is to train them (--target) cannot express them\n",
                    c.inexpressible);
  return text;
}

}  // namespace trnplan::cli
