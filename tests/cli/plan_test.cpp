// Answers and refusals of plan.
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"
#include "tests/logs/nccl/nccl_sample.h"

using namespace trnplan;
using cli::Session;

namespace {

int number(const std::string& text, const char* regex) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(regex)) ? std::stoi(found[1]) : -1;
}

}  // namespace

TEST_CASE("pins that break a rule are the mistake of the user, a refused strategy is an answer", "[cli]") {
  Session cli;
  cli.write_job("pin-tp3.yaml", "llama3-8b", 1, 1024, "tensor_parallel: 3");
  cli.refuse(R"(pin-tp3\.yaml:4:[0-9]+: pin\.tensor_parallel: )", "plan $work/pin-tp3.yaml --out new");
  cli.write_job("pin-heads.yaml", "llama2-13b", 1, 1024, "tensor_parallel: 32");
  cli.refuse(R"(pin-heads\.yaml:4:[0-9]+: pin\.tensor_parallel: .*40.*heads)",
             "plan $work/pin-heads.yaml --out new");
  cli.expect(3, "refused: heads: ", "simulate $work/pin-heads.yaml --strategy tp=32");
  cli.expect(3, "refused: replica-group: .*chips 0 and 8", "simulate $example --strategy tp=16");
  cli.expect(3, "refused: memory: ", "simulate $example --strategy tp=8");
  cli.expect(3, "refused: batch: .*1024.*nearest.* 960 and 1056", "simulate $example --strategy tp=1,mbs=3");

  // ---- no plan: what is missing ----

  cli.write_job("too-large.yaml", "llama3.1-405b", 1, 1024);
  cli.expect(3, "^Closest .* [0-9.]+ of 16 GiB, [0-9.]+", "plan $work/too-large.yaml --out new");
  cli.wrote_nothing();
  const int nodes = number(cli.last.out, R"(\nNodes *([0-9]+) nodes of trn1\.32xlarge are enough: --nodes )");
  CHECK(nodes > 1);
  cli.expect(0, "^Best ", "plan $work/too-large.yaml --nodes " + std::to_string(nodes));
  cli.expect(3, "^No plan ", "plan $work/too-large.yaml --nodes " + std::to_string(nodes - 1));

  // The nearest batch is named, and has a plan.
  struct Near {
    const char* model;
    int nodes, batch;
    const char* pins;
    std::set<int> nearest;
  };
  for (const Near& n : {Near{"llama3-8b", 1, 1022, "data_parallel: 4", {1020, 1024}},
                        Near{"llama3-8b", 1, 1021, "micro_batch: 2", {1020, 1022}},
                        // 4096 cores: TP 32 x PP 32 leaves DP 4 at least
                        Near{"llama3-8b", 128, 1021, "context_parallel: 1", {1020}}}) {
    cli.write_job("batch.yaml", n.model, n.nodes, n.batch, n.pins);
    cli.expect(3, "^Batch +with " + std::to_string(n.batch) + " no strategy is legal and fits",
               "plan $work/batch.yaml");
    const int near = number(cli.last.out + cli.last.err, R"(nearest .* is ([0-9]+)\n)");
    CHECK(n.nearest.contains(near));
    cli.write_job("batch.yaml", n.model, n.nodes, near, n.pins);
    cli.expect(0, "^Best ", "plan $work/batch.yaml");
  }
}

