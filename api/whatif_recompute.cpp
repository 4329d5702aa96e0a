#include "api/whatif_recompute.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/report_parts.h"
#include "models/uncertainty/mixture.h"
#include "planner/cost/instance_comparison.h"
#include "planner/cost/prices.h"
#include "text/diagnostic.h"
#include "text/shell_words.h"
#include "units/normal.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

/// Factors by which tokens are changed to see whether the plans stay, the first that keeps them counts.
constexpr double kTokenFactors[] = {8, 2};

std::set<int> nodes_of(const planner::WhatIfResult& r, const std::string& instance) {
  std::set<int> all;
  for (const planner::WhatIfPoint& p : r.points)
    if (p.instance == instance) all.insert(p.nodes);
  return all;
}

/// True if the same strategies are recommended for so many tokens. Between two numbers of tokens that have the
/// same they stay: what a failed try costs a token falls as 1 / tokens, for each plan by its own line.
bool same_plans(const WhatIfRequest& request, const WhatIfAnswered& a, double tokens) {
  WhatIfRequest r = request;
  r.tokens = fmt::to_string(tokens);
  r.nodes = fmt::format("{}", fmt::join(nodes_of(a.result, a.result.points.front().instance), ","));
  // Limits that every cluster keeps: none is searched for a better one.
  r.deadline = "1000000000d";
  r.budget = "1000000T";
  r.confidence.clear();
  r.progress = nullptr;
  try {
    Remarks unsaid;
    const planner::WhatIfResult other = whatif(r, unsaid).result;
    return std::equal(other.points.begin(), other.points.end(), a.result.points.begin(),
                      a.result.points.end(),
                      [](const planner::WhatIfPoint& x, const planner::WhatIfPoint& y) {
                        return x.plan.has_value() == y.plan.has_value() &&
                               (!x.plan || x.plan->strategy == y.plan->strategy);
                      });
  } catch (const InputError&) {  // a job that can be read only once
    return false;
  }
}

/// Tokens between which no plan changes; null if tokens are asked for.
JsonValue tokens_part(const WhatIfRequest& o, const WhatIfAnswered& a) {
  const double tokens = a.question.tokens;
  if (a.question.asks_for_tokens()) return {};
  double low = tokens, high = tokens;
  for (const double factor : kTokenFactors)
    if (low == tokens && tokens > factor && same_plans(o, a, tokens / factor)) low = tokens / factor;
  for (const double factor : kTokenFactors)
    if (high == tokens && same_plans(o, a, tokens * factor)) high = tokens * factor;
  return low < high ? JsonValue(JsonValue::List{low, high}) : JsonValue();
}

/// Reason why the page does not answer other settings; "" = it does.
std::string why_not(const WhatIfAnswered& a) {
  const planner::WhatIfResult& r = a.result;
  if (!a.question.scenario.empty()) return "the page does not simulate the scenario";
  bool any = false;
  for (const planner::WhatIfPoint& p : r.points) {
    any = any || p.plan;
    if (!p.plan && !p.run.why.empty())
      return "a cluster has a plan but no run, and its plan is not in this page";
    if (nodes_of(r, p.instance) != nodes_of(r, r.points.front().instance))
      return "the types have different numbers of nodes: state them with --nodes";
  }
  return any ? "" : "no cluster has a plan";
}

/// Share of its list price that is paid for a node, and whether the market may take it away.
JsonValue paid_part(const topology::Instance& type, const planner::PriceOptions& paid, double list) {
  const std::optional<planner::Bill> bill = planner::bill_of(type, 1, paid);
  const bool spot = bill ? bill->spot : paid.pricing == planner::Pricing::spot;
  const double factor = bill && list > 0 ? bill->lines.front().usd_per_hour / list : 1;
  return JsonValue::object({{"factor", factor}, {"spot", spot}});
}

/// Price of a type before discounts, and the terms on which it and a price stated in the page are paid.
JsonValue type_part(const topology::Instance& type, const planner::PriceOptions& o) {
  planner::PriceOptions whole = o, stated = o;
  whole.discount = whole.savings_plan = 0;
  stated.usd_by_type[type.name] = 1;
  const std::optional<topology::Price> list = planner::paid_price(type, whole);
  return JsonValue::object({{"instance", type.name},
                            {"family", type.family},
                            {"why_unpriced", list ? "" : planner::why_unpriced(type, o.pricing)},
                            {"word", command_line({type.name})},
                            {"usd_per_hour", list ? std::optional(list->usd_per_hour) : std::nullopt},
                            {"is_stated", list && list->is_stated()},
                            {"failing_hosts", planner::failing_hosts(type)},
                            {"paid", paid_part(type, o, list ? list->usd_per_hour : 0)},
                            {"stated", paid_part(type, stated, 1)}});
}

JsonValue reliability_part(const planner::Reliability& r) {
  JsonValue all = JsonValue::object();
  for (std::size_t i = 0; i < planner::kReliabilityParameters; ++i) {
    const auto p = static_cast<planner::ReliabilityParameter>(i);
    all.add(std::string(to_string(p)),
            JsonValue::List{r.value(p).median, r.value(p).log_sd, planner::is_share(p)});
  }
  return all;
}

