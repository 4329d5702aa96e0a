#include "planner/cost/whatif.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "models/memory/host_memory.h"
#include "planner/check/rules.h"
#include "planner/cost/cluster_points.h"
#include "planner/cost/instance_comparison.h"
#include "planner/cost/node_solver.h"
#include "planner/cost/remedies.h"
#include "text/figures.h"
#include "units/index.h"
#include "units/parallel.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

/// Most larger clusters that are tried if none of those asked for suffices; each is a search.
constexpr int kMostTries = 6;
/// Parts of the distance between the largest cluster that does not suffice and the first by doubling that
/// does.
constexpr int kParts = 16;

void set_efficiency(std::vector<WhatIfPoint>& points) {
  std::map<std::string, double> base;  // tokens/s a node
  for (WhatIfPoint& p : points) {
    if (!p.plan) continue;
    const double rate = p.plan->report.tokens_per_second / p.nodes;
    p.efficiency = rate / base.try_emplace(p.instance, rate).first->second;
  }
}

/// Measures of a point: time of the run, or of a token if tokens are asked for; dollars, likewise; nodes.
std::tuple<double, double, int> measures(const WhatIfPoint& p) {
  const double tokens = p.run.tokens_50 > 0 ? p.run.tokens_50 : 1;
  const double time = p.run.tokens_50 > 0 ? 1 : p.run.time.value;
  return {time / tokens, p.run.usd ? *p.run.usd / tokens : kInfinity, p.nodes};
}

bool dominates(const WhatIfPoint& a, const WhatIfPoint& b) {
  const auto [run_a, usd_a, nodes_a] = measures(a);
  const auto [run_b, usd_b, nodes_b] = measures(b);
  return run_a <= run_b && usd_a <= usd_b && nodes_a <= nodes_b && measures(a) != measures(b);
}

void set_pareto(std::vector<WhatIfPoint>& points) {
  for (WhatIfPoint& p : points) {
    p.pareto = p.plan && std::none_of(points.begin(), points.end(),
                                      [&](const WhatIfPoint& o) { return o.plan && dominates(o, p); });
  }
}

/// Smaller is better; ties go to the next measure, then to the earlier point.
std::tuple<double, double, double> order(const WhatIfPoint& p, Preference preference) {
  const auto [run, usd, nodes] = measures(p);
  if (preference == Preference::fastest) return {run, usd, nodes};
  if (preference == Preference::smallest) return {nodes, usd, run};
  return {usd, usd < kInfinity ? run : nodes, usd < kInfinity ? nodes : run};
}

std::string limits_text(const WhatIfQuestion& q) {
  std::string text;
  if (q.deadline) text += fmt::format(" within {:.4g} days", q.deadline->value / kDay);
  if (q.budget) text += fmt::format("{} {} USD", q.deadline ? " and" : " within", grouped(*q.budget));
  if (q.confidence)
    text += fmt::format("{} with {:.4g} %", q.has_limits() ? "" : " that works", 100 * *q.confidence);
  return text;
}

std::string reason_for(const WhatIfPoint& p, const WhatIfQuestion& q) {
  const Preference preference = preference_of(q);
  const bool priced = p.run.usd.has_value(), far = q.asks_for_tokens();
  const bool fastest = preference == Preference::fastest;
  const bool smallest = !fastest && (preference == Preference::smallest || !priced);
  const char* word = fastest    ? far ? "the most tokens" : "the fastest"
                     : smallest ? "the smallest"
                     : far      ? "the most tokens per dollar"
                                : "the cheapest";
  // Of other numbers of nodes nothing is known (planner/cost/node_solver.h).
  const bool some = q.solves_for_nodes() && !smallest;
  return word + std::string(some ? " of the numbers tried" : "") + limits_text(q);
}

/// The reason if no cluster has a plan.
std::string reason_without_plans(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q) {
  if (std::none_of(q.instances.begin(), q.instances.end(), times_steps_on)) {
    std::string names;
    for (const topology::Instance& i : q.instances) names += (names.empty() ? "" : ", ") + i.name;
    return fmt::format("the step time of {} is not modelled", names);
  }
  const auto stands = [](const WhatIfPoint& p) { return !p.run.why.empty(); };
  if (std::any_of(points.begin(), points.end(), stands) &&
      (q.asks_for_tokens() || std::all_of(points.begin(), points.end(), stands)))
    return "on none of these clusters does a run make progress";
  return "no strategy is legal and fits on any of these clusters";
}

