#include "io/output/whatif_json.h"

#include <array>

#include "io/output/json_tree.h"
#include "planner/cost/instance_comparison.h"
#include "units/quantity.h"

namespace trnplan::io {

namespace {

std::array<double, 2> pair_of(const planner::Interval& i, double unit = 1) {
  return {i.low / unit, i.high / unit};
}

std::optional<double> reached(const planner::RunAnswer& run, double tokens) {
  return run.tokens_50 > 0 ? std::optional(tokens) : std::nullopt;
}

/// What the run reaches, or what it takes with 90 %.
void add_run_answer(Json& object, const planner::RunAnswer& run) {
  const bool tokens = run.tokens_50 > 0;
  object["tokens_50"] = tokens ? Json(run.tokens_50) : Json();
  object["tokens_90"] = tokens ? Json(run.tokens_90) : Json();
  object["days_at_90"] = run.time_at_90.value / kDay;
  object["usd_at_90"] = or_null(run.usd_at_90);
}

Json price_object(const std::optional<topology::Price>& p) {
  if (!p) return {};
  return {{"kind", p->kind}, {"usd_per_hour", p->usd_per_hour}, {"region", p->region},
          {"date", p->date}, {"terms", planner::terms_of(*p)},  {"source", p->source}};
}

/// The types against each other.
Json standings_of(const planner::WhatIfResult& result) {
  Json all = Json::array();
  for (const planner::InstanceStanding& s : result.standings) {
    Json others = Json::array();
    for (const topology::Price& p : s.others) others.push_back(price_object(p));
    all.push_back({{"instance", s.instance},
                   {"point", s.point},
                   {"price", price_object(s.price)},
                   {"other_prices", others},
                   {"cheapest_probability", s.price ? Json(s.cheapest) : Json()},
                   {"break_even_usd_per_hour", or_null(s.break_even)},
                   {"break_even_against", s.against.empty() ? Json() : Json(s.against)}});
  }
  return all;
}

void add_prediction(Json& object, const planner::WhatIfPoint& p, double tokens) {
  const models::StepReport& r = p.plan->report;
  const planner::GoodputEstimate& g = p.run.goodput;
  object["strategy"] = record<PlacedStrategy>()(placed(*p.plan));
  object["step_seconds"] = r.step.value;
  object["step_seconds_90"] = Json::array({r.low.value, r.high.value});
  object["tokens_per_second"] = r.tokens_per_second;
  object["mfu"] = r.mfu;
  object["goodput"] = g.goodput;
  object["goodput_90"] = pair_of(g.goodput_90);
  object["uptime"] = g.uptime;
  object["days"] = p.run.time.value / kDay;
  object["days_90"] = pair_of(p.run.time_90, kDay);
  object["usd"] = or_null(p.run.usd);
  object["usd_per_1e9_tokens"] = or_null(planner::usd_per_gigatoken(p.run, tokens));
  object["checkpoint_interval_seconds"] = g.interval.value;
  object["checkpoint_interval_steps"] = g.every_steps;
  object["checkpoint_bytes"] = p.run.checkpoint.value;
  object["checkpoint_stall_seconds"] = g.model.stall.value;
  object["mtbf_seconds"] = g.model.mtbf.value;
  object["recovery_seconds"] = g.model.mean_recovery().value;
  object["usd_per_hour"] = p.run.bill ? Json(p.run.bill->usd_per_hour()) : Json();
  object["efficiency"] = p.efficiency;
  object["works_probability"] = p.plan->works ? Json(*p.plan->works) : Json();
  object["deadline_probability"] = p.run.in_time;
  object["budget_probability"] = p.run.in_budget;
  add_run_answer(object, p.run);
}

Json point_object(const planner::WhatIfPoint& p, double tokens) {
  Json object = {{"instance", p.instance}, {"nodes", p.nodes}, {"global_batch", p.global_batch}};
  if (p.plan) {
    add_prediction(object, p, tokens);
  } else {
    for (const char* key :
         {"strategy", "step_seconds", "step_seconds_90", "tokens_per_second", "mfu", "goodput", "days", "usd",
          "checkpoint_interval_seconds", "tokens_50", "tokens_90"})
      object[key] = nullptr;
  }
  object["target"] = or_null(p.target);
  object["pareto"] = p.pareto;
  object["why"] = p.why;
  object["fix"] = p.fix;
  object["remark"] = p.remark;
  return object;
}

}  // namespace

std::string whatif_json(const planner::WhatIfResult& result, const planner::WhatIfQuestion& q,
                        const models::Job& job, const std::string& reliability) {
  Json points = Json::array(), bill = Json::array();
  for (const planner::WhatIfPoint& p : result.points) points.push_back(point_object(p, q.tokens));
  if (result.recommended >= 0) {
    const auto& chosen = result.points[static_cast<std::size_t>(result.recommended)];
    if (chosen.run.bill) {
      for (const planner::PriceLine& l : chosen.run.bill->lines)
        bill.push_back({{"what", l.what}, {"usd_per_hour", l.usd_per_hour}, {"basis", l.basis}});
    }
  }
  const bool automatic = q.recovery == planner::Recovery::automatic;
  return dumped({{"schema_version", kSchemaVersion},
                 {"model", job.architecture.name},
                 {"tokens", q.asks_for_tokens() ? Json() : Json(q.tokens)},
                 {"asked", q.asks_for_tokens() ? "tokens" : "time_and_money"},
                 {"scaling", q.scaling == planner::Scaling::strong ? "strong" : "weak"},
                 {"recovery", automatic ? "automatic" : "manual"},
                 {"asynchronous_checkpoints", q.asynchronous},
                 {"pricing", to_string(q.prices.pricing)},
                 {"reliability", reliability},
                 {"deadline_days", q.deadline ? Json(q.deadline->value / kDay) : Json()},
                 {"budget_usd", or_null(q.budget)},
                 {"points", points},
                 {"recommended", result.recommended},
                 {"reason", result.reason},
                 {"because", result.because},
                 {"instances", standings_of(result)},
                 {"surer", result.surer},
                 {"would_do", result.would_do ? point_object(*result.would_do, q.tokens) : Json()},
                 {"reaches", result.reaches ? point_object(*result.reaches, q.tokens) : Json()},
                 {"bill", bill},
                 {"not_covered", Json::array({"waiting for the job to be scheduled", "planned maintenance",
                                              "slow nodes"})}});
}

template <>
const Record<planner::ForecastRun>& record() {
  using Run = planner::ForecastRun;
  static const Record<Run> described(
      "RunForecast", "The whole run with failures and checkpoints.",
      {{"asked", [](const Run& r) { return r.question.asks_for_tokens() ? "tokens" : "time_and_money"; }},
       {"tokens",
        [](const Run& r) {
          return r.question.asks_for_tokens() ? std::nullopt : std::optional(r.question.tokens);
        },
        "of the job"},
       {"deadline_days",
        [](const Run& r) {
          return r.question.deadline ? std::optional(in_days(*r.question.deadline)) : std::nullopt;
        }},
       {"budget_usd", [](const Run& r) { return r.question.budget; }},
       {"goodput", [](const Run& r) { return r.answer.goodput.goodput; }, "[models.md](models.md#goodput)"},
       {"days", [](const Run& r) { return in_days(r.answer.time); }},
       {"days_90", [](const Run& r) { return pair_of(r.answer.time_90, kDay); }},
       {"usd", [](const Run& r) { return r.answer.usd; }},
       {"works_probability", [](const Run& r) { return r.answer.works; }},
       {"deadline_probability", [](const Run& r) { return r.answer.in_time; }},
       {"budget_probability", [](const Run& r) { return r.answer.in_budget; }},
       {"tokens_50", [](const Run& r) { return reached(r.answer, r.answer.tokens_50); },
        "reached, where tokens are asked"},
       {"tokens_90", [](const Run& r) { return reached(r.answer, r.answer.tokens_90); }},
       {"days_at_90", [](const Run& r) { return in_days(r.answer.time_at_90); },
        "by which the tokens are done with 90 %"},
       {"usd_at_90", [](const Run& r) { return r.answer.usd_at_90; }}});
  return described;
}

std::string uptime_json(const std::vector<planner::CheckedUptime>& rows, const std::string& reliability,
                        const std::string& profile) {
  Json all = Json::array();
  for (const auto& [p, check] : rows) {
    const planner::GoodputEstimate& e = check.estimate;
    all.push_back({{"id", p.id},
                   {"nodes", p.nodes},
                   {"recovery", p.automatic ? "automatic" : "manual"},
                   {"published_uptime", p.uptime},
                   {"predicted_uptime", e.uptime},
                   {"uptime_90", pair_of(e.uptime_90)},
                   {"predicted_goodput", e.goodput},
                   {"goodput_90", pair_of(e.goodput_90)},
                   {"step_seconds", check.step.value},
                   {"checkpoint_bytes", check.checkpoint.value},
                   {"checkpoint_interval_seconds", e.interval.value},
                   {"mtbf_seconds", e.model.mtbf.value},
                   {"recovery_seconds", e.model.mean_recovery().value},
                   {"implied_failures_per_node_day", check.implied_rate},
                   {"source", p.source}});
  }
  return dumped({{"schema_version", kSchemaVersion},
                 {"reliability", reliability},
                 {"profile", profile},
                 {"rows", all}});
}

}  // namespace trnplan::io