TEST_CASE("what is left to the planner, and limits", "[cli]") {
  Session cli;
  // ---- what is left to the planner, limits, edges ----

  const std::string one = "instance: trn1.32xlarge", some = "global_batch: 1024, tokens: 100B";

  cli.write_free("any.yaml", "global_batch: 512..1536, tokens: 100B, precision: any",
                 "instance: any, nodes: 1..2", "objective: cost\npin: {zero1: any}\n");
  cli.expect(0, "^llama3-8b, .*, batch 512 to 1536, any precision, on 1 or 2 x",
             "plan $work/any.yaml --details");
  cli.prints(R"(^Best .*, on [12] x trn1\.32xlarge, batch 1536, bf16SR)");
  cli.prints(R"(^ *\* +2 +trn1n\.32xlarge)");
  cli.expect(0, R"("on_front": true)", "plan $work/any.yaml --format json");
  cli.expect(3, R"(cluster\.nodes is free: 2 are used)", "simulate $work/any.yaml --strategy dp=4");
  cli.expect(3, R"(^trn1n\.32xlarge$)",
             "whatif $work/any.yaml --nodes 1 --deadline 1d --details");  // types as the job has them
  cli.expect(0, R"(on 1 x trn1\.2xlarge|cluster has)", "plan $work/any.yaml --nodes 1");

  cli.write_free("deadline.yaml", "global_batch: {per_node: 64}, tokens: 100B", one + ", nodes: [1, 2, 4]",
                 "objective: deadline\ndeadline: 35d\n");
  cli.expect(0, R"(^Best .*, on 2 x trn1\.32xlarge )",
             "plan $work/deadline.yaml");  // one node takes some 60 days
  cli.change("$work/deadline.yaml", "deadline.yaml", {{"35d", "3d"}});
  cli.expect(3, R"(^Too slow +the fastest takes 1[0-9]\.[0-9] days, the deadline is 3\.0)",
             "plan $work/deadline.yaml --out new");
  cli.expect(3, R"("fastest":)", "plan $work/deadline.yaml --format json");
  cli.write_free("budget.yaml", some, one, "budget: 10\n");
  cli.expect(3, "^Too costly +the cheapest costs [0-9,]+ USD, the budget is 10",
             "plan $work/budget.yaml --out new");
  cli.wrote_nothing();
  cli.write_free("bad-limits.yaml", "global_batch: 1024", one, "objective: deadline\nbudget: many\n");
  cli.refuse(R"(bad-limits\.yaml:4:12: objective: the deadline is missing)", "plan $work/bad-limits.yaml");
  cli.refuse(R"(bad-limits\.yaml:5:9: budget: "many")", "plan $work/bad-limits.yaml");
  cli.write_free("no-tokens.yaml", "global_batch: 1024", one, "deadline: 35d\n");
  cli.expect(
      0, "reached +(if it works, )?50 % likely at least [0-9.]+[BT] tokens, 90 % likely at least [0-9.]+[BT]",
      "plan $work/no-tokens.yaml");

  // Without a price there is no cost.
  std::filesystem::copy(cli.get("source") + "/catalog", cli.work("unpriced"),
                        std::filesystem::copy_options::recursive);
  cli.change("$source/catalog/instances/trn1.32xlarge.json", "unpriced/instances/trn1.32xlarge.json",
             {{"\"usd_per_hour\": [0-9.]*", "\"usd_per_hour\": 0"}});
  cli.write_free("cost.yaml", some, one, "objective: cost\n");
  cli.run_with("TRNPLAN_CATALOG", cli.work("unpriced"), "plan $work/cost.yaml");
  CHECK(cli.last.exit == 2);
  CHECK(cli.last.out.empty());
  cli.says(R"(cost\.yaml:4:12: objective: no price is known for "trn1\.32xlarge"|usd_per_hour)");
  cli.says("^  fix: .");
  cli.wrote_nothing();
  cli.expect(0, "^Best ", "plan $work/cost.yaml");
}

TEST_CASE("a rule of one target alone that leaves no plan", "[cli]") {
  Session cli;
  cli.expect(3, "^No plan +refused by nxdt's rule tied-embeddings: ", "plan gpt3-175b --nodes 32");
  cli.prints("^Other +--target nemo-megatron has a plan");
  cli.prints_no("up to 1,875 nodes of");
  cli.expect(0, "^Best ", "plan gpt3-175b --nodes 32 --target nemo-megatron");
  // A target that can say no strategy of the model has its rules all the same.
  cli.expect(3,
             "^No plan +refused by bert's rule tied-embeddings: ", "plan gpt3-175b --nodes 32 --target bert");
}

// 24 GiB a core hold no plan, and NxDT does not start on so few cores; TorchTitan does.
// Catches: the lack of a target that starts nothing there, though another only needs more memory.
TEST_CASE("what is lacking is that of the target that lacks least", "[cli]") {
  Session cli;
  cli.expect(3, "^Nodes +[0-9]+ nodes of trn2\\.3xlarge are enough",
             "plan llama3-8b --instance trn2.3xlarge");
}