/// The index of the point most likely to keep the limits, of equals the fastest; -1 if none has a plan.
int likeliest_of(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q) {
  int best = -1;
  const auto likely = [&](int i) { return points[at(i)].probability(q); };
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    if (!points[at(i)].plan) continue;
    const bool alike = best >= 0 && likely(i) == likely(best);
    if (best < 0 || likely(i) > likely(best) || (alike && points[at(i)].run.time < points[at(best)].run.time))
      best = i;
  }
  return best;
}

/// `p` as a percentage, with as many digits as tell it from `wanted`, which is more.
std::string less_than(double wanted, double p) {
  for (int digits = 0;; ++digits) {
    const std::string text = fmt::format("{:.{}f}", 100 * p, digits);
    if (digits == 6 || std::stod(text) < 100 * wanted) return text;
  }
}

/// What the likeliest point lacks, where none keeps the limits with the confidence asked for.
std::string reason_too_unsure(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q) {
  const WhatIfPoint* best = &points[at(likeliest_of(points, q))];
  const RunAnswer& run = best->run;
  const bool works = run.works < *q.confidence;
  if (!q.has_limits())
    return fmt::format("the most likely, {} x {}, works with {} %, not {:.4g} %", best->nodes, best->instance,
                       less_than(*q.confidence, run.works), 100 * *q.confidence);
  return fmt::format("the most likely, {} x {}, keeps the limits with {} %, not {:.4g} %: {}", best->nodes,
                     best->instance, less_than(*q.confidence, run.probability_in_limits()),
                     100 * *q.confidence,
                     works ? fmt::format("its plan works with {} %", less_than(*q.confidence, run.works))
                     : run.in_time < run.in_budget
                         ? fmt::format("90 % of runs that work need {:.4g} days", in_days(run.time_at_90))
                         : std::string("the budget is what is short"));
}

/// The point that comes closest to a limit that none keeps.
std::string reason_for_none(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q) {
  const WhatIfPoint *fastest = nullptr, *cheapest = nullptr;
  for (const WhatIfPoint& p : points) {
    if (!p.plan) continue;
    if (fastest == nullptr || p.run.time < fastest->run.time) fastest = &p;
    if (p.run.usd && (cheapest == nullptr || *p.run.usd < *cheapest->run.usd)) cheapest = &p;
  }
  if (fastest == nullptr) return reason_without_plans(points, q);
  std::string text;
  if (q.deadline && fastest->run.time > *q.deadline) {
    text += fmt::format("the fastest, {} x {}, takes {:.4g} days; the deadline is {:.4g}", fastest->nodes,
                        fastest->instance, fastest->run.time.value / kDay, q.deadline->value / kDay);
  }
  const std::string join = text.empty() ? "" : "; ";
  if (q.budget && cheapest == nullptr) {
    text += join + "no price of a node is known, so no cluster keeps the budget";
  } else if (q.budget && *cheapest->run.usd > *q.budget) {
    text += join + fmt::format("the cheapest, {} x {}, costs {} USD; the budget is {}", cheapest->nodes,
                               cheapest->instance, grouped(*cheapest->run.usd), grouped(*q.budget));
  }
  if (text.empty() && q.confidence) return reason_too_unsure(points, q);
  return text.empty() ? "some clusters keep the deadline, others the budget, none both" : text;
}

void recommend(WhatIfResult& result, const WhatIfQuestion& q) {
  const Preference preference = preference_of(q);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const WhatIfPoint& p = result.points[i];
    if (!p.keeps(q)) continue;
    const bool better = result.recommended < 0 ||
                        order(p, preference) < order(result.points[at(result.recommended)], preference);
    if (better) result.recommended = static_cast<int>(i);
  }
  result.reason = result.recommended < 0 ? reason_for_none(result.points, q)
                                         : reason_for(result.points[at(result.recommended)], q);
  if (result.recommended < 0 || result.points[at(result.recommended)].keeps_surely(q)) return;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const WhatIfPoint& p = result.points[i];
    if (!p.keeps_surely(q)) continue;
    const bool better =
        result.surer < 0 || order(p, preference) < order(result.points[at(result.surer)], preference);
    if (better) result.surer = static_cast<int>(i);
  }
}

/// Number of nodes at which a larger cluster of the type is worth a try; 0 if nodes are not what is missing.
int nodes_to_try(const std::vector<WhatIfPoint>& points, const WhatIfQuestion& q, const std::string& type) {
  int enough = 0;
  const WhatIfPoint* fastest = nullptr;
  for (const WhatIfPoint& p : points) {
    if (p.instance != type) continue;
    if (p.plan && (fastest == nullptr || p.run.time < fastest->run.time)) fastest = &p;
    enough = std::max(enough, p.nodes_that_would_do);
  }
  if (fastest == nullptr) return enough;
  return q.deadline && fastest->run.time > *q.deadline ? 2 * q.nodes.back() : 0;
}

