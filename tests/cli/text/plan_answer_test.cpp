#include "cli/text/plan_answer.h"

#include <algorithm>

#include "cli/text/wrap.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using cli::Answer;
using planner::Plan;

namespace {

models::Memory memory_of(double gibibytes, double fit) {
  models::Memory m;
  m.stages.resize(1);
  m.stages[0].activations = Bytes(gibibytes * 1024 * 1024 * 1024);
  m.limit = Bytes(16.0 * 1024 * 1024 * 1024);
  m.fit_probability = fit;
  return m;
}

Plan plan_of(const models::Job& job, const char* strategy, double seconds, double gibibytes) {
  Plan p;
  p.strategy = strategy_of(job, strategy);
  p.nodes = job.cluster.nodes;
  p.instance = job.cluster.instance.name;
  p.global_batch = job.training.global_batch;
  p.report.step = Seconds(seconds);
  p.report.low = Seconds(0.8 * seconds);
  p.report.high = Seconds(1.25 * seconds);
  p.report.tokens_per_second = job.training.global_batch * job.training.sequence / seconds;
  p.report.mfu = 0.348;
  p.memory = memory_of(gibibytes, 0.989);
  p.usd_per_hour = 21.5;
  p.run = Seconds(job.training.tokens / p.report.tokens_per_second);
  return p;
}

struct Found {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  planner::SearchResult result;
  planner::Confidence confidence;

