#include "calibrate/data/layout_jobs.h"

#include <algorithm>
#include <set>

#include "io/catalog/scoring.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/io/same_model.h"
#include "tests/models/setup.h"
#include "text/document.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using namespace trnplan::calibrate;

namespace {

const LayoutRules& rules() {
  static const LayoutRules all = io::scoring_from(read_document(test_catalog().file("scoring.json")));
  return all;
}

LayoutJob job_of_run(const logs::LayoutRun& run) {
  return layout_job(run, rules(), [](const std::string& name) { return test_catalog().instance(name); });
}

/// Of vTrain's table: 4 x 2 on a node.
logs::LayoutRun sample() {
  logs::LayoutRun run;
  run.id = "a";
  run.source = "VIA-Research/vTrain:data/ground_truth_single.csv";
  run.gpu = "A100-80GB";
  run.mlp = "plain";
  run.sharding = "none";
  run.recompute = "full";
  run.precision = "fp16";
  run.layers = 20;
  run.hidden = 2048;
  run.intermediate = 8192;
  run.heads = run.kv_heads = 16;
  run.vocabulary = 50257;
  run.sequence = 1024;
  run.gpus = 8;
  run.tensor_parallel = 4;
  run.pipeline_parallel = 2;
  run.data_parallel = 1;
  run.micro_batch = 2;
  run.global_batch = 8;
  return run;
}

}  // namespace

// Catches: two sets of numbers for one model.
TEST_CASE("a network of a rule that the catalogue has too is the catalogue's", "[calibrate]") {
  const std::vector<std::string> listed = test_catalog().models();
  int shared = 0;
  for (const LayoutRule& rule : rules().rules) {
    if (!rule.network || std::find(listed.begin(), listed.end(), rule.network->name) == listed.end())
      continue;
    CAPTURE(rule.text);
    CHECK(models::same_model(*rule.network, test_catalog().architecture(rule.network->name)));
    ++shared;
  }
  CHECK(shared > 0);
}

TEST_CASE("a row becomes a job on the machine of its source", "[calibrate]") {
  const LayoutJob job = job_of_run(sample());
  CHECK(job.refused.empty());
  CHECK(job.job.cluster.instance.name == "vtrain-a100");
  CHECK(job.job.cluster.nodes == 1);
  // Padded to a multiple of 128 for each of 4 ranks: 99 times 512.
  CHECK(job.job.architecture.vocabulary == 50688);
  CHECK(job.strategy ==
        "tp=4,pp=2,vpp=1,cp=1,ep=1,dp=1,mbs=2,framework=megatron-deepspeed,flash=false,sp=false,shard=none,"
        "recompute=full,precision=mixed_precision");
  CHECK(job.job.architecture.tied_embeddings);
  logs::LayoutRun other = sample();
  other.source = "bigscience-workshop/bigscience:train";
  other.gpus = 64;
  other.data_parallel = 8;
  CHECK(job_of_run(other).job.cluster.instance.name == "jean-zay-a100");
  CHECK(job_of_run(other).job.cluster.nodes == 8);
}