/// Adds for each type two clusters smaller than those considered: with more time they may keep a budget.
void add_smaller(std::vector<WhatIfPoint>& considered, const ClusterPoints& clusters) {
  const std::vector<int> tried = tried_numbers(clusters.q.most_nodes);
  for (const topology::Instance& type : clusters.q.instances) {
    int nodes = 0;
    for (const WhatIfPoint& p : considered)
      if (p.instance == type.name && (nodes == 0 || p.nodes < nodes)) nodes = p.nodes;
    for (int i = 0; i < 2 && (nodes /= 2) > 0; ++i)
      if (std::binary_search(tried.begin(), tried.end(), nodes))
        considered.push_back(clusters.at(type, nodes, Wanted::plan));
  }
}

/// A type and its nodes, 0: they are solved for.
using Task = std::pair<const topology::Instance*, int>;
std::vector<Task> tasks_of(const WhatIfQuestion& q) {
  std::vector<Task> all;
  for (const topology::Instance& type : q.instances) {
    for (const int nodes : q.nodes) all.emplace_back(&type, nodes);
    if (q.solves_for_nodes()) all.emplace_back(&type, 0);
  }
  return all;
}

/// Clusters of which so many are searched at the same time.
ClusterPoints sharing_cores(ClusterPoints clusters, int together) {
  clusters.threads = together > 1 ? std::max(1, core_count() / together) : 0;
  return clusters;
}

/// Search for a cluster that suffices if no point keeps the limits.
struct Remedy {
  const ClusterPoints& clusters;
  const WhatIfQuestion& q = clusters.q;

  std::optional<WhatIfPoint> larger(const std::vector<WhatIfPoint>& points) const {
    std::vector<std::optional<WhatIfPoint>> of(q.instances.size());
    const int together = std::min(thread_count(q.threads), static_cast<int>(of.size()));
    const ClusterPoints sharing = sharing_cores(clusters, together);
    parallel_for(static_cast<int>(of.size()), together, [&](int i) {
      of[trnplan::at(i)] = Remedy{sharing}.smallest(points, q.instances[trnplan::at(i)]);
    });
    std::optional<WhatIfPoint> best;
    for (std::optional<WhatIfPoint>& p : of)
      if (p && (!best || order(*p, preference_of(q)) < order(*best, preference_of(q)))) best = std::move(p);
    return best;
  }

  WhatIfPoint at(const topology::Instance& type, int nodes) const {
    return clusters.at(type, nodes, Wanted::keeping);
  }

  /// The smallest cluster that suffices: doubles the nodes until one does, then tries those between it and
  /// the last that did not.
  std::optional<WhatIfPoint> smallest(const std::vector<WhatIfPoint>& points,
                                      const topology::Instance& type) const {
    int too_few = 0;
    for (const WhatIfPoint& p : points)
      if (p.instance == type.name) too_few = std::max(too_few, p.nodes);
    int nodes = nodes_to_try(points, q, type.name);
    for (int tries = 0; tries < kMostTries && nodes > 0 && nodes <= topology::kMostNodes; ++tries) {
      WhatIfPoint p = at(type, nodes);
      if (!p.keeps(q)) {
        too_few = nodes;
        nodes *= 2;
        continue;
      }
      const int step = std::max(1, (nodes - too_few + kParts - 1) / kParts);
      for (int fewer = too_few + step; fewer < nodes; fewer += step) {
        WhatIfPoint smaller = at(type, fewer);
        if (smaller.keeps(q)) return smaller;
      }
      return p;
    }
    return std::nullopt;
  }

  std::optional<WhatIfPoint> farthest(const std::vector<WhatIfPoint>& points) const {
    std::optional<WhatIfPoint> best;
    if (q.asks_for_tokens() || (!q.deadline && !q.budget)) return best;
    for (const WhatIfPoint& p : points) {
      const auto type = std::find_if(q.instances.begin(), q.instances.end(),
                                     [&](const topology::Instance& i) { return i.name == p.instance; });
      if (!p.plan || type == q.instances.end()) continue;
      WhatIfPoint reached = p;
      reached.run = answer_run(*clusters.job_at(*type, p.nodes), *p.plan, {0, q.deadline, q.budget},
                               clusters.terms(), clusters.reliability);
      if (reached.run.why.empty() && (!best || reached.run.tokens_50 > best->run.tokens_50)) best = reached;
    }
    return best;
  }
};

}  // namespace

