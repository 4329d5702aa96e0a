#include "cli/text/text.h"

#include "cli/text/run_text.h"
#include "models/framework/framework.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

TEST_CASE("no probability is shown as 0 or 1", "[cli]") {
  CHECK(cli::probability_text(1) == "> 99.9 %");
  CHECK(cli::probability_text(0) == "< 0.1 %");
  CHECK(cli::probability_text(0.9995) == "> 99.9 %");
  CHECK(cli::probability_text(0.5) == "50.0 %");
  CHECK(cli::short_probability(1) == "> 99 %");
  CHECK(cli::short_probability(0) == "< 1 %");
  CHECK(cli::short_probability(0.87) == "87 %");
}

// Catches: "0.001 days".
TEST_CASE("a short run takes hours, minutes or seconds", "[cli]") {
  CHECK(cli::run_time(Seconds(100)) == "100 seconds");
  CHECK(cli::run_time(Seconds(130)) == "2.17 minutes");
  CHECK(cli::run_time(Seconds(86400)) == "24.0 hours");
  CHECK(cli::run_time(Seconds(2 * 86400)) == "2.00 days");
  CHECK(cli::duration(Seconds(130)) == "2.17 min");
}

TEST_CASE("what is recomputed and virtual stages in words", "[cli]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const auto recomputed = [&](const char* strategy) {
    return models::recompute_words(strategy_of(job, strategy));
  };
  CHECK(recomputed("tp=8") == "nothing recomputed");
  CHECK(recomputed("tp=8,recompute=full") == "all recomputed");
  CHECK(recomputed("tp=8,recompute=LlamaMLP") == "MLP recomputed");
  CHECK(recomputed("tp=8,recompute=LlamaRMSNorm+ActivationMultiplyMLP") ==
        "norms and MLP activation recomputed");
  CHECK(recomputed("tp=8,flash=false,recompute=CoreAttention+LlamaMLP+LlamaRMSNorm") ==
        "attention, MLP and norms recomputed");
  // Megatron's --recompute-modules; TorchTitan's modes of activation_checkpoint.
  CHECK(recomputed("tp=8,framework=megatron,recompute=LlamaMLP+LlamaRMSNorm") ==
        "mlp and layernorm recomputed");
  CHECK(recomputed("tp=8,framework=megatron,flash=false,recompute=CoreAttention") == "core_attn recomputed");
  CHECK(recomputed("framework=fsdp,shard=zero3,recompute=SelectiveOp") ==
        "selective activation checkpointing (op)");
  CHECK(recomputed("framework=fsdp,shard=zero3,recompute=full/2") ==
        "selective activation checkpointing (1 layer in 2)");
  CHECK(recomputed("framework=megatron,recompute=full/2") == "one layer in 2 recomputed");
  CHECK(recomputed("framework=fsdp,shard=zero3,recompute=full") == "full activation checkpointing");
  CHECK(recomputed("framework=fsdp,shard=zero3") == "nothing recomputed");
  CHECK(cli::degree_words(strategy_of(job, "tp=8,pp=4,vpp=2")) == "TP 8 x PP 4, 2 virtual stages each");
}

// Of nine stages that all differ seven columns have room: (100 - 24) / 10.
TEST_CASE("stages that a memory table leaves out are counted", "[cli]") {
  models::Memory m;
  const auto table = [&](std::size_t stages, topology::Accelerator on) {
    m.stages.assign(stages, {});
    for (std::size_t i = 0; i < stages; ++i) {
      m.stages[i].stage = static_cast<int>(i);
      m.stages[i].parameters = Bytes(static_cast<double>(stages - i) * 1024 * 1024 * 1024);
    }
    return cli::memory_table(m, models::Strategy(), on, 100);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  using enum topology::Accelerator;
  CHECK_FALSE(has(table(7, neuron_core), "between"));
  CHECK(has(table(8, neuron_core), "    ... 1 more stage between ("));
  CHECK(has(table(9, neuron_core), "    ... 2 more stages between ("));
  CHECK(has(table(2, neuron_core), "GiB a core"));
  CHECK(has(table(2, neuron_core), "ZeRO-1 buckets"));
  CHECK(has(table(2, gpu), "GiB a GPU"));
  CHECK(has(table(2, gpu), "a GPU has "));
  CHECK(has(table(2, gpu), "temporary buffers"));
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
  CHECK(cli::run_line(run, q) ==
        "1T tokens, 50 % likely to end within 14.6 days; 90 % likely within 18.1 days");
  run.tokens_50 = 312e9;
  run.tokens_90 = 250e9;
  CHECK(cli::run_line(run, {}) == "14.6 days: 50 % likely at least 312B tokens, 90 % likely at least 250B");
  run.works = 0.9;  // what may not work is 90 % likely to end only if it does
  CHECK(cli::run_line(run, q) ==
        "1T tokens, if it works, 50 % likely to end within 14.6 days; 90 % likely within 18.1 days");
}
