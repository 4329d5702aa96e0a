#include "planner/cost/cluster_points.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "models/memory/host_memory.h"
#include "planner/check/rules.h"
#include "planner/plan/strategy_grammar.h"
#include "topology/chip_graph.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

std::string gib(Bytes b) {
  return fmt::format("{:.1f}", in_gibibytes(b));
}

/// Says in one line why a cluster has no plan, and what would help.
void tell_why_none(WhatIfPoint& p, const SearchResult& result, const models::Job& job) {
  p.why = "no strategy is legal and fits";
  if (!result.infeasible) return;
  const Infeasible& why = *result.infeasible;
  if (why.closest && why.memory) p.nodes_that_would_do = why.nodes_that_would_do;
  const int batch = job.training.global_batch;
  if (needs_even_batch(why, batch, p.nodes)) {
    p.why = fmt::format("batch: global batch {} is no multiple of {} nodes; the nearest with a plan is {}",
                        batch, p.nodes, why.nearest_batch);
  } else if (why.closest && why.memory) {
    const std::string more = why.nodes_that_would_do > 0
                                 ? fmt::format("; {} nodes have enough memory", why.nodes_that_would_do)
                                 : std::string();
    p.too_large = true;
    p.why = fmt::format("memory: {} is the closest and needs {} of {} GiB a {}{}",
                        strategy_grammar(job, *why.closest), gib(why.memory->worst().peak()),
                        gib(why.memory->limit),
                        topology::device_word(job.cluster.instance.traits.accelerator), more);
  } else if (why.nearest_batch > 0) {
    p.why =
        fmt::format("batch: no layout divides global batch {}; the nearest batch that can be divided is {}",
                    batch, why.nearest_batch);
  } else if (!why.rules.empty()) {
    const Violation& most = why.rules.front().why;
    p.why = fmt::format("{}: {}", most.rule, most.message);
    p.fix = most.fix;
  }
}

/// Remark on hosts: asynchronous checkpoints double the processes of a node.
std::string host_remark(const models::Job& job, const models::Strategy& s, bool asynchronous) {
  const models::HostMemory m = models::host_memory_of(job, s, {.asynchronous = asynchronous});
  if (m.fits()) return {};
  return fmt::format("a node needs {} of {} GiB on the host while it writes a checkpoint", gib(m.peak()),
                     gib(m.limit));
}

/// Factor of a bound on tokens per second, for what rounding takes.
constexpr double kRounded = 1 - 1e-9;

/// Tokens per second below which a limit is missed even without failures; 0 if there is no limit.
double least_rate(const WhatIfQuestion& q, const topology::Instance& instance, int nodes) {
  // Less than even chances may be enough for a cluster whose median misses the limits.
  if (q.asks_for_tokens() || q.confidence.value_or(0.5) < 0.5) return 0;
  double seconds = q.deadline ? q.deadline->value : kInfinity;
  const auto bill = q.budget ? bill_of(instance, nodes, q.prices) : std::nullopt;
  if (bill) seconds = std::min(seconds, bill->time_for(*q.budget).value);
  return seconds < kInfinity ? q.tokens / seconds * kRounded : 0;
}

}  // namespace

WhatIfPoint ClusterPoints::at(const topology::Instance& instance, int nodes, Wanted wanted,
                              Seconds within) const {
  WhatIfPoint p;
  p.instance = instance.name;
  p.nodes = nodes;
  const auto at = job_at(instance, nodes);
  if (!at) {
    p.why = fmt::format("batch: {} x {} / {} sequences is not a whole number in the range of a batch",
                        job.training.global_batch, nodes, job.cluster.nodes);
    return p;
  }
  p.global_batch = at->training.global_batch;
  if (!times_steps_on(instance)) {
    p.why = "not-modelled: " + why_untimed(instance);
    p.fix = "use an instance type whose step can be timed: trnplan instances lists them";
    return p;
  }
  const bool all = wanted == Wanted::all;
  double least = wanted == Wanted::keeping ? least_rate(q, instance, nodes) : 0;
  if (within.value < kInfinity) least = std::max(least, q.tokens / within.value * kRounded);
  SearchResult found = search(*at, profile,
                              {.top = 1,
                               .layouts = 0,
                               .allow_doubtful = q.allow_doubtful,
                               .explain = false,
                               .why_nothing = all,
                               .least_tokens_per_second = least,
                               .threads = threads});
  if (found.plans.empty()) {
    tell_why_none(p, found, *at);
    return p;
  }
  p.plan = std::move(found.plans[found.recommended]);
  p.global_batch = p.plan->global_batch;
  p.remark = host_remark(*at, p.plan->strategy, q.asynchronous);
  p.run = answer_run(*at, *p.plan, {q.tokens, q.deadline, q.budget}, terms(), reliability);
  if (!p.run.why.empty()) {
    p.plan.reset();
    p.why = p.run.why;
    if (q.checkpoint_steps > 0) p.fix = "fewer --checkpoint-steps, or leave them out for the best number";
  }
  return p;
}

std::optional<models::Job> ClusterPoints::job_at(const topology::Instance& instance, int nodes) const {
  models::Job at = job;
  at.cluster.instance = instance;
  at.cluster.nodes = nodes;
  at.training.tokens = q.tokens;
  if (nodes != job.cluster.nodes || instance.name != job.cluster.instance.name) at.pin.data_parallel.reset();
  if (q.scaling == Scaling::strong) return at;
  const std::int64_t whole = static_cast<std::int64_t>(job.training.global_batch) * nodes;
  if (whole % job.cluster.nodes != 0 || whole / job.cluster.nodes > std::numeric_limits<int>::max())
    return std::nullopt;
  at.training.global_batch = static_cast<int>(whole / job.cluster.nodes);
  return at;
}

RunTerms ClusterPoints::terms() const {
  return {q.recovery, q.asynchronous, q.checkpoint_steps, q.prices, q.sampling};
}

}  // namespace trnplan::planner
