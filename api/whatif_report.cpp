#include "api/whatif_report.h"

#include <set>

#include <fmt/format.h>

#include "api/whatif_recompute.h"
#include "planner/cost/instance_comparison.h"
#include "planner/plan/strategy_grammar.h"
#include "units/quantity.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

JsonValue pair_of(const planner::Interval& i, double unit = 1) {
  return JsonValue::List{i.low / unit, i.high / unit};
}

JsonValue point_part(const WhatIfAnswered& a, const planner::WhatIfPoint& p) {
  JsonValue one = JsonValue::object({{"instance", p.instance},
                                     {"nodes", p.nodes},
                                     {"global_batch", p.global_batch},
                                     {"pareto", p.pareto},
                                     {"keeps", p.plan && p.keeps(a.question)},
                                     {"why", p.why},
                                     {"fix", p.fix},
                                     {"remark", p.remark}});
  if (!p.plan) return one;
  const models::StepReport& r = p.plan->report;
  const double tokens = r.tokens_per_second * r.step.value;
  one.add("strategy", strategy_part(p.plan->strategy));
  one.add("grammar", planner::strategy_grammar(a.job, *p.plan));
  one.add("step_seconds", r.step.value);
  one.add("step_seconds_90", JsonValue::List{r.low.value, r.high.value});
  one.add("tokens_per_second", r.tokens_per_second);
  one.add("tokens_per_second_90", JsonValue::List{tokens / r.high.value, tokens / r.low.value});
  one.add("mfu", r.mfu);
  one.add("goodput", p.run.goodput.goodput);
  one.add("goodput_90", pair_of(p.run.goodput.goodput_90));
  one.add("checkpoint_interval_seconds", p.run.goodput.interval.value);
  one.add("checkpoint_bytes", p.run.checkpoint.value);
  one.add("efficiency", p.efficiency);
  one.add("works_probability", p.plan->works);
  one.add("days", p.run.time.value / kDay);
  one.add("days_90", pair_of(p.run.time_90, kDay));
  one.add("days_at_90", p.run.time_at_90.value / kDay);
  one.add("usd", p.run.usd);
  one.add("usd_at_90", p.run.usd_at_90);
  one.add("usd_per_1e9_tokens", planner::usd_per_gigatoken(p.run, a.question.tokens));
  one.add("tokens_50", p.run.tokens_50);
  one.add("tokens_90", p.run.tokens_90);
  one.add("deadline_probability", p.run.in_time);
  one.add("budget_probability", p.run.in_budget);
  return one;
}

JsonValue question_part(const WhatIfAnswered& a) {
  const planner::WhatIfQuestion& q = a.question;
  std::optional<double> deadline;
  if (q.deadline) deadline = q.deadline->value / kDay;
  return JsonValue::object({{"asks_for_tokens", q.asks_for_tokens()},
                            {"tokens", q.tokens},
                            {"deadline_days", deadline},
                            {"budget_usd", q.budget},
                            {"scaling", q.scaling == planner::Scaling::strong ? "strong" : "weak"},
                            {"recovery", q.recovery == planner::Recovery::automatic ? "automatic" : "manual"},
                            {"scenario", q.scenario.empty() ? JsonValue() : JsonValue(q.scenario)},
                            {"pricing", to_string(q.prices.pricing)},
                            {"reliability", a.reliability.name}});
}

const topology::Instance& instance_of(const WhatIfAnswered& a, const std::string& name) {
  for (const topology::Instance& i : a.question.instances) {
    if (i.name == name) return i;
  }
  return a.job.cluster.instance;
}

JsonValue standings_part(const WhatIfAnswered& a) {
  JsonValue all = JsonValue::List();
  for (const planner::InstanceStanding& s : a.result.standings) {
    JsonValue one = JsonValue::object({{"instance", s.instance},
                                       {"point", s.point},
                                       {"break_even_usd_per_hour", s.break_even},
                                       {"against", s.against}});
    if (s.price) {
      one.add("usd_per_hour", s.price->usd_per_hour);
      one.add("cheapest_probability", s.cheapest);
    } else {
      one.add("why_unpriced", planner::why_unpriced(instance_of(a, s.instance), a.question.prices.pricing));
    }
    all.add(std::move(one));
  }
  return all;
}

JsonValue commands_part(const WhatIfRequest& o, const std::vector<std::string>& options,
                        const WhatIfAnswered& a) {
  JsonValue all = JsonValue::List();
  const bool slowed = !a.question.scenario.empty();
  const auto plan_words = [&](const planner::WhatIfPoint& p, std::vector<std::string> more) {
    if (slowed) more.clear();
    std::vector<std::string> words = words_for_plan(o, word_for(o.job), options, a, p);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const planner::WhatIfResult& r = a.result;
  if (r.recommended >= 0) {
    const planner::WhatIfPoint& p = r.points[static_cast<std::size_t>(r.recommended)];
    all.add(command_part(slowed ? "show its step in the scenario" : "show the plan of that cluster",
                         plan_words(p, {"--report", "plan.html"})));
    if (slowed || !p.target ||
        why_unwritten(on_cluster(a.job, a.question.instances, *p.plan), *p.plan, *p.target))
      return all;
    all.add(command_part("write its config and job scripts", plan_words(p, {"--out", "my-plan"})));
    all.add(command_part("submit it: compile, then train", {"trnplan", "launch", "my-plan"}));
  } else if (r.would_do) {
    all.add(command_part("show the plan of a cluster that is large enough",
                         plan_words(*r.would_do, {"--report", "plan.html"})));
  }
  return all;
}

}  // namespace

