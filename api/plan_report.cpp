#include "api/plan_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "api/target_refusal.h"
#include "units/quantity.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

/// Plans with rows of their own: the first ones, and the recommended one.
JsonValue plans_part(const PlanResult& r) {
  JsonValue all = JsonValue::List();
  for (std::size_t i = 0; i < r.search.plans.size(); ++i) {
    if (i >= kPlansInReport && i != r.search.recommended) continue;
    JsonValue plan = plan_part(r.job, r.search.plans[i]);
    plan.add("rank", i + 1);
    plan.add("recommended", i == r.search.recommended);
    if (i > 0 && i - 1 < r.confidence.first_is_better.size())
      plan.add("first_is_better", r.confidence.first_is_better[i - 1]);
    if (i < r.outlooks.size()) plan.add("outlook", outlook_part(r.outlooks[i]));
    all.add(std::move(plan));
  }
  return all;
}

JsonValue refusal_part(const planner::Refusal& r) {
  JsonValue one = JsonValue::object({{"strategy", strategy_part(r.strategy)},
                                     {"rule", r.why.rule},
                                     {"message", r.why.message},
                                     {"fix", r.why.fix},
                                     {"doubtful", r.why.doubtful},
                                     {"bound_seconds", r.lower_bound.value},
                                     {"chips", r.chips}});
  if (r.memory) {
    one.add("peak_bytes", std::llround(r.memory->worst().peak().value));
    one.add("limit_bytes", std::llround(r.memory->limit.value));
    one.add("fit_probability", r.memory->fit_probability);
  }
  return one;
}

/// At most `most` of them, including the first one of each rule at any position.
JsonValue refusals_part(const std::vector<planner::Refusal>& list, std::size_t most) {
  JsonValue all = JsonValue::List();
  std::vector<std::string> seen_rules;
  std::size_t kept = 0;
  for (const planner::Refusal& r : list) {
    const bool fresh = std::find(seen_rules.begin(), seen_rules.end(), r.why.rule) == seen_rules.end();
    if (kept >= most && !fresh) continue;
    if (fresh) seen_rules.push_back(r.why.rule);
    ++kept;
    all.add(refusal_part(r));
  }
  return all;
}

JsonValue infeasible_part(const models::Job& job, const planner::Infeasible& why,
                          const std::optional<TargetRefusal>& target) {
  JsonValue rules = JsonValue::List();
  for (const planner::RuleCount& r : why.rules) {
    rules.add(JsonValue::object({{"rule", r.why.rule},
                                 {"strategies", r.strategies},
                                 {"example", strategy_part(r.example)},
                                 {"message", r.why.message},
                                 {"fix", r.why.fix}}));
  }
  JsonValue one = JsonValue::object({{"rules", std::move(rules)},
                                     {"nodes_that_would_do", why.nodes_that_would_do},
                                     {"nearest_global_batch", why.nearest_batch}});
  if (why.closest) {
    one.add("closest", strategy_part(*why.closest));
    one.add("closest_peak_bytes", std::llround(why.memory->worst().peak().value));
    one.add("limit_bytes", std::llround(why.memory->limit.value));
    one.add("closest_fit_probability", why.memory->fit_probability);
  }
  if (why.too_slow) one.add("too_slow", plan_part(job, *why.too_slow));
  if (why.too_expensive) one.add("too_expensive", plan_part(job, *why.too_expensive));
  if (job.deadline.value > 0) one.add("deadline_days", in_days(job.deadline));
  if (job.budget > 0) one.add("budget_usd", job.budget);
  if (target) {
    one.add("target", target->target);
    one.add("target_rule", target->why.rule);
    one.add("target_message", target->why.message);
  }
  return one;
}

JsonValue sensitivity_part(const planner::Plan& best, const planner::Sensitivity& s) {
  JsonValue one = JsonValue::object(
      {{"resource", to_string(s.resource)},
       {"elasticity", s.elasticity},
       {"step_seconds_with_faster_kernels", s.with_faster_kernels.value},
       {"step_seconds_with_one_more_gibibyte",
        s.with_more_memory ? s.with_more_memory->report.step.value : best.report.step.value}});
  if (s.with_twice_the_nics.value > 0)
    one.add("step_seconds_with_twice_the_nics", s.with_twice_the_nics.value);
  return one;
}