// Catches: a folder that was planned for four nodes, read as the config.json in it on one.
TEST_CASE("a folder of plan --out is the job that it was planned for", "[cli]") {
  Session cli;
  cli.expect(0, "", "plan llama3-8b --nodes 4 --global-batch 256 --out $work/folder");
  cli.run("simulate llama3-8b --nodes 4 --global-batch 256 --strategy tp=8,pp=4 --format json");
  const std::string of_job = cli.last.out;
  cli.run("simulate $work/folder --strategy tp=8,pp=4 --format json");
  CHECK(cli.last.out == of_job);
}

TEST_CASE("a release that nothing is known of", "[cli]") {
  Session cli;
  cli.expect(0, "^Best ", "plan llama3-8b --release 99.9");
  cli.says(R"(Neuron SDK 99\.9: nothing is known about it, .*; trn1 knows nxdt on 2\.22 \[release\]$)");
  cli.expect(0, "^  step ", "simulate llama3-8b --strategy tp=8,pp=4 --release 99.9");
  cli.says(R"(Neuron SDK 99\.9: nothing is known about it)");
  // Known, but of other stacks than the one that is taken.
  cli.expect(0, "^Best ", "plan llama3-8b --release 2.24");
  cli.says(R"(Neuron SDK 2\.24: nothing is known about it)");
  cli.write_free("stated.yaml", "global_batch: 1024", "instance: trn1.32xlarge, nodes: 1",
                 "software: {framework: nxdt, release: \"2.22\"}\n");
  cli.expect(0, "^Best ", "plan $work/stated.yaml");
  cli.says_no("nothing is known about it");
  cli.says("nxdt on trn1.32xlarge: frozen at Neuron SDK 2");
}

TEST_CASE("only remedies that help", "[cli]") {
  Session cli;
  cli.expect(2, "^Best ", "plan bert-large --target nxdt --out $work/o");
  cli.says("^bert-large: --out: nxdt cannot be given this plan: .*: it is not a Llama$");
  cli.says("^  fix: plan with --target bert, or drop --out$");
  cli.expect(2, "^Best ", "plan gpt3-6.7b --out $work/o");
  cli.says("^  fix: drop --out: ");
  cli.says_no("pin ");
  cli.expect(0, "^Best ", "plan bert-large --out $work/bert");  // by the stack that trains it
}

TEST_CASE("one strategy, contradictions, extremes, probabilities", "[cli]") {
  Session cli;
  // One strategy, pinned whole; pins that contradict each other; a prime number of nodes; the largest
  // cluster.
  cli.write_job("one.yaml", "llama3-8b", 1, 1024,
                "tensor_parallel: 8, pipeline_parallel: 1, micro_batch: 1, sequence_parallel: true, "
                "recompute: CoreAttention+LlamaMLP, context_parallel: 1, flash_attention: true");
  cli.expect(0, "^1 strategies: 0 refused, 0 too large, 0 cannot be faster, 1 simulated",
             "plan $work/one.yaml --details");
  cli.write_job("contradiction.yaml", "llama3-8b", 1, 1024, "tensor_parallel: 8, data_parallel: 8");
  cli.refuse(R"(contradiction\.yaml:4:[0-9]+: pin\.tensor_parallel: .*32 cores)",
             "plan $work/contradiction.yaml");
  cli.write_job("prime.yaml", "llama3-8b", 7, 1024);
  cli.expect(0, "^Best |^No plan", "plan $work/prime.yaml --nodes 1");
  cli.expect(3, "no layout divides global batch 1024|nearest", "plan $work/prime.yaml");
  cli.write_job("all-nodes.yaml", "llama3-8b", 1875, 60000);
  cli.expect(0, "^Best .* x DP 7500", "plan $work/all-nodes.yaml");
  cli.refuse(R"(--nodes: "1876" is too large)", "plan $work/all-nodes.yaml --nodes 1876");
  cli.refuse_usage("--fit-probability: Value 1", "plan $example --fit-probability 1");
  cli.refuse_usage("--sure: Value 1", "plan $example --sure 1");
  cli.expect(
      0,
      R"(^1 and [0-9]+ are too close to call: 1 is faster with probability [5-9][0-9]\.[0-9] % \(--sure asks for 95\.0 %\)$)",
      "plan $example --risk fastest --sure 0.95 --details");
  cli.expect(0, "^  measure     .* node-hours, [0-9,]+ USD; script: --out DIR$",
             "plan $example --risk fastest --sure 95% --details");
  cli.run("plan $example --sure 0.5 --details");
  cli.prints_no("too close to call");
  cli.run("plan $example --top 1 --risk fastest --details");
  cli.prints_no("1 is faster");
  cli.refuse_usage("--time-limit: Value 0", "plan $example --time-limit 0");

  // The surer the fit, the less there is to choose from; threads change nothing.
  cli.expect(0, "^Best ", "plan $example --fit-probability 0.999");
  cli.prints(R"(fits: > 99\.9 %)");
  const std::string one_thread = cli.run("plan $example --threads 1").out;
  cli.run("plan $example --threads 3");
  CHECK(cli.last.out == one_thread);
}

