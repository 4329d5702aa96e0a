#include "cli/text/no_plan_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/whatif.h"
#include "cli/text/run_text.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "models/framework/framework.h"
#include "planner/check/rules.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::cli {

using planner::Plan;

namespace {

constexpr std::size_t kRulesShown = 2;

/// Nodes whose run keeps the limits; "" if they were not solved for.
std::string nodes_in_limits_text(const models::Job& job, const planner::Infeasible& why) {
  if (!why.nodes_in_limits) return "";
  const std::string type = printable(job.cluster.instance.name);
  if (*why.nodes_in_limits > 0)
    return fmt::format("{} nodes of {} are {} likely to work and end in time: --nodes {}",
                       *why.nodes_in_limits, type, probability_text(why.probability_in_limits),
                       *why.nodes_in_limits);
  return fmt::format(
      "no number of nodes of {} was found that is {:.0f} % likely to work and end in time: "
      "trnplan whatif with other --instances or --confidence",
      type, 100 * api::kSolvedFor);
}

/// True if a deadline or budget excludes every plan.
std::string limits_text(const models::Job& job, const planner::Infeasible& why) {
  std::string text;
  const auto plan = [&](const Plan& p) {
    return entry(
        "", fields({layout_words(p.strategy) + fmt::format(", on {} x {}", p.nodes, printable(p.instance)),
                    planner::strategy_grammar(job, p)}));
  };
  if (why.too_slow) {
    text += entry("Too slow", fmt::format("the fastest takes {}, the deadline is {}",
                                          run_time(why.too_slow->run), run_time(job.deadline))) +
            plan(*why.too_slow) +
            entry("", "fix: more nodes (--nodes, or cluster.nodes), fewer tokens, or a later deadline");
    if (const std::string nodes = nodes_in_limits_text(job, why); !nodes.empty())
      text += entry("Nodes", nodes);
  }
  if (why.too_expensive) {
    text +=
        entry("Too costly", fmt::format("the cheapest costs {} USD, the budget is {}",
                                        grouped(planner::run_usd(*why.too_expensive)), grouped(job.budget))) +
        plan(*why.too_expensive) + entry("", "fix: fewer tokens, or a larger budget");
  }
  return text;
}

std::string closest_text(const models::Job& job, const planner::Infeasible& why) {
  const models::StageMemory& worst = why.memory->worst();
  const Bytes excess = worst.peak() - why.memory->limit;
  const std::string much =
      excess.value > 0 ? fmt::format("stage {} needs {}, {:.2f} GiB too much", worst.stage,
                                     of_memory(*why.memory), in_gibibytes(excess))
                       : fmt::format("{}, which is only {} likely to fit (--fit-probability)",
                                     of_memory(*why.memory), probability_text(why.memory->fit_probability));
  return entry("Closest", fmt::format("{}, {}: {} [memory]", layout_words(*why.closest),
                                      recompute_words(*why.closest), much)) +
         entry("", planner::strategy_grammar(job, *why.closest));
}

std::string untimed_text(const models::Job& job) {
  const topology::Instance& instance = job.cluster.instance;
  const bool judged = instance.untimed.empty();
  return entry("No plan", printable(planner::why_untimed(instance), 1000) +
                              (judged ? ": trnplan topology, trnplan check" : "") + " [not-modelled]") +
         entry(
             "",
             "fix: use an instance type whose step can be timed: trnplan instances lists them (--instance)");
}

/// Text on a rule of the target that refuses strategies that would do: the rule, and the targets without it.
std::string target_refusal_text(const api::TargetRefusal& r) {
  std::string text =
      entry("No plan", fmt::format("refused by {}'s rule {}: {}", r.target, r.why.rule, r.why.message));
  for (const api::OtherTarget& o : r.others) {
    text += entry(&o == &r.others.front() ? "Other" : "",
                  never_broken("--target " + o.name) + " has a plan" +
                      (o.writes ? "" : ", but trnplan writes no config that trains this model with it"));
  }
  return text;
}

}  // namespace

bool is_untimed(const models::Job& job) {
  if (job.space.instances.empty()) return !planner::times_steps_on(job.cluster.instance);
  return std::none_of(job.space.instances.begin(), job.space.instances.end(), planner::times_steps_on);
}

std::string no_plan_text(const Answer& a, const planner::Infeasible& why) {
  const models::Job& job = a.job;
  if (is_untimed(job)) return untimed_text(job);
  if (why.too_slow || why.too_expensive)
    return entry("No plan", "every plan misses the limits") + limits_text(job, why);
  const int batch = job.training.global_batch, nodes = job.cluster.nodes;
  const bool uneven = job.space.nodes.empty() && planner::needs_even_batch(why, batch, nodes);
  std::string text = entry(
      "No plan", uneven        ? fmt::format("global batch {} is no multiple of {} nodes", batch, nodes)
                 : why.closest ? fmt::format("no strategy is legal and fits the memory of a {}",
                                             topology::device_word(job.cluster.instance.traits.accelerator))
                               : "no strategy is legal");
  if (a.target_refusal != nullptr) text = target_refusal_text(*a.target_refusal);
  if (why.closest) text += closest_text(job, why);
  if (const std::string enough = nodes_in_limits_text(job, why); !enough.empty()) {
    text += entry("Nodes", enough);
  } else if (why.closest && (why.nodes_that_would_do > 0 || a.target_refusal == nullptr)) {
    text += entry("Nodes",
                  why.nodes_that_would_do > 0
                      ? fmt::format("{} nodes of {} are enough: --nodes {}", why.nodes_that_would_do,
                                    job.cluster.instance.name, why.nodes_that_would_do)
                      : fmt::format("up to 1,875 nodes of {} are not enough", job.cluster.instance.name));
  }
  if (why.nearest_batch > 0) {
    text += entry("Batch",
                  fmt::format("with {} no strategy is legal and fits; the nearest batch that has one is {}",
                              job.training.global_batch, why.nearest_batch));
  }
  const bool explained = why.closest || a.target_refusal != nullptr;
  for (std::size_t i = 0; !explained && i < why.rules.size() && i < kRulesShown; ++i) {
    const planner::RuleCount& r = why.rules[i];
    text += entry(i == 0 ? "Refused" : "",
                  fmt::format("{} strategies by {}, such as {}: {}", grouped(r.strategies), r.why.rule,
                              layout_words(r.example), r.why.message));
    if (!r.why.fix.empty()) text += entry("", "fix: " + r.why.fix);
  }
  return text;
}

}  // namespace trnplan::cli
