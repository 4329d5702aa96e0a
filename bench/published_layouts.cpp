// Layouts that were published or shipped for twelve jobs, and those that `plan` recommends, as Markdown: the table of
// docs/accuracy.md, "AWS's own choices". Prints nothing else; the same input gives the same bytes.
//   build/release/bench/trnplan_published_layouts [PROFILE]
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/recorded_runs.h"
#include "io/catalog/measuring.h"
#include "io/catalog/recommending.h"
#include "io/catalog/reliability.h"
#include "io/input/strategy_text.h"
#include "planner/confidence/plan_ratio.h"
#include "planner/confidence/recommendation.h"
#include "planner/plan/strategy_grammar.h"
#include "planner/search/search.h"
#include "units/normal.h"

namespace {

using namespace trnplan;
using models::Precision;
using planner::Outlook;
using planner::Plan;

struct PublishedJob {
  const char* model;
  int nodes, sequence, global_batch;
  const char* strategy;  ///< as published or shipped, or that of another number of nodes
  Precision precision = Precision::mixed_precision;
};

/// Layouts: catalog/measured-runs.csv and memory-cases.csv; Llama-2 7B on 128 nodes: arXiv 2404.10630 (HLAT).
constexpr PublishedJob kJobs[] = {
    {"llama3-8b", 1, 8192, 1024, "tp=32,recompute=CoreAttention"},
    {"llama3-8b", 4, 8192, 1024, "tp=32,recompute=CoreAttention"},
    {"llama3-8b", 16, 8192, 1024, "tp=32,recompute=CoreAttention"},
    {"llama2-7b", 4, 4096, 1024, "tp=8,flash=false,recompute=CoreAttention"},
    {"llama2-7b", 16, 4096, 1024, "tp=8,flash=false,recompute=CoreAttention"},
    {"llama2-7b", 128, 4096, 1024, "tp=8,flash=false,recompute=CoreAttention"},
    {"llama2-13b", 8, 4096, 1024, "tp=8,pp=4,flash=false,recompute=CoreAttention"},
    {"llama2-70b", 8, 4096, 512, "tp=8,pp=16,flash=false,recompute=full"},
    {"llama3-70b", 16, 8192, 1024, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP"},
    {"llama3-70b", 64, 8192, 1024, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP"},
    {"llama3.1-405b", 64, 8192, 256, "tp=32,pp=32,recompute=full"},
    {"bert-large", 16, 128, 262144, "mbs=16,zero1=false,recompute=none", Precision::bf16_sr},
};

constexpr double kFitsWell = 0.9, kNear = 2;

/// Why somebody who has run such jobs would take the plan, or would not yet.
std::string verdict(const Outlook& ours, double probability, bool same) {
  if (same) return "would: it is the published one";
  std::vector<std::string> against;
  if (!ours.distance.untested.empty())
    against.push_back(fmt::format("untested: {}", fmt::join(ours.distance.untested, ", ")));
  if (ours.fits < kFitsWell) against.push_back(fmt::format("fits with {:.0f} % only", 100 * ours.fits));
  if (ours.compiles < kFitsWell)
    against.push_back(fmt::format("compiles with {:.0f} % only", 100 * ours.compiles));
  if (ours.distance.value > kNear) against.push_back(fmt::format("far from {}", ours.nearest));
  if (probability < 0.5) against.emplace_back("not expected to be faster");
  if (against.empty()) return fmt::format("would: near {}, room to spare", ours.nearest);
  return fmt::format("not before a short run: {}", fmt::join(against, "; "));
}

std::string words(const models::Job& job, const Plan& p) {
  return planner::strategy_grammar(job, p);
}

void print_table(const std::string& profile_name) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const models::Profile profile = catalog.profile(profile_name);
  const auto read = [&](const char* name) { return read_document(catalog.file(name)); };
  const auto parameters = io::recommending_from(read("recommending.json"));
  const auto times =
      io::measuring_from(read("measuring.json"), io::reliability_from(read("reliability.json")));
  fmt::print(
      "| job | published, s | recommended, s | its time over the published (90 %) | fits, compiles | "
      "distance | would an expert sign it? |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const PublishedJob& j : kJobs) {
    models::Job job;
    job.architecture = catalog.architecture(j.model);
    job.cluster = {catalog.instance(catalog.default_instance()), j.nodes};
    job.training = {j.sequence, j.global_batch, 0, j.precision};
    const planner::RecordedRuns known(api::recorded_runs(catalog, {}, job.architecture), parameters.distance);
    const planner::RiskAdvisor advisor(job, profile, known, parameters, times, planner::RiskAttitude::neutral,
                                       0.9);
    const planner::SearchResult found =
        planner::search(job, profile, {.allow_doubtful = false, .explain = false, .advisor = &advisor});
    const topology::ChipGraph graph(job.cluster.instance);
    const Plan published = planner::make_plan(job, io::parse_strategy(j.strategy, job), profile, graph);
    const Outlook theirs = advisor.outlook(published, published);
    const std::string name = fmt::format("{}, {} node{}", j.model, j.nodes, j.nodes == 1 ? "" : "s");
    const std::string row =
        fmt::format("| {} | `{}` {:.4g} |", name, words(job, published), published.report.step.value);
    if (found.plans.empty()) {
      fmt::print("{} none | | | | |\n", row);
      continue;
    }
    const Plan& ours = *found.recommended_plan();
    const Outlook outlook = advisor.outlook(ours, ours);
    std::optional<models::LogRatio> ratio = planner::cost_ratio(job, ours, published, profile);
    planner::count_less_tested(*ratio, outlook.log_sd, theirs.log_sd);
    const bool same = ours.strategy == published.strategy;
    const auto at = [&](double z) { return std::exp(-ratio->mean + z * ratio->sd); };
    fmt::print(
        "{} `{}` {:.4g} | {:.2f} ({:.2f} - {:.2f}) | {:.0f} %, {:.0f} % (published {:.0f} %) | {:.1f} | {} "
        "|\n",
        row, words(job, ours), ours.report.step.value, at(0), same ? 1 : at(-kNinetyPercent),
        same ? 1 : at(kNinetyPercent), 100 * outlook.fits, 100 * outlook.compiles, 100 * theirs.fits,
        outlook.distance.value, verdict(outlook, ratio->positive(), same));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    print_table(argc > 1 ? argv[1] : "trn1");
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