TEST_CASE("every row that is not a job says why", "[calibrate]") {
  const auto refused = [](const std::function<void(logs::LayoutRun&)>& edit) {
    logs::LayoutRun run = sample();
    edit(run);
    return job_of_run(run).refused;
  };
  CHECK(contains(refused([](auto& r) { r.gpu = "no such GPU"; }), "no rule of scoring.json"));
  CHECK(contains(refused([](auto& r) { r.source = "nobody"; }), "source: no rule"));
  CHECK(contains(refused([](auto& r) { r.layers = 0; }), "network"));
  CHECK(contains(refused([](auto& r) { r.heads = 7; }), "heads"));
  CHECK(contains(refused([](auto& r) { r.tensor_parallel = 0; }), "degree"));
  CHECK(contains(refused([](auto& r) { r.data_parallel = 2; }), "multiply"));
  CHECK(contains(refused([](auto& r) { r.gpus = r.tensor_parallel = 1'000'000'000; }), "multiply"));
  CHECK(contains(refused([](auto& r) {
                   r.gpus = r.data_parallel = 12;
                   r.tensor_parallel = r.pipeline_parallel = 1;
                 }),
                 "whole nodes"));
  CHECK(contains(refused([](auto& r) { r.faults.push_back({}); }), "cannot be read"));
}

// The shard group of a row names another framework than its source, and so does what its precision says.
TEST_CASE("a column's keys override those of columns before it", "[calibrate]") {
  logs::LayoutRun run = sample();
  run.source = "NVIDIA-NeMo/Megatron-Bridge:docs";
  run.gpu = "H100-SXM-80GB";
  run.precision = "FP8";
  run.tensor_parallel = run.pipeline_parallel = 1;
  run.data_parallel = 8;
  run.sharding = "fsdp8";
  run.recompute = "none";
  CHECK(
      job_of_run(run).strategy ==
      "tp=1,pp=1,vpp=1,cp=1,ep=1,dp=8,mbs=2,framework=megatron-fsdp,shard=fsdp,shard_degree=8,recompute=none,"
      "precision=fp8_param_gather");
  run.source = "pytorch/torchtitan:benchmarks";
  run.precision = "bf16 eager";
  CHECK(contains(job_of_run(run).strategy, "precision=mixed_precision,framework=fsdp-eager"));
  CHECK_FALSE(contains(job_of_run(run).strategy, "framework=fsdp,"));
  // BLOOM's rows before its BF16 optimizer counted fp32 gradients.
  run.source = "bigscience-workshop/bigscience:train/tr11-176B-ml";
  run.gpu = "A100-80GB";
  run.sharding = "zero1";
  run.precision = "fp16/bf16";
  CHECK(contains(job_of_run(run).strategy, "framework=megatron-deepspeed-fp16"));
  run.precision = "bf16, fp32 grad accumulation";
  CHECK(contains(job_of_run(run).strategy, "framework=megatron-deepspeed,"));
}

// The playbook's table says of each run with a pipeline whether it was before the repair. Catches notes that are not
// read, and clauses of other sources.
TEST_CASE("a clause of a note overrides the keys of all columns", "[calibrate]") {
  logs::LayoutRun run = sample();
  run.source = "nanotron/ultrascale-playbook-data (Hugging Face) = x";
  run.gpu = "H100-SXM-80GB";
  run.mlp = "gated";
  run.recompute = "none";
  run.precision = "bf16";
  const auto loop = [&](const char* note) {
    run.note = note;
    const std::string keys = job_of_run(run).strategy;
    const std::size_t at = keys.find("framework=");
    return keys.substr(at, keys.find(',', at) - at);
  };
  CHECK(loop("1F1B; memory 1 GB; before the PP fix of the framework") == "framework=nanotron-polling");
  CHECK(loop("before the PP fix of the framework; 1F1B") == "framework=nanotron-polling");
  CHECK(loop("1F1B; not before the PP fix of the framework") == "framework=nanotron");
  CHECK(loop("") == "framework=nanotron");
  run.source = "huggingface.co nanotron/old_bench";
  CHECK(loop("before the PP fix of the framework") == "framework=nanotron-sync");
}

TEST_CASE("groups of any number of ranks, and words of a precision in any order", "[calibrate]") {
  logs::LayoutRun run = sample();
  run.source = "pytorch/torchtitan:benchmarks";
  run.gpu = "H100-SXM-80GB";
  run.tensor_parallel = run.pipeline_parallel = 1;
  run.gpus = run.data_parallel = 48;
  run.recompute = "none";
  const auto keys = [&](const std::string& sharding, const std::string& precision) {
    run.sharding = sharding;
    run.precision = precision;
    const LayoutJob job = job_of_run(run);
    return job.refused.empty() ? job.strategy.substr(job.strategy.find("mbs=2,") + 6) : job.refused;
  };
  CHECK(keys("fsdp24", "bf16") ==
        "framework=fsdp,shard=fsdp,shard_degree=24,recompute=none,precision=mixed_precision");
  CHECK(contains(keys("fsdp1", "bf16"), "shard=none"));
  const std::string async = keys("fsdp8", "float8 rowwise compile asyncTP");
  CHECK(contains(async, "precision=fp8"));
  CHECK(contains(async, "framework=fsdp-async-tp"));
  CHECK(keys("fsdp8", "asyncTP, compile+rowwise FLOAT8") ==
        replaced(async, "precision=fp8,framework=fsdp-async-tp", "framework=fsdp-async-tp,precision=fp8"));
  for (const char* wrong : {"fsdp-8", "fsdp8x", "fsdp99999999999"}) {
    CHECK(contains(keys(wrong, "bf16"), "no rule of scoring.json"));
  }
  const auto recompute = [&](const char* text) {
    run.recompute = text;
    const std::string all = keys("fsdp8", "bf16");
    return all.substr(all.find("recompute="), all.rfind(",") - all.find("recompute="));
  };
  CHECK(recompute("selective core_attn,layernorm mlp") == "recompute=core_attn+layernorm+mlp");
  CHECK(recompute("selective 4") == "recompute=full/4");
  CHECK(recompute("selective op") == "recompute=SelectiveOp");
  run.recompute = "none";
  CHECK(contains(keys("fsdp8", "bf16 float8"), "contradict"));
  CHECK(contains(keys("fsdp8", "eager asyncTP bf16"), "contradict"));
  CHECK(contains(keys("fsdp8", "bf16 magic"), "no rule of scoring.json"));
  CHECK(contains(keys("fsdp8", " , "), "no rule of scoring.json"));
}

// 48 layers of 128 experts, 8 for a token; the same with places of its experts that nobody states.
TEST_CASE("a model whose rows state no network has that of its rule", "[calibrate]") {
  logs::LayoutRun run = sample();
  run.source = "NVIDIA-NeMo/Megatron-Bridge:docs";
  run.gpu = "H100-SXM-80GB";
  run.model = "Qwen3_30B_a3B";
  run.precision = "FP8";
  run.tensor_parallel = run.pipeline_parallel = 1;
  run.data_parallel = run.expert_parallel = 8;
  run.layers = run.hidden = run.heads = 0;
  const LayoutJob job = job_of_run(run);
  CHECK(job.refused.empty());
  CHECK(job.job.architecture.experts == 128);
  CHECK(models::parameters(job.job.architecture) == 30'532'122'624);
  run.model = "Qwen3_30B_a3B (tokendrop)";
  CHECK(contains(job_of_run(run).refused, "dropped"));
  const auto problem = [](const std::string& rule) {
    return refusal_of(
        [&] { (void)io::scoring_from(parse_document("{\"rules\": [" + rule + "]}", "s.json")); });
  };
  CHECK(contains(problem(R"({"column": "model", "text": "M", "network": {"name": "m"}, "why": "w"})"),
                 "hidden_size"));
}

// Catches: fits called wrong where the recipe, not the table, says what moves to the host.
TEST_CASE("memory of a recipe's own settings is not compared", "[calibrate]") {
  logs::LayoutRun run = sample();
  run.source = "NVIDIA-NeMo/Megatron-Bridge:docs";
  run.gpu = "H100-SXM-80GB";
  CHECK(job_of_run(run).memory.known);
  run.recompute = "recipe default (not in table)";
  CHECK(job_of_run(run).refused.empty());
  CHECK_FALSE(job_of_run(run).memory.known);
}

// A part of a node keeps the switch: four GPUs reach each other over it, and their NICs.
TEST_CASE("a part of a node", "[calibrate]") {
  const topology::Instance part = part_of(test_catalog().instance("dgx-a100-80gb"), 4);
  CHECK(part.cores() == 4);
  CHECK(part.links.size() == 4);
  for (const topology::Link& l : part.links) CHECK(l.chip_b == 4);
  CHECK(part.nic_of_chip.size() == 4);
  const topology::ChipGraph graph(part);
}

// 256 GPUs stand on four domains of 72, 64 on each. Catches: a reason "domains of more than 8 GPUs are not modelled"
// for rows of a machine that is.
TEST_CASE("GPUs that fill no whole nodes take an equal part of each", "[calibrate]") {
  topology::Instance domain = test_catalog().instance("gb200-nvl72");
  CHECK(nodes_of(256, domain) == 4);
  CHECK(domain.chips == 64);
  CHECK(domain.hosts == 16);
  CHECK(domain.nics == 64);
  topology::Instance tray = test_catalog().instance("gb300-nvl72");
  CHECK(nodes_of(8, tray) == 1);
  CHECK(tray.hosts == 2);
  topology::Instance odd = test_catalog().instance("dgx-a100-80gb");
  CHECK(nodes_of(12, odd) == 0);
}

TEST_CASE("rules that say nothing, or two things, are refused", "[calibrate]") {
  const auto problem = [](const std::string& rule) {
    return refusal_of(
        [&] { (void)io::scoring_from(parse_document("{\"rules\": [" + rule + "]}", "s.json")); });
  };
  CHECK(problem(R"({"column": "gpu", "text": "G", "instance": "i", "why": "w"})").empty());
  CHECK(contains(problem(R"({"column": "gpu", "text": "G", "why": "w"})"), "says nothing"));
  CHECK(contains(problem(R"({"column": "gpu", "text": "G", "instance": "i", "refused": "r", "why": "w"})"),
                 "two things"));
  CHECK(contains(problem(R"({"column": "gpus", "text": "G", "refused": "r", "why": "w"})"), "not a column"));
  CHECK(contains(problem(R"({"column": "gpu", "text": "G", "refused": "r"})"), "why"));
  CHECK(contains(problem(R"({"colum": "gpu", "text": "G", "refused": "r", "why": "w"})"), "colum"));
  CHECK_FALSE(problem("5").empty());
  CHECK(problem(R"({"column": "precision", "word": "compile", "why": "w"})").empty());
  CHECK(contains(problem(R"({"column": "precision", "word": "a", "text": "b", "why": "w"})"), "one word"));
  CHECK(contains(problem(R"({"column": "gpu", "word": "a", "refused": "b", "why": "w"})"), "one word"));
  CHECK(problem(
            R"({"column": "sharding", "text": "fsdp{n}", "keys": "shard=fsdp,shard_degree={n}", "why": "w"})")
            .empty());
}

// The catalogue's own table: every row is a job or has a reason, and reasons are few.
TEST_CASE("every row of the shipped table is explained", "[calibrate]") {
  const std::string text = read_text(test_catalog().file("gpu-runs.csv"));
  const auto runs = logs::parse_layout_runs(text, "gpu-runs.csv", logs::RunTable::gpu_runs);
  CHECK(runs.size() == 1322);
  std::set<std::string> reasons;
  std::size_t jobs = 0;
  for (const logs::LayoutRun& run : runs) {
    CHECK(run.faults.empty());
    const LayoutJob job = job_of_run(run);
    job.refused.empty() ? static_cast<void>(++jobs) : static_cast<void>(reasons.insert(job.refused));
    CHECK(job.refused.empty() != job.strategy.empty());
  }
  CHECK(jobs > 1000);
  CHECK(reasons.size() < 12);
}