TEST_CASE("what runs today", "[cli]") {
  Session cli;
  // What runs today.
  cli.set("config", cli.get("source") + "/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  cli.expect(0, R"(; the best plan is 1\.[2-9][0-9]* times as fast)",
             "plan $example --baseline $config --details");
  cli.prints(R"(distributed_strategy\.tensor_model_parallel_size +32 -> 8  \(line [0-9]+\))");
  cli.expect(0, R"("key": "distributed_strategy\.tensor_model_parallel_size")",
             "plan $example --baseline $config --format json");
  cli.expect(0, "^  the best plan is [0-9.]+ times as fast; ", "plan $example --baseline $config --details");
  cli.change("$config", "tp16.yaml", {{"tensor_model_parallel_size: 32", "tensor_model_parallel_size: 16"}});
  cli.write("llama2-70b.yaml",
            "model: llama2-70b\ntraining: {sequence: 4096, global_batch: 512}\n"
            "cluster: {instance: trn1.32xlarge, nodes: 8}\n");
  cli.expect(0, R"(\(replica-group\): )", "plan $example --baseline $work/tp16.yaml");
  cli.prints("^Best ");
  cli.change("$config", "short.yaml", {{"encoder_seq_length: 8192", "encoder_seq_length: 4096"}});
  cli.refuse(R"(short\.yaml:[0-9]+:[0-9]+: model\.encoder_seq_length: sequence 4096)",
             "plan $example --baseline $work/short.yaml");
  cli.expect(
      0, "model_source: a plan is for",
      "plan $work/llama2-70b.yaml --baseline $source/tests/io/fixtures/nxdt/megatron_llama_70b_config.yaml");
  cli.refuse("this is not an NxDT config", "plan $example --baseline $example");
}

// Catches an answer for changed hardware that does not say so, or a folder for it.
TEST_CASE("hardware as a question", "[cli]") {
  Session cli;
  cli.expect(0, R"(on 1 x trn1\.32xlarge with core\.memory=32GiB \(32 cores\)$)",
             "plan llama3-8b --set core.memory=32GiB");
  cli.prints(" of 32 GiB");
  cli.prints_no("--out DIR");
  cli.expect(0, R"(--set nic_bandwidth=x2 shows it; --details)",
             "whatif llama3-8b --nodes 4 --tokens 100B --set nic_bandwidth=x2");
  cli.expect(0, R"("core\.memory=x2")",
             "simulate llama3-8b --strategy tp=8,pp=4 --set core.memory=x2 --format json");
  cli.expect(0, R"(with nic_bandwidth=x0\.5$)", "collective allr --nodes 2 --set nic_bandwidth=x0.5");
  cli.expect(0, "^  core.memory  +16  GiB$", "instances trn1.32xlarge");
  cli.refuse("--set: a folder would be written for hardware that does not exist",
             "plan llama3-8b --set core.memory=32GiB --out $work/made-up");
  cli.refuse("did you mean nic_bandwidth", "plan llama3-8b --set nic_bandwith=x2");
}