/// Comparison of the first two plans, and the measurement that would distinguish them.
JsonValue comparison_part(const planner::Comparison& c, double sure) {
  JsonValue one = JsonValue::object({{"first", c.first + 1},
                                     {"second", c.second + 1},
                                     {"probability_first_is_better", c.probability},
                                     {"sure", sure},
                                     {"told_apart", c.told_apart},
                                     {"equal", c.equal}});
  if (c.best) {
    one.add("measurement_node_hours", c.best->node_hours);
    one.add("probability_after", c.best->probability);
  }
  return one;
}

std::vector<std::string> plan_words(const PlanRequest& o, const models::Job& of,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> words = {"trnplan", "plan", word_for(o.job)};
  for (const std::vector<std::string>& some : {words_without_network(o.words.options), network_words(o, of)})
    words.insert(words.end(), some.begin(), some.end());
  const auto repeat = [&](const char* option, const std::string& value, bool given) {
    if (given) words.insert(words.end(), {option, value});
  };
  const PlanRequest usual;
  repeat("--profile", o.profile, o.profile != usual.profile);
  repeat("--target", o.target, !o.target.empty());
  repeat("--risk", std::string(to_string(o.risk)), o.risk != usual.risk);
  repeat("--fit-probability", fmt::to_string(o.fit_probability), o.fit_probability != usual.fit_probability);
  if (o.allow_doubtful) words.emplace_back("--allow-doubtful");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

JsonValue commands_part(const PlanRequest& o, const PlanResult& r) {
  JsonValue all = JsonValue::List();
  const planner::Plan* best = r.search.recommended_plan();
  if (best == nullptr) {
    const int nodes =
        r.search.infeasible
            ? r.search.infeasible->nodes_in_limits.value_or(r.search.infeasible->nodes_that_would_do)
            : 0;
    if (nodes > 0) {
      PlanRequest more = o;
      std::vector<std::string>& words = more.words.options;
      if (const auto at = std::find(words.begin(), words.end(), "--nodes"); at != words.end())
        words.erase(at, at + 2);
      all.add(command_part("plan again on a cluster that has a plan",
                           plan_words(more, r.job, {"--nodes", fmt::to_string(nodes)})));
    }
    all.add(command_part("list everything that was ruled out, and why", plan_words(o, r.job, {"--details"})));
    return all;
  }
  const models::Job planned = planner::as_planned(r.job, *best);
  const planner::Target& target = o.target.empty() ? targets::of(planned) : *targets::find(o.target);
  if (!why_unwritten(planned, *best, o.target)) {
    const std::string folder = o.out.empty() ? "my-plan" : o.out;
    if (!r.written)
      all.add(command_part("write the config and the job scripts", plan_words(o, r.job, {"--out", folder})));
    all.add(command_part("see what would be submitted, without submitting it",
                         {"trnplan", "launch", folder, "--dry-run"}));
    all.add(command_part(target.compiles_ahead() ? "submit it: compile, then train" : "submit it",
                         {"trnplan", "launch", folder}));
    if (!r.script.empty())
      all.add(command_part(r.confidence.comparison && r.confidence.comparison->best
                               ? "before that, measure which of the first two plans is faster"
                               : "before that, time on the machine what the plan depends on",
                           {r.script}));
    all.add(command_part("compare the job with this plan while it runs; replace JOB by its number",
                         {"trnplan", "watch", "JOB", "--plan", folder + "/plan.json"}));
  }
  std::vector<std::string> simulate = words_for_simulate(word_for(o.job), o, r.job, *best);
  if (o.profile != PlanRequest().profile) simulate.insert(simulate.end(), {"--profile", o.profile});
  simulate.insert(simulate.end(), {"--trace", "step.pftrace"});
  all.add(command_part("show every operator of such a step on a timeline, in ui.perfetto.dev", simulate));
  all.add(command_part("print all numbers for a script", plan_words(o, r.job, {"--format", "json"})));
  return all;
}

/// The whole run, with failures and checkpoints.
JsonValue run_part(const planner::ForecastRun& run) {
  const planner::RunAnswer& a = run.answer;
  if (!a.why.empty()) return JsonValue::object({{"why", a.why}});
  JsonValue one =
      JsonValue::object({{"asks_for_tokens", run.question.asks_for_tokens()},
                         {"tokens", run.question.tokens},
                         {"budget_usd", run.question.budget},
                         {"tokens_50", a.tokens_50},
                         {"tokens_90", a.tokens_90},
                         {"days", a.time.value / kDay},
                         {"days_90", JsonValue::List{a.time_90.low / kDay, a.time_90.high / kDay}},
                         {"days_at_90", a.time_at_90.value / kDay},
                         {"usd", a.usd},
                         {"usd_at_90", a.usd_at_90},
                         {"goodput", a.goodput.goodput},
                         {"deadline_probability", a.in_time},
                         {"budget_probability", a.in_budget}});
  if (run.question.deadline) one.add("deadline_days", run.question.deadline->value / kDay);
  return one;
}

/// Parts on the recommended plan alone.
void add_best(JsonValue& page, const PlanRequest& o, const PlanResult& r) {
  const planner::Plan& best = *r.search.recommended_plan();
  const models::Job planned = planner::as_planned(r.job, best);
  const std::size_t at = r.search.recommended;
  add_plan_parts(page, planned, best, r.profile, io::Catalog::standard(),
                 at < r.outlooks.size() ? r.outlooks[at].distance.value : 0);
  page.add("unwritten", why_unwritten(planned, best, o.target));
  page.add("doubts", violations_part(best.doubts));
  if (r.search.sensitivity) page.add("sensitivity", sensitivity_part(best, *r.search.sensitivity));
}

}  // namespace