/// Weight, logarithm of the step and its sd below and above in each state of the network, by point.
JsonValue states_part(const planner::WhatIfResult& r) {
  JsonValue all = JsonValue::List();
  for (const planner::WhatIfPoint& p : r.points) {
    JsonValue states = JsonValue::List();
    if (p.plan) {
      for (const models::MixturePart& part : models::mixture_of(p.plan->report))
        states.add(JsonValue::List{part.weight, part.mean, part.sd, part.sd_above});
    }
    all.add(std::move(states));
  }
  return all;
}

/// Mean and sd of each slice of half a normal.
JsonValue slices_part() {
  JsonValue all = JsonValue::List();
  for (const models::NormalSlice& slice : models::slices_above())
    all.add(JsonValue::List{slice.mean, slice.sd});
  return all;
}

/// Costs per hour besides the nodes'.
JsonValue others_part(const planner::WhatIfQuestion& q) {
  planner::PriceOptions stated = q.prices;
  stated.usd_by_type[q.instances.front().name] = 1;
  JsonValue others = JsonValue::List();
  const planner::Bill bill = *planner::bill_of(q.instances.front(), 1, stated);
  for (std::size_t i = 1; i < bill.lines.size(); ++i) others.add(bill.lines[i].usd_per_hour);
  return others;
}

/// The request's command without those options that the page sets: nodes, tokens, deadline, prices, failure rate.
std::vector<std::string> fixed_words(const WhatIfRequest& o, const std::vector<std::string>& job_options,
                                     const WhatIfAnswered& a) {
  std::vector<std::string> words = {"trnplan", "whatif", word_for(o.job)};
  for (const std::vector<std::string>& some : {words_without_network(job_options), network_words(o, a.job)})
    words.insert(words.end(), some.begin(), some.end());
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  const auto unless = [&](const std::string& value, const std::string& usual) {
    return value == usual ? std::string() : value;
  };
  const auto number = [](double value) { return value > 0 ? fmt::to_string(value) : std::string(); };
  const WhatIfRequest usual;
  add("--instances", o.instances);
  add("--budget", o.budget);
  add("--confidence", number(a.question.confidence.value_or(0)));
  add("--scaling", unless(o.scaling, usual.scaling));
  add("--prefer", unless(o.prefer, usual.prefer));
  add("--pricing", unless(o.pricing, usual.pricing));
  add("--discount", o.discount);
  add("--term", o.term);
  add("--upfront", o.upfront);
  add("--storage-gib", number(o.storage_gib));
  add("--storage-usd-per-gib-month", number(o.storage_price));
  add("--other-usd-per-hour", number(o.other_price));
  add("--recovery", unless(o.recovery, usual.recovery));
  if (o.asynchronous) words.emplace_back("--async-checkpoints");
  add("--checkpoint-steps", o.checkpoint_steps > 0 ? fmt::to_string(o.checkpoint_steps) : "");
  add("--storage-gb-per-second", number(o.storage_speed.value_or(0)));
  add("--reliability", o.reliability);
  add("--target", o.target);
  add("--profile", unless(o.profile, usual.profile));
  add("--risk", unless(std::string(to_string(o.risk)), std::string(to_string(usual.risk))));
  if (o.allow_doubtful) words.emplace_back("--allow-doubtful");
  return words;
}

/// The request's options of prices, as they were.
std::vector<std::string> price_words(const WhatIfRequest& o) {
  if (!o.price.empty()) return {"--price", o.price};
  if (o.usd_per_node_hour) return {"--usd-per-node-hour", fmt::to_string(*o.usd_per_node_hour)};
  return {};
}

}  // namespace

JsonValue recompute_part(const WhatIfRequest& o, const std::vector<std::string>& job_options,
                         const WhatIfAnswered& a) {
  const planner::WhatIfQuestion& q = a.question;
  if (const std::string why = why_not(a); !why.empty()) return JsonValue::object({{"why_not", why}});
  JsonValue types = JsonValue::List();
  for (const topology::Instance& type : q.instances) types.add(type_part(type, q.prices));
  return JsonValue::object({{"command", command_line(fixed_words(o, job_options, a))},
                            {"price_words", command_line(price_words(o))},
                            {"rate_is_stated", o.failure_rate.has_value()},
                            {"rate_limits", JsonValue::List{kLeastFailureRate, kMostFailureRate}},
                            {"tokens", tokens_part(o, a)},
                            {"types", types},
                            {"states", states_part(a.result)},
                            {"other_usd_per_hour", others_part(q)},
                            {"term_seconds", q.prices.term_years * planner::kHoursPerYear * kHour},
                            {"discounted", q.prices.discount > 0 || q.prices.savings_plan > 0},
                            {"confidence", q.confidence},
                            {"preference", o.prefer},
                            {"reliability", reliability_part(a.reliability)},
                            {"manual", q.recovery == planner::Recovery::manual},
                            {"asynchronous", q.asynchronous},
                            {"checkpoint_steps", q.checkpoint_steps},
                            {"draws", q.sampling.draws},
                            {"seed", q.sampling.seed},
                            {"fewest_storage_nodes", planner::kFewestStorageNodes},
                            {"no_progress", planner::kNoProgress},
                            {"standing_draws", planner::kStandingDraws},
                            {"standing_seed", planner::kStandingSeed},
                            {"own_log_sd", planner::kOwnLogSd},
                            {"slices", slices_part()},
                            {"ninety_z", kNinetyPercent},
                            {"sure_z", normal_quantile(planner::kSureRun)}});
}

}  // namespace trnplan::api