// Catches a measurement that is blamed where the user's own numbers of the machine make it impossible, and a fault of a
// table that names no row of it.
TEST_CASE("a measured all-reduce that the network cannot carry", "[cli]") {
  Session cli;
  const std::string simulate =
      "simulate llama3-8b --strategy tp=8,framework=megatron --instance p5.48xlarge --nodes 2 ";
  cli.refuse("187 GB/s is more than 2 nodes .*, with an oversubscription of 8; without, they can$",
             simulate + "--all-reduce-gbps 187 --set oversubscription=8");
  CHECK(cli.last.err.find("fix: leave out --set oversubscription=8, if ") != std::string::npos);
  cli.refuse("with nic_bandwidth=x0.1; without, they can$",
             simulate + "--all-reduce-gbps 187 --set nic_bandwidth=x0.1");
  cli.refuse("is more than 2 nodes of p5.48xlarge can reach, about [0-9.]+ GB/s$",
             simulate + "--all-reduce-gbps 4000 --set oversubscription=8");
  cli.write("large.txt", nccl_sample());
  cli.refuse("large.txt:26:[0-9]+: busbw: 187.5 GB/s is more than .* oversubscription of 8",
             simulate + "--measured $work/large.txt --set oversubscription=8");
  cli.write("small.txt", nccl_ranks(2, "NVIDIA H100 80GB HBM3") + nccl_heading() + nccl_row(1 << 20, 60, 60) +
                             nccl_row(1 << 22, 80, 80) + nccl_end());
  cli.refuse("small.txt:25:[0-9]+: busbw: rows of 4 MiB are too small",
             simulate + "--measured $work/small.txt");
  cli.write("apart.txt", nccl_sample() + nccl_ranks(2, "NVIDIA H100 80GB HBM3") + nccl_heading() +
                             nccl_row(1 << 30, 21000, 21000) + nccl_end());
  cli.expect(0, "as measured: 134.1 GB/s", simulate + "--measured $work/apart.txt");
  cli.says("4 times of 1024 MiB on 2 nodes lie between 95.87 .line 53. and 187.5 GB/s .line 26.");
}

TEST_CASE("a limit of time", "[cli]") {
  Session cli;
  cli.write_job("long.yaml", "llama3.1-405b", 64, 1024);
  cli.expect(0, "^Best |^No plan.*stopped", "plan $work/long.yaml --time-limit 0.5");
  cli.expect(0, R"("proven": false|"proven": true)", "plan $work/long.yaml --time-limit 0.5 --format json");
}

TEST_CASE("the same twice", "[cli]") {
  Session cli;
  const std::regex wall("\"seconds\": [0-9.e+-]+");
  for (const std::string format : {"text", "json"}) {
    const std::string command = "plan $example --format " + format;
    const std::string first = std::regex_replace(cli.run(command).out, wall, "");
    CHECK(std::regex_replace(cli.run(command).out, wall, "") == first);
  }
}

TEST_CASE("a plan for GPUs says what its reader can make sense of", "[cli]") {
  Session cli;
  // --target states the stack, and nobody chose the usual profile.
  const std::string plan = "plan llama3-8b --instance p5.48xlarge --nodes 2 --details";
  cli.expect(0, "GiB a GPU +stage 0", plan + " --target megatron");
  cli.says_no("software\\.framework is not stated");
  cli.says_no("of another kind of machine");
  // Its flags have steps and rates of their own: of the published training only these are taken.
  cli.says("; sequence and batch as in aws-neuron/");
  for (const char* word : {"a core", "tensor engine", "ZeRO-1 buckets", "compiles", "LlamaMLP recomputed"})
    cli.prints_no(word);
  cli.prints("matrix products \\(tensor cores\\): 1 %");
  cli.prints("temporary buffers");
  cli.run(plan + " --target megatron --profile trn1");
  cli.says("p5\\.48xlarge timed with the parameters of h100: trn1 is of another kind of machine");
  // Neither states it here.
  cli.run(plan + " --out folder");
  cli.says("software\\.framework is not stated: searched as megatron and torchtitan run it");
}