std::vector<std::string> words_for_plan(const WhatIfRequest& o, const std::string& job,
                                        const std::vector<std::string>& options, const WhatIfAnswered& a,
                                        const planner::WhatIfPoint& p) {
  const bool own_batch = p.global_batch > 0 && p.global_batch != a.job.training.global_batch;
  if (!a.question.scenario.empty()) {  // plan would show the ideal machine
    Asked on = o;
    on.job.options.nodes = fmt::to_string(p.nodes);
    on.job.options.instance = p.instance;
    if (own_batch) on.job.options.global_batch = fmt::to_string(p.global_batch);
    std::vector<std::string> words =
        words_for_simulate(job, on, on_cluster(a.job, a.question.instances, *p.plan), *p.plan);
    words.insert(words.end(), {"--scenario", a.question.scenario});
    if (!o.profile.empty()) words.insert(words.end(), {"--profile", o.profile});
    return words;
  }
  std::vector<std::string> words = {"trnplan", "plan", job};
  const std::vector<std::string> of_job = words_without_network(options);
  for (std::size_t i = 0; i + 1 < of_job.size(); i += 2) {
    if (own_batch && of_job[i] == "--global-batch") continue;
    words.insert(words.end(), {of_job[i], of_job[i + 1]});
  }
  const auto add = [&](const char* option, const std::string& value, bool needed) {
    if (needed) words.insert(words.end(), {option, value});
  };
  const WhatIfRequest usual;
  add("--nodes", fmt::to_string(p.nodes), true);
  add("--instance", p.instance, !o.instances.empty() || p.instance != a.job.cluster.instance.name);
  add("--global-batch", fmt::to_string(p.global_batch), own_batch);
  add("--tokens", o.tokens, !o.tokens.empty());
  add("--target", o.target, !o.target.empty());
  add("--profile", o.profile, o.profile != usual.profile);
  const std::vector<std::string> network = network_words(o, a.job, p.instance);
  words.insert(words.end(), network.begin(), network.end());
  const planner::PriceOptions& prices = a.question.prices;
  const auto type = std::find_if(a.question.instances.begin(), a.question.instances.end(),
                                 [&](const topology::Instance& i) { return i.name == p.instance; });
  if (o.offerings.empty() && type != a.question.instances.end()) {
    const auto paid = paid_price(*type, prices);
    // The market interrupts spot nodes, and blocks are bought otherwise.
    const bool own =
        paid && prices.pricing != planner::Pricing::usual && prices.pricing != planner::Pricing::on_demand;
    const auto kind =
        own ? paid_price(*type, planner::PriceOptions{.pricing = prices.pricing}) : std::nullopt;
    const topology::Price* known = own ? kind ? &*kind : nullptr : type->price();
    add("--pricing", std::string(to_string(prices.pricing)), own);
    if (paid && (known == nullptr || paid->usd_per_hour != known->usd_per_hour))
      add("--price", fmt::format("{}={:.6g}/h", p.instance, paid->usd_per_hour), true);
  }
  add("--risk", std::string(to_string(o.risk)), o.risk != usual.risk);
  if (o.allow_doubtful) words.emplace_back("--allow-doubtful");
  return words;
}

JsonValue whatif_report(const WhatIfRequest& request, const std::vector<std::string>& job_options,
                        const WhatIfAnswered& a, const std::vector<Remark>& remarks) {
  const planner::WhatIfResult& r = a.result;
  models::Job job = a.job;
  job.space.instances = a.question.instances;
  std::set<int> nodes;
  for (const planner::WhatIfPoint& p : r.points) nodes.insert(p.nodes);
  job.space.nodes.assign(nodes.begin(), nodes.end());
  job.training.tokens = a.question.tokens;
  JsonValue page = report_of("whatif", remarks);
  page.add("core_word", std::string(topology::device_word(a.question.instances.front().traits.accelerator)));
  page.add("job", job_part(job));
  page.add("question", question_part(a));
  JsonValue points = JsonValue::List();
  for (std::size_t i = 0; i < r.points.size() && i < kRowsInReport; ++i)
    points.add(point_part(a, r.points[i]));
  page.add("points_found", r.points.size());
  page.add("points", std::move(points));
  page.add("recommended", r.recommended);
  page.add("surer", r.surer);
  page.add("reason", r.reason);
  page.add("because", r.because);
  page.add("instances", standings_part(a));
  page.add("would_do", r.would_do ? point_part(a, *r.would_do) : JsonValue());
  page.add("reaches", r.reaches ? point_part(a, *r.reaches) : JsonValue());
  page.add("recompute", recompute_part(request, job_options, a));
  add_commands(page, request.job, commands_part(request, job_options, a));
  return page;
}

void write_whatif_report(const ReportFile& file, const WhatIfRequest& request,
                         const std::vector<std::string>& job_options, const WhatIfAnswered& answered,
                         const std::vector<Remark>& remarks) {
  write_report(file, whatif_report(request, job_options, answered, remarks));
}

}  // namespace trnplan::api