double WhatIfPoint::probability(const WhatIfQuestion& q) const {
  return q.has_limits() ? run.probability_in_limits() : run.works;
}

bool WhatIfPoint::keeps(const WhatIfQuestion& q) const {
  if (!plan) return false;
  if (q.asks_for_tokens()) return run.tokens_50 > 0 && run.works >= q.confidence.value_or(0);
  if (q.confidence) return probability(q) >= *q.confidence;
  if (q.deadline && run.time > *q.deadline) return false;
  return !q.budget || (run.usd && *run.usd <= *q.budget);
}

bool WhatIfPoint::keeps_surely(const WhatIfQuestion& q) const {
  if (!plan) return false;
  if (q.asks_for_tokens()) return true;
  if (q.deadline && run.time_at_90 > *q.deadline) return false;
  return !q.budget || (run.usd_at_90 && *run.usd_at_90 <= *q.budget);
}

Preference preference_of(const WhatIfQuestion& q) {
  if (q.preference != Preference::fitting) return q.preference;
  return q.asks_for_tokens() || (q.budget && !q.deadline) ? Preference::fastest : Preference::cheapest;
}

bool preferred(const WhatIfPoint& a, const WhatIfPoint& b, const WhatIfQuestion& q) {
  return order(a, preference_of(q)) < order(b, preference_of(q));
}

WhatIfResult whatif(const models::Job& job, const WhatIfQuestion& question, const models::Profile& profile,
                    const Reliability& reliability, const SearchFunction& search) {
  WhatIfResult result;
  std::vector<WhatIfPoint> considered;  // where nodes are solved for, also those that are not shown
  const std::vector<Task> tasks = tasks_of(question);
  const int together = std::min(thread_count(question.threads), static_cast<int>(tasks.size()));
  const ClusterPoints clusters{job, question, profile, reliability, search};
  const ClusterPoints sharing = sharing_cores(clusters, together);
  std::vector<std::vector<WhatIfPoint>> found(tasks.size()), judged(tasks.size());
  parallel_for(static_cast<int>(tasks.size()), together, [&](int i) {
    const auto& [type, nodes] = tasks[at(i)];
    found[at(i)] = nodes > 0 ? std::vector{sharing.at(*type, nodes, Wanted::all)}
                             : solved_points(sharing, *type, judged[at(i)]);
  });
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::move(found[i].begin(), found[i].end(), std::back_inserter(result.points));
    std::move(judged[i].begin(), judged[i].end(), std::back_inserter(considered));
  }
  set_efficiency(result.points);
  set_pareto(result.points);
  recommend(result, question);
  result.standings = standings(result.points, question);
  result.because = because(result, question);
  if (result.recommended >= 0) return result;
  const Remedy remedy{clusters};
  if (!question.asks_for_tokens()) result.likeliest = likeliest_of(result.points, question);
  const bool unsure = result.likeliest >= 0 && !question.has_limits();  // no number of nodes mends that
  if (!question.solves_for_nodes() && !unsure) result.would_do = remedy.larger(result.points);
  result.reaches = remedy.farthest(result.points);
  if (result.likeliest < 0 || unsure) return result;
  if (!question.solves_for_nodes()) considered = result.points;
  if (question.solves_for_nodes() && question.budget) add_smaller(considered, clusters);
  result.helps = what_helps(considered, result.points[at(result.likeliest)], clusters);
  return result;
}

WhatIfPoint cluster_point(const models::Job& job, const WhatIfQuestion& question,
                          const topology::Instance& instance, int nodes, const models::Profile& profile,
                          const Reliability& reliability, const SearchFunction& search) {
  return ClusterPoints{job, question, profile, reliability, search}.at(instance, nodes, Wanted::all);
}

UptimeCheck check_uptime(const PublishedUptime& published, const models::Job& job,
                         const models::Strategy& strategy, const models::Profile& profile,
                         const Reliability& reliability) {
  const topology::ChipGraph graph(job.cluster.instance);
  const Plan plan = make_plan(job, strategy, profile, graph);
  RunShape run;
  run.nodes = published.nodes;
  run.hosts = failing_hosts(job.cluster.instance);
  run.step = plan.report.step;
  run.checkpoint = models::checkpoint_bytes(job, strategy);
  run.work = Seconds(published.tokens / plan.report.tokens_per_second);
  run.recovery = published.automatic ? Recovery::automatic : Recovery::manual;
  UptimeCheck check;
  check.step = run.step;
  check.checkpoint = run.checkpoint;
  check.estimate = estimate_goodput(reliability, run);
  check.implied_rate = run.hosts * implied_failure_rate(published.uptime, reliability, run);
  return check;
}

}  // namespace trnplan::planner