// Sources: the recipes of the targets (targets/megatron, targets/torchtitan). 2T tokens over 1024 x 8192 a step are
// 238,419 steps; the script's 1,953,125,000 samples are 1,907,348 of them: 16T tokens, whatever the batch.
TEST_CASE("plan --out tells the training that it writes", "[cli]") {
  Session cli;
  const std::string plan = "plan llama3-8b --instance p5.48xlarge --nodes 2 --out ";
  cli.expect(0, "^Written +1,907,348 steps of 8\\.389M tokens: 16T in [0-9,.]+ days", plan + "open");
  cli.prints("both as in NVIDIA/Megatron-LM@d98e8a6:examples/llama/train_llama3_8b_h100_fp8\\.sh");
  cli.prints("--tokens states others");
  cli.expect(0, "^Written +238,419 steps of 8\\.389M tokens: 2T in [0-9.]+ days;",
             plan + "stated --tokens 2T");
  cli.prints(" rate as in NVIDIA/Megatron-LM@d98e8a6");
  cli.prints_no("--tokens states others");
  cli.expect(0, "^Written +1,000 steps of", plan + "titan --target torchtitan");
  cli.prints("both as in pytorch/torchtitan@v0\\.2\\.2");
  cli.expect(0, "^Best ", "plan llama3-8b --out trn1");  // its config has the training that was announced
  cli.prints_no("^Written ");
}

// It recommended TP 8 on one node, which v0.2.2 trains in FP32: there the state alone is 16 bytes of each of 70.6 G
// parameters on 8 x 141 GB.
TEST_CASE("plan --target torchtitan judges by what TorchTitan runs", "[cli]") {
  Session cli;
  cli.expect(
      3, "^No plan +no strategy is legal and fits",
      "plan llama3.1-70b --instance p5en.48xlarge --nodes 1 --global-batch 16 --sequence 8192 --target "
      "torchtitan");
  cli.write("job.yaml",
            "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 256}\n"
            "cluster: {instance: p5.48xlarge, nodes: 2}\npin: {sharding: zero3, recompute: full}\n");
  cli.expect(0, "^Best +DP 16", "plan $work/job.yaml --target torchtitan");
  cli.refuse("pin\\.sharding: \"zero3\" is not one that megatron has",
             "plan $work/job.yaml --target megatron");
}

TEST_CASE("a price that is not on demand says so", "[cli]") {
  Session cli;
  cli.expect(0, "^ +trn2\\.48xlarge .* 35\\.76 \\* ", "instances");
  cli.prints("^ +p5\\.48xlarge .* 55\\.04 +timed");
  cli.prints("USD/h on demand, \\* capacity block");
  cli.expect(0, "143\\.04 USD/h capacity block",
             "simulate llama3-70b --instance trn2.48xlarge --nodes 4 --strategy tp=32,pp=4");
  cli.expect(0, "^Best .* USD per billion tokens, capacity block price",
             "plan llama3-70b --instance trn2.48xlarge --nodes 4 --objective cost");
  cli.expect(
      0, "USD/h for 4 x trn2\\.48xlarge \\(as stated\\)$",
      "whatif llama3-70b --instances trn2.48xlarge --nodes 4 --tokens 1T --usd-per-node-hour 30 --details");
}

TEST_CASE("a plan is priced as stated, and the next command carries the price", "[cli]") {
  Session cli;
  cli.expect(0, "^  price       80\\.00 USD/h stated, ",
             "simulate llama3-8b --instance p5.48xlarge --nodes 4 --strategy tp=8 --price p5=20/h");
  cli.write("prices.yaml", "trn1.32xlarge: 10/h\n");
  cli.expect(0, "\"usd_per_hour\": 40\\.0",
             "plan llama3-8b --nodes 4 --price $work/prices.yaml --format json");
  cli.expect(0, "--price trn1\\.32xlarge=10/h shows it",
             "whatif llama3-8b --nodes 4 --tokens 100B --price trn1=10/h");
  cli.refuse("--price: p5\\.48xlarge is not among the types that are asked about",
             "plan llama3-8b --nodes 4 --price p5=20/h");
}

TEST_CASE("machines that one search cannot compare, and targets of other machines", "[cli]") {
  Session cli;
  cli.expect(2, "", "plan llama3-70b --instance trn2.48xlarge,p5.48xlarge --nodes 16");
  cli.says("cluster\\.instance: trn2\\.48xlarge and p5\\.48xlarge are timed with different parameters$");
  cli.expect(2, "", "plan llama3-70b --instance p5.48xlarge --nodes 16 --target nxdt");
  cli.says("--target: nxdt does not train on p5\\.48xlarge$");
  cli.says("^  fix: write megatron or torchtitan, or leave it out$");
  cli.expect(0, "^Best ", "plan llama3-8b --instance p5.48xlarge,p5en.48xlarge --nodes 2");
}