  Found() {
    result.plans = {plan_of(job, "tp=8,pp=4,mbs=2,recompute=LlamaMLP,cuts=5/14/23", 484, 15.14)};
    result.sensitivity = planner::Sensitivity{models::Resource::tensor, -0.72, {}, {}, {}};
  }
  Answer answer() const { return {job, result, confidence, {}, nullptr, "", "", "", false}; }
  std::string text() const { return cli::wrapped(cli::plan_answer(answer()), 100); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the answer starts with the best plan and a strategy to paste", "[cli]") {
  CHECK(Found().text() ==
        "llama3-8b, sequence 8192, batch 1024, on 1 x trn1.32xlarge (32 cores)\n"
        "Best       TP 8 x PP 4, micro-batch 2  484 s/step (90 %: 387-605)  17,332 tokens/s  15.1 of 16 GiB\n"
        "           tp=8,pp=4,mbs=2,recompute=CoreAttention+LlamaMLP,cuts=5/14/23\n"
        "             MLP recomputed; fits: 98.9 %\n"
        "Limit      tensor engine: 1 % faster makes the step 0.72 % shorter; MFU 34.8 %\n"
        "Next       --out DIR writes config and scripts; --details; --format json\n");
}

TEST_CASE("one of several indistinguishable plans has a line, and the others are counted", "[cli]") {
  Found found;
  Answer a = found.answer();
  a.ties = {{plan_of(found.job, "tp=8,recompute=LlamaMLP", 488, 14.08), 0.53, 1, false},
            {plan_of(found.job, "tp=32", 500, 9), 0.6, 0, false},
            {plan_of(found.job, "tp=4", 501, 9), 0.6, 2, false}};
  const std::string text = cli::wrapped(cli::plan_answer(a), 200);
  CHECK(has(text,
            "\nTied       TP 8 x DP 4, MLP recomputed  488 s, 14.1 GiB (47 % likely to be faster)  "
            "and 5 more "
            "like it\n"));
  CHECK_FALSE(has(text, "TP 32"));
}

// 488 / 484 = 1.0083.
TEST_CASE("the fastest stands below a plan that is recommended in its place", "[cli]") {
  Found found;
  found.result.plans.push_back(plan_of(found.job, "tp=8,recompute=LlamaMLP", 488, 14.08));
  found.result.recommended = 1;
  Answer a = found.answer();
  planner::Outlook fast, safe;
  fast.fits = 0.61;
  fast.distance.untested = {"micro-batch 2", "manual cuts"};
  safe.fits = 0.97;
  fast.runs = safe.runs = 1;
  a.outlooks = {fast, safe};
  const std::string text = cli::wrapped(cli::plan_answer(a), 200);
  CHECK(has(text, "\nBest       TP 8 x DP 4  488 s/step"));
  CHECK(has(text,
            "; fits: 97.0 %\nFastest    TP 8 x PP 4, micro-batch 2, MLP recomputed  484 s, 0.8 % "
            "faster;  61.0 % likely to work,  the best one 97.0 %  (fits: 61.0 %; "
            "untested: micro-batch 2, manual cuts)\n"));
}

TEST_CASE("a tie of the same layout says what differs", "[cli]") {
  Found found;
  found.result.plans = {plan_of(found.job, "tp=8,pp=2", 484, 12)};
  Answer a = found.answer();
  a.ties = {{plan_of(found.job, "tp=8,pp=2,cuts=16", 485, 12), 0.999, 0, true}};
  const auto text = [&] { return cli::wrapped(cli::plan_answer(a), 200); };
  CHECK(has(text(), "\n           tp=8,pp=2  nothing recomputed; fits: 98.9 %\n"));
  CHECK(
      has(text(), "\nTied       the same layout, cuts by hand  485 s, 12 GiB (< 1 % likely to be faster)\n"));
  a.ties.front().plan = plan_of(found.job, "tp=8,pp=2,recompute=LlamaMLP+LlamaRMSNorm,cuts=16", 485, 12);
  CHECK(has(text(), "\nTied       the same layout, MLP and norms recomputed, cuts by hand  485 s"));
  found.result.plans = {plan_of(found.job, "tp=8,pp=2,cuts=14", 484, 12)};
  a.ties.front().plan = plan_of(found.job, "tp=8,pp=2", 485, 12);
  CHECK(has(text(), "\nTied       the same layout, even cuts  485 s"));
}

TEST_CASE("how surely it compiles is said once", "[cli]") {
  Found found;
  Plan& best = found.result.plans.front();
  best.graph.expected = 3.0e6;
  best.known = planner::Experience{};
  best.known->largest_graph = 2.5e6;
  best.known->largest_graph_id = "T056";
  Answer a = found.answer();
  planner::Outlook doubtful;
  doubtful.fits = 0.97;
  doubtful.compiles = 0.849;
  a.outlooks = {doubtful};
  std::string text = cli::wrapped(cli::plan_answer(a), 100);
  CHECK(has(text, "fits: 97.0 %; compiles: 84.9 %\n"));
  CHECK(has(
      text,
      "\nGraph      its graph is 1.2 times as large as the largest that is known to compile, 2.5 million\n"
      "           instructions (run T056 of the catalogue)\n"));
  a.outlooks.front().compiles = 0.99;
  text = cli::wrapped(cli::plan_answer(a), 200);
  CHECK(has(text, "(run T056 of the catalogue); compiles: 99.0 %\n"));
  CHECK_FALSE(has(text, "fits: 97.0 %; compiles"));
}

TEST_CASE("near misses say what rules them out", "[cli]") {
  Found found;
  planner::Refusal pair{strategy_of(found.job, "tp=16"), {}, Seconds(300), {}, {}};
  pair.why = {
      "replica-group",
      "DP pair {0, 16}: chips 0 and 8 are two hops apart: no link joins them (the runtime refuses it)", "",
      false};
  planner::Refusal large{
      strategy_of(found.job, "tp=8"), {"memory", "", "", false}, Seconds(300), memory_of(17.6, 0), {}};
  planner::Refusal larger = large;  // the same layout again is not worth a line
  larger.memory = memory_of(18, 0);
  planner::Refusal unsure{
      strategy_of(found.job, "tp=4"), {"memory", "", "", false}, Seconds(300), memory_of(15.9, 0.5), {}};
  found.result.refused = {pair, large, larger};
  std::string text = found.text();
  CHECK(has(text,
            "\nRuled out  TP 16 x DP 2: refused [replica-group]: DP pair {0, 16}: chips 0 and 8 are two hops "
            "apart\n"));
  CHECK(has(text, "\n           TP 8 x DP 4, nothing recomputed: needs 17.6 of 16 GiB [memory]\nNext"));
  found.result.refused = {unsure};
  CHECK(has(found.text(), "only 50.0 % likely to fit [memory]\n"));
}

TEST_CASE("a folder that could not be written is not offered again", "[cli]") {
  const Found found;
  Answer a = found.answer();
  a.refused_folder = "my-plan";
  const std::string text = cli::plan_answer(a);
  CHECK(has(text, "\nNext       nothing was written to my-plan; the reason is below; --details"));
  CHECK_FALSE(has(text, "--out DIR"));
}

TEST_CASE("no bill that nobody asked for", "[cli]") {
  Found found;
  found.job.training.tokens = 1e12;
  found.result.plans.front() = plan_of(found.job, "tp=8", 484, 15.14);
  CHECK_FALSE(has(found.text(), "USD"));
  found.job.objective = models::Objective::cost;
  CHECK(has(found.text(), "USD per billion tokens"));
  CHECK(
      has(found.text(), "\nRun        668 days, 344,581 USD, without failures, checkpoints and restarts\n"));
}

TEST_CASE("without a plan the answer is the nearest one and what would do", "[cli]") {
  Found found;
  found.result.plans.clear();
  found.result.sensitivity.reset();
  planner::Infeasible why;
  why.closest = strategy_of(found.job, "tp=16,pp=2,recompute=LlamaMLP");
  why.memory = memory_of(46.99, 0);
  why.nodes_that_would_do = 4;
  found.result.infeasible = why;
  CHECK(found.text() ==
        "llama3-8b, sequence 8192, batch 1024, on 1 x trn1.32xlarge (32 cores)\n"
        "No plan    no strategy is legal and fits the memory of a core\n"
        "Closest    TP 16 x PP 2, MLP recomputed: stage 0 needs 47 of 16 GiB, 30.99 GiB too much [memory]\n"
        "           tp=16,pp=2,recompute=CoreAttention+LlamaMLP\n"
        "Nodes      4 nodes of trn1.32xlarge are enough: --nodes 4\n"
        "Next       --details lists what was ruled out; --format json\n");
}

TEST_CASE("a rule of the target alone that leaves no plan is named, with the targets that have one",
          "[cli]") {
  Found found;
  found.result.plans.clear();
  found.result.sensitivity.reset();
  planner::Infeasible why;
  why.closest = strategy_of(found.job, "tp=32,recompute=full");
  why.memory = memory_of(34, 0);
  found.result.infeasible = why;
  api::TargetRefusal refusal{
      "nxdt", {"tied-embeddings", "tied embeddings fail", "pp=1", false}, 4000, {{"nemo-megatron", true}}};
  Answer a = found.answer();
  a.target_refusal = &refusal;
  std::string text = cli::wrapped(cli::plan_answer(a), 100);
  CHECK(has(text,
            "\nNo plan    refused by nxdt's rule tied-embeddings: tied embeddings fail\n"
            "Other      --target nemo-megatron has a plan\n"
            "Closest    TP 32, all recomputed: stage 0 needs 34 of 16 GiB, 18.00 GiB too much [memory]\n"));
  CHECK_FALSE(has(text, "no cluster"));
  refusal.others.front().writes = false;
  text = cli::wrapped(cli::plan_answer(a), 100);
  CHECK(has(text,
            "\nOther      --target nemo-megatron has a plan, but trnplan writes no config that trains this"));
}

TEST_CASE("memory that is hardly too small differs in its digits from the limit", "[cli]") {
  Found found;
  found.result.plans.clear();
  found.result.sensitivity.reset();
  planner::Infeasible why;
  why.closest = strategy_of(found.job, "tp=8");
  why.memory = memory_of(16.03, 0);
  found.result.infeasible = why;
  CHECK(has(found.text(), "stage 0 needs 16.03 of 16 GiB, 0.03 GiB too much"));
  why.memory = memory_of(15.98, 0);
  found.result.infeasible = why;
  CHECK(has(cli::wrapped(cli::plan_answer(found.answer()), 200),
            ": 15.98 of 16 GiB, which is only < 0.1 % likely to fit"));
}

TEST_CASE("a type whose step is not timed has no search to look into", "[cli]") {
  Found found;
  found.result.plans.clear();
  found.result.sensitivity.reset();
  found.result.infeasible = planner::Infeasible{};
  found.job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  found.job.cluster.instance.traits.step_time = false;
  CHECK(has(found.text(), "\nNext       trnplan instances; --format json\n"));
  CHECK_FALSE(has(found.text(), "--details"));
}

TEST_CASE("a search that was stopped says how far it may be off", "[cli]") {
  Found found;
  found.result.complete = false;
  found.result.gap = 0.031;
  CHECK(has(found.text(),
            "\nStopped    before this was proven the best: it is at most 3.1 % above the best\n"));
}

TEST_CASE("a baseline is next to the best plan, a refused one without a speed-up", "[cli]") {
  Found found;
  targets::Baseline today;
  today.strategy = strategy_of(found.job, "tp=32");
  today.plan = plan_of(found.job, "tp=32", 605, 9);
  today.changes = {{"distributed_strategy.tensor_model_parallel_size", "32", "8", {"nxdt.yaml", 20, 3}}};
  found.confidence.beats_baseline = 0.97;
  Answer a = found.answer();
  a.baseline = &today;
  a.baseline_file = "nxdt.yaml";
  std::string text = cli::wrapped(cli::plan_answer(a), 200);
  CHECK(has(text,
            "\nToday      nxdt.yaml: TP 32, 605 s a step; the best plan is 1.25 times as fast (97.0 % likely "
            "to be faster)\n"
            "Change     distributed_strategy.tensor_model_parallel_size: 32 -> 8\n"));
  today.broken = {{"memory", "stage 0 needs 45.2 of 16.0 GiB a core", "", false}};
  text = cli::wrapped(cli::plan_answer(a), 100);
  CHECK(has(text, "; refused (memory): stage 0 needs 45.2"));
  CHECK_FALSE(has(text, "times as fast"));
}

// Reported: "Fastest PP 2 x DP 16, nothing recomputed" and "Ruled out PP 2 x DP 16, nothing recomputed: needs 1123 GiB"
// in one answer, without a word that the second is of another schedule.
TEST_CASE("a refusal that reads like a plan says what differs", "[cli]") {
  Found found;
  found.result.plans = {plan_of(found.job, "tp=8,pp=4,cuts=5/14/23", 484, 12)};
  planner::Refusal refused;
  refused.strategy = found.result.plans.front().strategy;
  refused.strategy.pipeline_cuts.clear();
  refused.strategy.schedule = models::Schedule::gpipe;
  refused.memory = memory_of(1123, 0);
  refused.why.rule = "memory";
  found.result.refused = {refused};
  CHECK(has(found.text(),
            "\nRuled out  TP 8 x PP 4, nothing recomputed, even cuts, schedule gpipe: needs 1123 of 16 GiB"));
}

// Reported: "0.11 s, 6.0 % faster" than 0.11 s, and a graph that is "1 times as large".
TEST_CASE("figures that differ read so", "[cli]") {
  Found found;
  found.result.plans = {plan_of(found.job, "tp=8", 0.1081, 12), plan_of(found.job, "tp=32", 0.1146, 12)};
  found.result.recommended = 1;
  CHECK(has(found.text(), "  0.115 s/step"));
  CHECK(has(found.text(), "0.108 s, 6.0 % faster"));
  Plan& best = found.result.plans.back();
  best.graph.expected = 2.52e6;
  best.known = planner::Experience{};
  best.known->largest_graph = 2.5e6;
  best.known->largest_graph_id = "T056";
  CHECK(has(found.text(), "its graph is 0.8 % larger than the largest that is known to compile"));
}