JsonValue plan_report(const PlanRequest& request, const PlanResult& r, const std::vector<Remark>& remarks) {
  const planner::SearchResult& s = r.search;
  const planner::Plan* best = s.recommended_plan();
  const models::Job on = best != nullptr ? planner::as_planned(r.job, *best) : r.job;
  JsonValue page = report_of("plan", remarks);
  page.add("job", job_part(r.job));
  page.add("space", JsonValue::object({{"enumerated", s.counts.enumerated},
                                       {"refused", s.counts.refused},
                                       {"too_large", s.counts.too_large},
                                       {"bounded", s.counts.bounded},
                                       {"simulated", s.counts.simulated},
                                       {"inexpressible", s.counts.inexpressible},
                                       {"seconds", r.wall.value}}));
  page.add("proven", s.complete);
  page.add("gap", s.gap);
  page.add("cut_short", s.cut_short);
  page.add("plans_found", s.plans.size());
  page.add("plans", plans_part(r));
  JsonValue layouts = JsonValue::List();
  for (const planner::Plan& p : s.layouts) layouts.add(plan_part(r.job, p));
  page.add("layouts", std::move(layouts));
  if (best != nullptr) {
    add_best(page, request, r);
  } else {
    page.add("machine", machine_part(on, models::Strategy()));
    if (s.infeasible)
      page.add("infeasible", infeasible_part(r.job, *s.infeasible, target_refusal(request, r)));
  }
  JsonValue clusters = JsonValue::List();
  for (const planner::ClusterPlan& c : s.clusters) {
    JsonValue one = plan_part(r.job, c.plan);
    one.add("on_front", c.on_front);
    one.add("within_limits", c.within_limits);
    clusters.add(std::move(one));
  }
  page.add("clusters", std::move(clusters));
  if (r.run) page.add("run", run_part(*r.run));
  if (r.confidence.comparison)
    page.add("comparison", comparison_part(*r.confidence.comparison, r.confidence.sure));
  page.add("refused_found", s.refused.size());
  page.add("refused", refusals_part(s.refused, kRefusedInReport));
  page.add("doubtful_found", s.doubtful.size());
  page.add("doubtful", refusals_part(s.doubtful, kRefusedInReport / 3));
  if (r.baseline && r.baseline->plan) {
    page.add("baseline", JsonValue::object({{"file", request.job.texts.states(r.baseline_file)
                                                         ? "the config as it was given"
                                                         : r.baseline_file},
                                            {"runs", r.baseline->runs()},
                                            {"plan", plan_part(r.job, *r.baseline->plan)}}));
  }
  add_commands(page, request.job, commands_part(request, r));
  return page;
}

void write_plan_report(const ReportFile& file, const PlanRequest& request, const PlanResult& result,
                       const std::vector<Remark>& remarks) {
  write_report(file, plan_report(request, result, remarks));
}

}  // namespace trnplan::api
