#include "planner/confidence/observations.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/check/rules.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"
#include "topology/rank_order.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

constexpr const char* kGroup = "replica-group";
constexpr std::size_t kRanksShown = 8;

bool is_of(const Observation& e, const topology::Instance& instance, const topology::GroupVerdict& group) {
  // The runtime's work differs by kind.
  if (!e.kind.empty() && e.kind != topology::to_string(group.kind)) return false;
  return e.rule == kGroup && e.instance == instance.name && e.chips == group.chips &&
         e.nodes == group.nodes && e.ranks.size() == group.ranks.size();
}

std::string place(const Observation& e) {
  return e.line > 0 ? fmt::format("{}:{}", printable(e.file), e.line) : printable(e.file);
}

bool contradicts(const Observation& e, topology::Verdict verdict) {
  return verdict == topology::Verdict::supported ? !e.accepted
                                                 : verdict == topology::Verdict::refused && e.accepted;
}

std::string says(const Observation& e, topology::Verdict verdict) {
  const char* what = e.accepted ? "accepted" : "refused";
  if (contradicts(e, verdict)) return fmt::format("but {} shows that the runtime {} it", place(e), what);
  return fmt::format("observed in {}: the runtime {} it", place(e), what);
}

std::string short_list(std::vector<int> ranks) {
  const bool cut = ranks.size() > kRanksShown;
  if (cut) ranks.resize(kRanksShown);
  return fmt::format("{}{}", fmt::join(ranks, ", "), cut ? ", ..." : "");
}

topology::Degrees degrees(const models::Strategy& s) {
  return {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel};
}

bool has_groups(const models::Job& job, const models::Strategy& s) {
  const topology::Degrees d = degrees(s);
  return d.world() == static_cast<std::int64_t>(job.cluster.cores()) &&
         topology::RankOrder::obstacle(job.cluster, d).empty() && s.kv_replicator >= 1 &&
         s.tensor_parallel % s.kv_replicator == 0;
}

/// True if the fields that are known of both strategies are equal.
bool same_strategy(const Observation& e, models::Strategy asked, bool asked_whole = true) {
  models::Strategy ran = e.strategy;
  if (!e.strategy_whole || !asked_whole) {
    ran.precision = asked.precision;
    ran.flash_attention = asked.flash_attention;
    ran.kv_replicator = asked.kv_replicator;
    ran.bucket_mb = asked.bucket_mb;
  }
  return models::canonical(std::move(ran)) == models::canonical(std::move(asked));
}

bool same_parameters(std::int64_t a, std::int64_t b) {
  return a == 0 || b == 0 || a == b;
}

bool is_of(const Observation& e, const models::Job& job, const models::Strategy& strategy) {
  return e.rule == "memory" && e.instance == job.cluster.instance.name && is_of(e, job.architecture) &&
         e.sequence == job.training.sequence && same_strategy(e, strategy);
}

}  // namespace

bool is_of(const Observation& e, const models::Architecture& network) {
  if (!same_parameters(e.parameters, models::parameters(network))) return false;
  return (e.parameters > 0 && network.experts == 0) || e.model == network.name;
}

Observation memory_of_run(const models::Job& job, const models::Strategy& strategy, bool accepted) {
  Observation e;
  e.rule = "memory";
  e.accepted = accepted;
  e.instance = job.cluster.instance.name;
  e.nodes = job.cluster.nodes;
  e.model = job.architecture.name;
  e.parameters = models::parameters(job.architecture);
  e.strategy = models::canonical(strategy);
  e.sequence = job.training.sequence;
  return e;
}

bool same_case(const Observation& a, const Observation& b) {
  const bool same_network =
      a.parameters > 0 && b.parameters > 0 ? a.parameters == b.parameters : a.model == b.model;
  // The nodes of a plan follow from its strategy, and older versions did not record them.
  const bool same_nodes = a.rule == "memory" || a.nodes == b.nodes;
  return a.rule == b.rule && a.accepted == b.accepted && a.instance == b.instance && a.kind == b.kind &&
         a.ranks == b.ranks && a.chips == b.chips && same_nodes && same_network &&
         same_strategy(a, b.strategy, b.strategy_whole) && a.sequence == b.sequence && a.file == b.file;
}

