#include "io/output/whatif_json.h"

#include <array>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "planner/cost/instance_comparison.h"

namespace trnplan::io {

using planner::ForecastRun;
using planner::GoodputEstimate;
using planner::InstanceStanding;
using planner::RunAnswer;
using planner::WhatIfPoint;
using planner::WhatIfQuestion;
using planner::WhatIfResult;

namespace {

std::array<double, 2> pair_of(const planner::Interval& i, double unit = 1) {
  return {i.low / unit, i.high / unit};
}

double days(const RunAnswer& run) {
  return in_days(run.time);
}
std::array<double, 2> days_90(const RunAnswer& run) {
  return pair_of(run.time_90, kDay);
}
double days_at_90(const RunAnswer& run) {
  return in_days(run.time_at_90);
}
std::optional<double> tokens_50(const RunAnswer& run) {
  return run.tokens_50 > 0 ? std::optional(run.tokens_50) : std::nullopt;
}
std::optional<double> tokens_90(const RunAnswer& run) {
  return run.tokens_50 > 0 ? std::optional(run.tokens_90) : std::nullopt;
}

/// Keys of a RunQuestion or a WhatIfQuestion.
template <class Question>
std::string_view asked(const Question& question) {
  return question.asks_for_tokens() ? "tokens" : "time_and_money";
}
template <class Question>
std::optional<double> tokens(const Question& question) {
  return question.asks_for_tokens() ? std::nullopt : std::optional(question.tokens);
}
template <class Question>
std::optional<double> deadline_days(const Question& question) {
  return question.deadline ? std::optional(in_days(*question.deadline)) : std::nullopt;
}

std::string_view recovery_word(bool automatic) {
  return automatic ? "automatic" : "manual";
}

struct ShownPoint {
  const WhatIfPoint* of;
  double tokens;
};

/// A getter for values of a point with a plan.
template <class Outer, class Inner>
auto planned(Outer outer, Inner inner) {
  return [get = path(outer, inner)](const ShownPoint& p) {
    return p.of->plan ? std::optional(get(*p.of)) : std::nullopt;
  };
}
template <class Get>
auto of_step(Get get) {
  return planned([](const WhatIfPoint& p) -> const models::StepReport& { return p.plan->report; }, get);
}
template <class Get>
auto of_goodput(Get get) {
  return planned(&WhatIfPoint::run, path(&RunAnswer::goodput, get));
}
template <class Get>
auto of_run(Get get) {
  return planned(&WhatIfPoint::run, get);
}
template <class Get>
auto of_answer(Get get) {
  return path(&ShownPoint::of, path(&WhatIfPoint::run, get));
}

struct ShownWhatIf {
  const WhatIfResult* result;
  const WhatIfQuestion* question;
  std::string model, reliability;
};

template <class Get>
auto point_of(Get get) {
  return [get](const ShownWhatIf& w) {
    const std::optional<WhatIfPoint>& p = w.result->*get;
    return p ? std::optional(ShownPoint{&*p, w.question->tokens}) : std::nullopt;
  };
}

std::vector<ShownPoint> points_of(const ShownWhatIf& w) {
  std::vector<ShownPoint> all;
  for (const WhatIfPoint& p : w.result->points) all.push_back({&p, w.question->tokens});
  return all;
}

std::vector<planner::PriceLine> bill_of_recommended(const ShownWhatIf& w) {
  if (w.result->recommended < 0) return {};
  const auto& bill = w.result->points[static_cast<std::size_t>(w.result->recommended)].run.bill;
  return bill ? bill->lines : std::vector<planner::PriceLine>();
}

}  // namespace

template <>
const Record<ShownPrice>& record() {
  const auto of = [](auto get) { return path(&ShownPrice::of, get); };
  static const Record<ShownPrice> described(
      "Price", "A price in USD per node and hour.",
      {{"kind", of(&topology::Price::kind)},
       {"usd_per_hour", of(&topology::Price::usd_per_hour)},
       {"region", of(&topology::Price::region)},
       {"date", of(&topology::Price::date)},
       {"terms",
        [](const ShownPrice& p) {
          return p.sourced ? std::optional(planner::terms_of(*p.of)) : std::nullopt;
        },
        "what is bought and for how long; only `whatif` states it", Absent::left_out},
       {"source", [](const ShownPrice& p) { return p.sourced ? std::optional(p.of->source) : std::nullopt; },
        "likewise", Absent::left_out}});
  return described;
}

template <>
const Record<ShownPoint>& record() {
  const auto of = [](auto get) { return path(&ShownPoint::of, get); };
  static const Record<ShownPoint> described(
      "WhatIfPoint",
      "A cluster. If nothing is legal and fits, the predictions are `null` and `why` says what is wrong.",
      {{"instance", of(&WhatIfPoint::instance)},
       {"nodes", of(&WhatIfPoint::nodes)},
       {"global_batch", of(&WhatIfPoint::global_batch)},
       {"strategy",
        [](const ShownPoint& p) { return p.of->plan ? std::optional(placed(*p.of->plan)) : std::nullopt; },
        "as in a plan"},
       {"step_seconds", of_step(&models::StepReport::step)},
       {"step_seconds_90", of_step([](const models::StepReport& r) {
          return std::array{r.low, r.high};
        }),
        "the 90 % interval"},
       {"tokens_per_second", of_step(&models::StepReport::tokens_per_second)},
       {"mfu", of_step(&models::StepReport::mfu)},
       {"goodput", of_goodput(&GoodputEstimate::goodput),
        "median of the draws ([models.md](models.md#goodput))"},
       {"goodput_90", of_goodput([](const GoodputEstimate& g) { return pair_of(g.goodput_90); })},
       {"uptime", of_goodput(&GoodputEstimate::uptime), "likewise"},
       {"days", of_run(&days),
        "median of the run, up to a few percent above tokens / (`tokens_per_second` x `goodput`); if tokens "
        "are asked "
        "for, the time that deadline and budget leave"},
       {"days_90", of_run(&days_90)},
       {"usd", of_answer(&RunAnswer::usd), "of `days`; `null` when no price of a node is known or stated"},
       {"usd_unused", of_answer([](const RunAnswer& run) {
          return run.usd && run.bill->term.value > 0 ? std::optional(run.bill->usd_unused(run.time))
                                                     : std::nullopt;
        }),
        "of `usd`: for nodes after the run has ended, with `--term`", Absent::left_out},
       {"usd_upfront", of_answer([](const RunAnswer& run) {
          return run.usd && run.bill->upfront > 0 ? std::optional(run.bill->usd_upfront()) : std::nullopt;
        }),
        "of `usd`: due when the run begins, with `--upfront`", Absent::left_out},
       {"usd_per_1e9_tokens",
        [](const ShownPoint& p) { return planner::usd_per_gigatoken(p.of->run, p.tokens); },
        "dollars per billion tokens, with failures; `null` without a price"},
       {"checkpoint_interval_seconds", of_goodput(&GoodputEstimate::interval)},
       {"checkpoint_interval_steps", of_goodput(&GoodputEstimate::every_steps)},
       {"checkpoint_bytes", of_run(&RunAnswer::checkpoint)},
       {"checkpoint_stall_seconds", of_goodput([](const GoodputEstimate& g) { return g.model.stall; })},
       {"mtbf_seconds", of_goodput([](const GoodputEstimate& g) { return g.model.mtbf; })},
       {"recovery_seconds", of_goodput([](const GoodputEstimate& g) { return g.model.mean_recovery(); })},
       {"usd_per_hour", of_answer([](const RunAnswer& run) {
          return run.bill ? std::optional(run.bill->usd_per_hour()) : std::nullopt;
        }),
        "`null` when no price of a node is known or stated"},
       {"efficiency", planned(&WhatIfPoint::efficiency, std::identity()),
        "tokens/s per node over that of the smallest cluster of the type that has a plan"},
       {"works_probability",
        [](const ShownPoint& p) { return p.of->plan ? p.of->plan->works : std::nullopt; },
        "that the plan fits, compiles and runs, judged by what is known to run; days, dollars and the "
        "probabilities below assume that it does"},
       {"compared_runs",
        [](const ShownPoint& p) { return p.of->plan ? p.of->plan->compared_runs : std::nullopt; },
        "recorded runs of its training loop on machines of its family whose steps were compared with "
        "predictions"},
       {"deadline_probability", of_run(&RunAnswer::in_time),
        "that the run ends in time; 1 without `--deadline`"},
       {"budget_probability", of_run(&RunAnswer::in_budget),
        "that the run keeps the budget; 1 without `--budget`"},
       {"probability_in_time", of_run(&RunAnswer::probability_in_time),
        "that the run works and ends in time: `works_probability` times `deadline_probability`"},
       {"probability_in_limits", of_run(&RunAnswer::probability_in_limits),
        "that the run works and ends within deadline and budget; `--confidence` is about it"},
       {"resolution",
        [](const ShownPoint& p) {
          return p.of->resolution > 0 ? std::optional(p.of->resolution) : std::nullopt;
        },
        "if nodes were solved for: distance to the next number of nodes that was judged and misses the "
        "limits; "
        "1: every smaller number does (with a budget alone, every larger one)"},
       {"tokens_50", of_answer(&tokens_50),
        "if tokens are asked for: reached with that probability within `days`, the time that `usd` pays for; "
        "otherwise `null`"},
       {"tokens_90", of_answer(&tokens_90), "likewise"},
       {"days_at_90", of_run(&days_at_90),
        "days within which the tokens are done with a probability of 90 %; if tokens are asked for, as "
        "`days`"},
       {"usd_at_90", of_answer(&RunAnswer::usd_at_90), "its cost; if tokens are asked for, as `usd`"},
       {"target", of(&WhatIfPoint::target),
        "the `plan --target` that recommends the same strategy with the same step; `\"\"` if `plan` finds it "
        "without; `null` if no target can write the plan, or there is no plan"},
       {"pareto", of(&WhatIfPoint::pareto),
        "no other point has at most as many days, dollars and nodes, and fewer of one of them"},
       {"why", of(&WhatIfPoint::why), "there is no plan"},
       {"fix", of(&WhatIfPoint::fix), "for a point without a plan: what would give it one; may be `\"\"`"},
       {"remark", of(&WhatIfPoint::remark),
        "a node's host memory is too small for asynchronous checkpoints"}});
  return described;
}

template <>
const Record<InstanceStanding>& record() {
  using S = InstanceStanding;
  static const Record<S> described(
      "InstanceStanding", "An instance type with a plan, compared with the others.",
      {{"instance", &S::instance},
       {"point", &S::point,
        "index of the cluster that represents it: of those that keep the limits the one that `--prefer` "
        "chooses, otherwise the fastest"},
       {"price",
        [](const S& s) {
          return s.price ? std::optional(ShownPrice{&*s.price, true}) : std::nullopt;
        },
        "of a node, of the kind asked for; `null` if none is known"},
       {"other_prices",
        [](const S& s) {
          std::vector<ShownPrice> all;
          for (const topology::Price& p : s.others) all.push_back({&p, true});
          return all;
        },
        "of the kinds not asked for, the latest of each"},
       {"cheapest_probability", [](const S& s) { return s.price ? std::optional(s.cheapest) : std::nullopt; },
        "that its tokens are the cheapest among the types with a price "
        "([models.md](models.md#instance-types-against-each-other))"},
       {"break_even_usd_per_hour", &S::break_even,
        "of a node: the price at which its tokens cost as much as those of `break_even_against`; `null` if "
        "no other type has a price"},
       {"break_even_against",
        [](const S& s) { return s.against.empty() ? std::nullopt : std::optional(s.against); },
        "the cheapest other type"}});
  return described;
}

template <>
const Record<planner::PriceLine>& record() {
  using Line = planner::PriceLine;
  static const Record<Line> described(
      "BillLine", "An item of a cluster's price.",
      {{"what", &Line::what}, {"usd_per_hour", &Line::usd_per_hour}, {"basis", &Line::basis}});
  return described;
}

template <>
const Record<planner::WhatHelps>& record() {
  using planner::WhatHelps;
  static const Record<WhatHelps> described(
      "WhatHelps", "A change with which a cluster keeps the limits more probably.",
      {{"option", &WhatHelps::option, "of the command"},
       {"instance", &WhatHelps::instance},
       {"nodes", &WhatHelps::nodes},
       {"probability_in_limits", &WhatHelps::probability, "that the run works and keeps the limits then"},
       {"days", [](const WhatHelps& h) { return in_days(h.time); }, "of the run, at the median"},
       {"usd", &WhatHelps::usd, "likewise; `null` without a price"}});
  return described;
}

template <>
const Record<ShownWhatIf>& record() {
  using W = ShownWhatIf;
  const auto question = [](auto get) { return path(&W::question, get); };
  const auto result = [](auto get) { return path(&W::result, get); };
  static const Record<W> described(
      "WhatIfResult", "Clusters for a whole run.",
      {{"model", &W::model},
       {"tokens", question(&tokens<WhatIfQuestion>), "of the run; `null` if they are asked for"},
       {"asked", question(&asked<WhatIfQuestion>),
        "`tokens` if neither `--tokens` nor the job states them, otherwise `time_and_money`"},
       {"scaling", question([](const WhatIfQuestion& q) {
          return q.scaling == planner::Scaling::strong ? "strong" : "weak";
        }),
        "`strong` keeps the global batch, `weak` that of a node"},
       {"scenario", question([](const WhatIfQuestion& q) {
          return q.scenario.empty() ? std::nullopt : std::optional(q.scenario);
        }),
        "of every cluster, as it was asked for"},
       {"recovery", question([](const WhatIfQuestion& q) {
          return recovery_word(q.recovery == planner::Recovery::automatic);
        }),
        "`automatic` or `manual`"},
       {"asynchronous_checkpoints", question(&WhatIfQuestion::asynchronous)},
       {"pricing", question([](const WhatIfQuestion& q) { return q.prices.pricing; })},
       {"reliability", &W::reliability},
       {"deadline_days", question(&deadline_days<WhatIfQuestion>)},
       {"budget_usd", question(&WhatIfQuestion::budget)},
       {"confidence", question(&WhatIfQuestion::confidence),
        "least `probability_in_limits` of the recommended point; `null`: its median run keeps the limits"},
       {"solved_for_nodes", question(&WhatIfQuestion::solves_for_nodes), "`--nodes` was not stated"},
       {"points", &points_of,
        "by instance type, then nodes; if nodes were solved for, those found for each type"},
       {"recommended", result(&WhatIfResult::recommended),
        "index into `points`, chosen by `--prefer` from those that keep the limits with `confidence` or, if "
        "it "
        "is `null`, whose median run keeps `--deadline` and whose `usd` keeps `--budget`; -1 if none does"},
       {"reason", result(&WhatIfResult::reason), "why that one; without one, what comes closest"},
       {"because", result(&WhatIfResult::because),
        "why the recommended one, in two sentences; `\"\"` without one"},
       {"instances", result(&WhatIfResult::standings), "one for each type with a plan"},
       {"surer", result(&WhatIfResult::surer),
        "index of the point that `--prefer` chooses from those that keep the limits with a probability of 90 "
        "%, if the recommended one does not; -1: it does, or none does"},
       {"would_do", point_of(&WhatIfResult::would_do),
        "if none is recommended and more nodes would help: the smallest larger cluster that keeps the limits "
        "(beyond 32 nodes to a sixteenth of the distance to the last that does not); otherwise `null`"},
       {"reaches", point_of(&WhatIfResult::reaches),
        "if none is recommended and tokens are stated: the point that gets farthest within deadline and "
        "budget; `tokens_50` and `tokens_90` state how far; otherwise `null`"},
       {"likeliest", result(&WhatIfResult::likeliest),
        "if none is recommended: index of the point that is most likely to keep the limits; -1: none has a "
        "plan"},
       {"helps", result(&WhatIfResult::helps), "what would help to keep them"},
       {"bill", &bill_of_recommended, "the items of the recommended cluster's price"},
       {"not_covered", [](const W&) {
          return std::vector<std::string_view>{"waiting for the job to be scheduled", "planned maintenance",
                                               "slow nodes that no scenario states"};
        }}});
  return described;
}

template <>
const Record<ForecastRun>& record() {
  const auto question = [](auto get) { return path(&ForecastRun::question, get); };
  const auto answer = [](auto get) { return path(&ForecastRun::answer, get); };
  static const Record<ForecastRun> described(
      "RunForecast", "The whole run, with failures and checkpoints.",
      {{"asked", question(&asked<planner::RunQuestion>)},
       {"tokens", question(&tokens<planner::RunQuestion>), "of the job"},
       {"deadline_days", question(&deadline_days<planner::RunQuestion>)},
       {"budget_usd", question(&planner::RunQuestion::budget)},
       {"goodput", answer(path(&RunAnswer::goodput, &GoodputEstimate::goodput)),
        "[models.md](models.md#goodput)"},
       {"days", answer(&days)},
       {"days_90", answer(&days_90)},
       {"usd", answer(&RunAnswer::usd)},
       {"works_probability", answer(&RunAnswer::works)},
       {"deadline_probability", answer(&RunAnswer::in_time)},
       {"budget_probability", answer(&RunAnswer::in_budget)},
       {"probability_in_time", answer(&RunAnswer::probability_in_time)},
       {"probability_in_limits", answer(&RunAnswer::probability_in_limits)},
       {"tokens_50", answer(&tokens_50), "reached, if tokens are asked for"},
       {"tokens_90", answer(&tokens_90)},
       {"days_at_90", answer(&days_at_90),
        "days within which the tokens are done with a probability of 90 %"},
       {"usd_at_90", answer(&RunAnswer::usd_at_90)}});
  return described;
}

std::string whatif_json(const WhatIfResult& result, const WhatIfQuestion& q, const models::Job& job,
                        const std::string& reliability) {
  return document_of(ShownWhatIf{&result, &q, job.architecture.name, reliability});
}

const Description& whatif_document() {
  return record<ShownWhatIf>().description();
}

}  // namespace trnplan::io
