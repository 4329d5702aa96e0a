#include "cli/text/offerings_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "text/utc_time.h"

namespace trnplan::cli {

namespace {

using planner::Offer;
using planner::OfferedCluster;
using planner::OfferingsQuestion;
using planner::OfferingsResult;

constexpr std::size_t kIdLetters = 24;

std::string percent(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

/// "2026-12-11 04:10 UTC, 9.7 days after the first start".
std::string end_text(double time, double first) {
  return fmt::format("{} UTC, {} days after the first start", utc_text(time), figure((time - first) / kDay));
}

std::string blocks_text(const OfferingsResult& r, const OfferingsQuestion& q, int width) {
  Table table(
      {{"start (UTC)", true}, {"days"}, {"nodes"}, {"type", true}, {"zone", true, 1}, {"USD"}, {"id", true}},
      "");
  for (const std::size_t i : r.purchase.blocks) {
    const Offer& o = q.offers[i];
    const OfferedCluster& c = r.clusters[r.cluster_of[i]];
    double seconds = 0;
    for (const planner::OfferedSpan& span : o.spans) seconds += span.end - span.start;
    table.row({utc_text(o.start()), figure(seconds / kDay), fmt::to_string(c.point.nodes),
               printable(c.point.instance, kIdLetters), printable(o.zone, kIdLetters), grouped(o.usd),
               printable(o.id, kIdLetters)});
  }
  return table.text(width);
}

std::string clusters_text(const OfferingsResult& r, const models::Job& job, int width) {
  Table table({{"nodes"}, {"type", true}, {"tokens/s"}, {"goodput %"}, {"works %"}, {"strategy", true}}, "");
  std::map<std::string, int> without;
  for (const OfferedCluster& c : r.clusters) {
    const planner::WhatIfPoint& p = c.point;
    if (!p.plan) {
      ++without[fmt::format("{} x {}: {}", p.nodes, printable(p.instance, kIdLetters), p.why)];
      continue;
    }
    models::Job at = job;
    at.pin.data_parallel.reset();
    table.row({fmt::to_string(p.nodes), printable(p.instance, kIdLetters),
               grouped(p.plan->report.tokens_per_second), fmt::format("{:.2f}", 100 * p.run.goodput.goodput),
               p.plan->works ? fmt::format("{:.0f}", 100 * *p.plan->works) : "-",
               planner::strategy_grammar(at, *p.plan)});
  }
  std::string text = "\nClusters that are offered\n" + table.text(width);
  for (const auto& [why, times] : without) text += entry("", why);
  return text;
}

/// Tells whether the choice is the best, and what the probabilities leave out.
std::string proof_text(const OfferingsResult& r, const OfferingsQuestion& q) {
  std::string text;
  if (r.purchase.proven)
    text = fmt::format("  proven      no choice of these offers finishes the run with {} for less\n",
                       percent(q.confidence));
  else
    text = fmt::format("  not proven  another choice may be cheaper, but not below {}\n",
                       usd_text(r.purchase.bound));
  double works = 1;
  for (const std::size_t i : r.purchase.blocks)
    works = std::min(works, r.clusters[r.cluster_of[i]].point.run.works);
  if (works < 1)
    text +=
        fmt::format("  works       {} likely; the probabilities above assume it\n", probability_text(works));
  return text +
         "  counted     a start with its checkpoint in each block, a checkpoint before its end, and the "
         "last\n"
         "              30 minutes of a Capacity Block, in which instances are taken away\n";
}

std::string none_text(const OfferingsResult& r, const OfferingsQuestion& q) {
  if (r.usable == 0) return "None recommended: the job has no plan on any cluster that is offered\n";
  if (!r.purchase.enough)
    return fmt::format(
        "None recommended: no choice finishes {} tokens with {}; the one that gets farthest reaches {} for "
        "{}\n",
        count_text(q.run.tokens), percent(q.confidence), count_text(r.purchase.tokens),
        usd_text(r.purchase.usd));
  return fmt::format("None recommended: the cheapest choice costs {}; the budget is {}\n",
                     usd_text(r.purchase.usd), usd_text(q.run.budget.value_or(0)));
}

}  // namespace

std::string offerings_text(const OfferingsResult& r, const OfferingsQuestion& q, const models::Job& job,
                           const std::string& next, int width) {
  std::string text = fmt::format(
      "{}, sequence {}, global batch {}, {} tokens; {} offers, {} of them on clusters with a plan\n",
      printable(job.architecture.name), job.training.sequence, job.training.global_batch,
      count_text(q.run.tokens), q.offers.size(), r.usable);
  if (r.recommends()) {
    const std::size_t count = r.purchase.blocks.size();
    text += fmt::format("Buy {} offer{} for {}: {} likely to finish the run\n", count, count == 1 ? "" : "s",
                        usd_text(r.purchase.usd), probability_text(r.done));
  } else {
    text += none_text(r, q);
  }
  if (!r.purchase.blocks.empty()) {
    const double first = q.offers[r.purchase.blocks.front()].start();
    text += "\n" + blocks_text(r, q, width);
    if (r.done_50) text += "  done        at the median " + end_text(*r.done_50, first) + "\n";
    if (r.done_surely)
      text +=
          fmt::format("              with {} {}\n", percent(q.confidence), end_text(*r.done_surely, first));
  }
  if (r.recommends()) text += proof_text(r, q);
  text += clusters_text(r, job, width) + "\n";
  if (next.empty())
    return text + entry("Next", "more offers, fewer --tokens, or more time or money; --format json");
  return text +
         entry("Next", next +
                           " shows the plan of the first block, and writes its config and scripts with "
                           "--out DIR; --format json lists the whole ids");
}

}  // namespace trnplan::cli