std::string observed(const std::vector<Observation>& observations, const topology::Instance& instance,
                     const topology::GroupVerdict& group) {
  std::string text;
  for (const Observation& e : observations) {
    if (is_of(e, instance, group)) text += (text.empty() ? "" : "; ") + says(e, group.verdict);
  }
  return text;
}

std::optional<bool> seen_to_fit(const std::vector<Observation>& observations, const models::Job& job,
                                const models::Strategy& strategy) {
  std::optional<bool> fit;
  if (!job.cluster.instance.changes.empty()) return fit;
  for (const Observation& e : observations)
    if (e.strategy_whole && is_of(e, job, strategy)) fit = fit.value_or(true) && e.accepted;
  return fit;
}

std::vector<std::string> remarks_on(const std::vector<Observation>& observations, const models::Job& job,
                                    const models::Strategy& strategy) {
  std::vector<std::string> lines;
  if (observations.empty()) return lines;
  if (has_groups(job, strategy)) {
    const topology::ChipGraph graph(job.cluster.instance);
    const auto verdict = topology::judge_all(
        job.cluster, graph, topology::RankOrder(job.cluster, degrees(strategy)), strategy.kv_replicator);
    std::set<std::string> said;  // groups that look alike are listed once
    for (const topology::GroupVerdict& g : verdict.groups) {
      for (const Observation& e : observations) {
        if (!is_of(e, job.cluster.instance, g) || !contradicts(e, g.verdict)) continue;
        const std::string what = says(e, g.verdict);
        if (!said.insert(std::string(topology::to_string(g.kind)) + what).second) continue;
        lines.push_back(fmt::format("{} group {{{}}} of {} is {} by the rules, {}",
                                    topology::to_string(g.kind), short_list(g.ranks),
                                    models::describe(strategy), topology::to_string(g.verdict), what));
      }
    }
  }
  for (const Observation& e : observations) {
    if (!is_of(e, job, strategy)) continue;
    const std::string amount = e.bytes > 0 ? fmt::format(" ({:.2f} GiB)", e.bytes / kGiB) : "";
    const char* doubt = e.strategy_whole ? ""
                                         : ", perhaps in another precision or with other attention or KV "
                                           "replicas: an older version recorded it; record the log again";
    lines.push_back(fmt::format("{} {}{}: observed in {}{}", models::describe(strategy),
                                e.accepted ? "did fit" : "did not fit", amount, place(e), doubt));
  }
  return lines;
}

std::vector<std::string> remarks_on_full(const std::vector<Observation>& observations, const models::Job& job,
                                         const std::vector<Plan>& but) {
  std::vector<std::string> lines;
  for (const Observation& e : observations) {
    if (e.rule != "memory" || e.accepted || e.instance != job.cluster.instance.name ||
        !is_of(e, job.architecture) ||
        std::any_of(but.begin(), but.end(), [&](const Plan& p) { return same_strategy(e, p.strategy); }))
      continue;
    lines.push_back(
        fmt::format("{} did not fit: observed in {}; plans that need as much are less likely to fit",
                    models::describe(e.strategy), place(e)));
  }
  return lines;
}

void annotate(Violation& violation, const std::vector<Observation>& observations, const models::Job& job,
              const models::Strategy& strategy) {
  if (violation.rule != kGroup || observations.empty() || !has_groups(job, strategy)) return;
  const topology::ChipGraph graph(job.cluster.instance);
  const auto verdict = placement_verdict(job, strategy, graph);
  if (!verdict.offending) return;
  const std::string said = observed(observations, job.cluster.instance, *verdict.offending);
  if (!said.empty()) violation.message += "; " + said;
}

}  // namespace trnplan::planner
