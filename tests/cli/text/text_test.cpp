#include "cli/text/text.h"

#include "cli/text/run_text.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

TEST_CASE("no probability is certainty", "[cli]") {
  CHECK(cli::probability_text(1) == "> 99.9 %");
  CHECK(cli::probability_text(0) == "< 0.1 %");
  CHECK(cli::probability_text(0.9995) == "> 99.9 %");
  CHECK(cli::probability_text(0.5) == "50.0 %");
  CHECK(cli::short_probability(1) == "> 99 %");
  CHECK(cli::short_probability(0) == "< 1 %");
  CHECK(cli::short_probability(0.87) == "87 %");
}

TEST_CASE("what is recomputed and virtual stages in words", "[cli]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const auto recomputed = [&](const char* strategy) {
    return cli::recompute_words(strategy_of(job, strategy));
  };
  CHECK(recomputed("tp=8") == "nothing recomputed");
  CHECK(recomputed("tp=8,recompute=full") == "all recomputed");
  CHECK(recomputed("tp=8,recompute=LlamaMLP") == "MLP recomputed");
  CHECK(recomputed("tp=8,recompute=LlamaRMSNorm+ActivationMultiplyMLP") ==
        "norms and MLP activation recomputed");
  CHECK(recomputed("tp=8,flash=false,recompute=CoreAttention+LlamaMLP+LlamaRMSNorm") ==
        "attention, MLP and norms recomputed");
  CHECK(cli::degree_words(strategy_of(job, "tp=8,pp=4,vpp=2")) == "TP 8 x PP 4, 2 virtual stages each");
}

// 100 s against 90 s and 110 s: 0.9 and 1.1 times as fast.
TEST_CASE("a comparison says slower or faster", "[cli]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  planner::Plan winner, other;
  winner.strategy = strategy_of(job, "tp=8");
  other.strategy = strategy_of(job, "tp=32");
  winner.report.step = Seconds(100);
  other.report.step = Seconds(90);
  CHECK(cli::comparison(winner, other) ==
        "  against TP 32, nothing recomputed: 10.00 s a step slower, 0.90 times as fast\n");
  other.report.step = Seconds(110);
  CHECK(cli::comparison(winner, other) ==
        "  against TP 32, nothing recomputed: 10.00 s a step faster, 1.10 times as fast\n");
}

TEST_CASE("one-sided bounds of a run say so", "[cli]") {
  planner::RunAnswer run;
  run.time = Seconds(14.6 * 86400);
  run.time_at_90 = Seconds(18.1 * 86400);
  planner::RunQuestion q;
  q.tokens = 1e12;
  CHECK(cli::run_line(run, q) == "1T tokens take at most 14.6 days with 50 %; 18.1 days with 90 %");
  run.tokens_50 = 312e9;
  run.tokens_90 = 250e9;
  CHECK(cli::run_line(run, {}) == "14.6 days: with 50 % at least 312B tokens, with 90 % at least 250B");
}
