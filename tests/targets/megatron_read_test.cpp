// check --target megatron: scripts that are followed, files with faults, and what is not modelled.
#include <algorithm>

#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/io/same_model.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

const std::string kLine =
    "#!/usr/bin/env bash\n# trains\nARGS=(\n  --num-layers 32 --hidden-size 4096 # a comment\n"
    "  --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention\n  --num-query-groups 8 "
    "--swiglu "
    "--normalization RMSNorm\n  --seq-length 8192 --max-position-embeddings \"8192\" --micro-batch-size 1\n"
    "  --global-batch-size=128 --bf16 --disable-bias-linear\n)\ntorchrun --nproc_per_node 8 pretrain_gpt.py "
    "\"${ARGS[@]}\" \\\n  --tensor-model-parallel-size 2 --sequence-parallel \\\n";

planner::RunReading megatron(const std::string& more, int ranks = 16) {
  return *targets::find("megatron")->read_run({"train.sh", kLine + more}, ranks);
}

std::string refused(const std::string& more, int ranks = 16) {
  return refusal_of([&] { (void)megatron(more, ranks); });
}

}  // namespace

TEST_CASE("the nodes that a launch line starts", "[targets]") {
  const auto nodes = [](const std::string& text) {
    return targets::find("megatron")->nodes_of({"train.sh", text + "torchrun pretrain_gpt.py\n"}).value_or(0);
  };
  CHECK(nodes("") == 0);
  CHECK(nodes("torchrun --nproc_per_node 8 --nnodes 16 x.py\n") == 16);
  CHECK(nodes("torchrun --nnodes=16 x.py\n") == 16);
  // As NVIDIA/Megatron-LM@d98e8a6:examples/llama/train_llama3_8b_h100_fp8.sh has it.
  CHECK(nodes("NUM_NODES=16\nARGS=(\n    --nproc_per_node $GPUS_PER_NODE\n    --nnodes $NUM_NODES\n)\n") ==
        16);
  // As the folder of plan --out has it.
  CHECK(nodes("nodes=16\ntorchrun --nproc_per_node=8 --nnodes=\"$nodes\" x.py\n") == 16);
  CHECK(nodes("NNODES=${NNODES:-16}\ntorchrun --nnodes ${NNODES} x.py\n") == 16);
  CHECK(nodes("torchrun --nnodes=${PET_NNODES:-16} x.py\n") == 16);
  CHECK(nodes("#SBATCH --nodes=16\ntorchrun --nnodes $SLURM_NNODES x.py\n") == 16);
  CHECK(nodes("#SBATCH -N 16\n") == 16);
  CHECK(nodes("# torchrun --nnodes 16\n") == 0);
  CHECK(nodes("N=$N\ntorchrun --nnodes $N x.py\n") == 0);
  CHECK(nodes("A=$B\nB=$A\ntorchrun --nnodes $A x.py\n") == 0);
  CHECK(nodes("torchrun --nnodes 1:64 x.py\n") == 0);
  CHECK(nodes("torchrun --nnodes 1000000 x.py\n--nnodes") == 0);
}

TEST_CASE("a script of Megatron-LM is read through arrays, quotes and comments", "[targets]") {
  const planner::RunReading run = megatron("");
  CHECK(run.config.strategy.tensor_parallel == 2);
  CHECK(run.config.strategy.sequence_parallel);
  CHECK(run.config.strategy.data_parallel == 8);
  CHECK_FALSE(run.config.strategy.zero1);
  CHECK(run.config.training.global_batch == 128);
  CHECK(run.architecture.kv_heads == 8);
  CHECK(run.architecture.tied_embeddings);  // nothing unties them
  CHECK(run.architecture.vocabulary == 0);
  CHECK(run.config.not_modelled.empty());
  CHECK(megatron("--use-megatron-fsdp").config.not_modelled.size() == 1);
  CHECK(megatron("--fp8-format hybrid").config.strategy.precision == models::Precision::fp8);
}

// 32 layers on 4 stages: 7 and 9 at the ends leave 16 to two stages; as Megatron's own cuts, 33 on 4 are 8 + 9 + 9 + 7.
TEST_CASE("counts of the ends of a pipeline are its cuts", "[targets]") {
  const std::string ends = "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 7 ";
  const planner::RunReading run = megatron(ends + "--decoder-last-pipeline-num-layers 9\n");
  CHECK(run.config.strategy.pipeline_cuts == std::vector<int>{6, 14, 22});
  CHECK(run.config.not_modelled.empty());
  // 6 and 10 in two chunks a stage: 3, 4, 4, 5 twice.
  CHECK(megatron("--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
                 "--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 10\n")
            .config.strategy.pipeline_cuts == std::vector<int>{2, 6, 10, 15, 18, 22, 26});
  CHECK(refused(ends + "--decoder-last-pipeline-num-layers 8\n").find("leaves 17 of 32 layers to 2 stages") !=
        std::string::npos);
}

// Counted as layers, 31 and the embedding are 8 a stage, so that the first has 7; 30 with the loss too, in chunks
// of 4, leave 3 to the first and the last chunk.
TEST_CASE("embedding and loss counted as layers are cuts", "[targets]") {
  const auto read = [](const std::string& layers, const std::string& flags) {
    return *targets::find("megatron")
                ->read_run({"train.sh", replaced(kLine, "--num-layers 32", "--num-layers " + layers) + flags},
                           16);
  };
  const std::string embedding = " --account-for-embedding-in-pipeline-split ",
                    loss = " --account-for-loss-in-pipeline-split ";
  const planner::RunReading first = read("31", "--pipeline-model-parallel-size 4" + embedding);
  CHECK(first.config.strategy.pipeline_cuts == std::vector<int>{6, 14, 22});
  CHECK(first.config.not_modelled.empty());
  const planner::RunReading chunks = read(
      "30", "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2" + embedding + loss);
  CHECK(chunks.config.strategy.pipeline_cuts.empty());  // as the loop cuts them by itself
  CHECK(models::layers_per_chunk(chunks.architecture, chunks.config.strategy) ==
        std::vector<int>{3, 4, 4, 4, 4, 4, 4, 3});
  CHECK(chunks.config.not_modelled.empty());
  const planner::RunReading ends = read(
      "6", "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2" + embedding + loss);
  CHECK(ends.config.not_modelled.empty());
  CHECK(models::layers_per_chunk(ends.architecture, ends.config.strategy) ==
        std::vector<int>{0, 1, 1, 1, 1, 1, 1, 0});
  CHECK(read("2", "--pipeline-model-parallel-size 4" + embedding + loss).config.not_modelled.front() ==
        "a stage without layers");
  CHECK_FALSE(refusal_of([&] { (void)read("32", "--pipeline-model-parallel-size 4" + embedding); }).empty());
  // What is read is written: the flags of both, and the same cuts again.
  models::Job job = job_of("llama3-8b", 2, 4096, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  job.architecture.layers = 30;
  models::Strategy s = strategy_of(job, "framework=megatron,tp=2,pp=4,vpp=2,mbs=1,cuts=2/6/10/14/18/22/26");
  const planner::Target& target = *targets::find("megatron");
  CHECK(target.violations(job, s).empty());
  const std::vector<std::string> words = target.command(job, s).arguments;
  for (const std::string& flag : {embedding, loss})
    CHECK(std::find(words.begin(), words.end(), flag.substr(1, flag.size() - 2)) != words.end());
  CHECK(std::find(words.begin(), words.end(), "--decoder-first-pipeline-num-layers") == words.end());
  s.pipeline_cuts = {2, 6, 10, 13, 17, 21, 25};  // 3, 4, 4, 3, 4, 4, 4, 4
  CHECK_FALSE(target.violations(job, s).empty());
  job.architecture.layers = 32;
  s.pipeline_cuts = {2, 6, 10, 15, 18, 22, 26};
  CHECK(target.violations(job, s).empty());
  const std::vector<std::string> counts = target.command(job, s).arguments;
  const auto first_of = std::find(counts.begin(), counts.end(), "--decoder-first-pipeline-num-layers");
  REQUIRE(first_of != counts.end());
  CHECK(*(first_of + 1) == "6");
  s.pipeline_cuts = {3, 6, 10, 14, 18, 22, 25};
  CHECK_FALSE(target.violations(job, s).empty());  // 4, 3, 4, ... no flag says so
}

TEST_CASE("copies of the optimizer's states are read and written", "[targets]") {
  const std::string zero1 = "--use-distributed-optimizer --num-distributed-optimizer-instances ";
  CHECK(megatron(zero1 + "2").config.strategy.shard_ranks == 4);
  CHECK(megatron(zero1 + "1").config.strategy.shard_ranks == 0);
  CHECK_FALSE(megatron(zero1 + "8").config.strategy.zero1);
  CHECK(contains(refused(zero1 + "3"), "3 copies of the optimizer's states on 8 ranks"));
  CHECK(contains(refused(zero1 + "0"), "--num-distributed-optimizer-instances"));
  models::Job job = job_of("llama3-8b", 2, 4096, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const models::Strategy s = strategy_of(job, "framework=megatron,tp=2,mbs=1,shard_degree=4");
  const planner::Target& target = *targets::find("megatron");
  CHECK(target.violations(job, s).empty());
  const std::vector<std::string> words = target.command(job, s).arguments;
  const auto flag = std::find(words.begin(), words.end(), "--num-distributed-optimizer-instances");
  REQUIRE(flag != words.end());
  CHECK(*(flag + 1) == "2");
}

TEST_CASE("faults of a script of Megatron-LM", "[targets]") {
  CHECK(contains(refused("--context-parallel-size $CP"),
                 "train.sh:12:1: --context-parallel-size: \"$CP\" is not a"));
  CHECK(contains(refused("", 7), "does not divide 7 ranks"));
  CHECK(contains(refused("--pipeline-model-parallel-size 3", 24), "32 on PP 3"));
  CHECK(contains(refused("--recompute-granularity full"), "full needs a method"));
  CHECK(contains(refused("--global-batch-size 100"), "not a multiple of 8 sequences"));
  CHECK(contains(refused("--train-iters 5 --train-samples 640"), "both given"));
  try {
    (void)targets::find("megatron")->read_run({"empty.sh", "echo nothing\n"}, 8);
    FAIL_CHECK("read");
  } catch (const InputError& e) {
    CHECK(e.faults().size() == 5);
  }
}

namespace {

const char* const kShape =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 ";

planner::RunReading run_of(const std::string& text, int ranks = 16, int hosts = 0,
                           std::map<std::string, std::string, std::less<>> environment = {}) {
  return *targets::find("megatron")->read_run({"run.sh", text, hosts, std::move(environment)}, ranks);
}

}  // namespace

// Three grammars that shipped scripts have: arrays and quoted pairs behind a condition, Slurm with defaults by the
// number of nodes, a line inside "bash -c".
TEST_CASE("a script of Megatron-LM is followed through its variables", "[targets]") {
  const planner::RunReading arrays = run_of(
      "TP=2; SEQ=${2:-8192}; KIND=\"fp8\"\nMODEL=(\n  --num-layers 32 --hidden-size 4096 "
      "--num-attention-heads 32\n"
      "  --seq-length $SEQ --max-position-embeddings $SEQ\n)\nEXTRA=()\nif [[ \"$KIND\" == \"fp8\" ]]; then\n"
      "  EXTRA+=(\n    \"--fp8-format hybrid\"\n  )\nfi\nTRAIN=(--micro-batch-size 1 --global-batch-size 64 "
      "--bf16)\n"
      "TRAIN+=(\"${EXTRA[@]}\")\nPROGRAM=pretrain_gpt.py\n[ ! -f \"$PROGRAM\" ] && exit 1\n"
      "torchrun --nproc_per_node 8 \"$PROGRAM\" ${MODEL[@]} \\\n  ${TRAIN[@]} --tensor-model-parallel-size "
      "$TP\n");
  CHECK(arrays.config.strategy.tensor_parallel == 2);
  CHECK(arrays.config.strategy.precision == models::Precision::fp8);
  CHECK(arrays.config.training.sequence == 8192);

  const std::string slurm =
      "#!/bin/bash\n#SBATCH --nodes=2\nif [ $NODES -le 4 ]; then\n  : \"${TENSOR:=4}\"\n  : "
      "\"${BATCH:=64}\"\n"
      "elif [ $NODES -ge 8 ]; then\n  : \"${TENSOR:=8}\"\n  : \"${BATCH:=$((NODES * 8 / TENSOR * "
      "16))}\"\nfi\n"
      "declare -a MOUNTS=(--container-mounts /fsx:/fsx)\n"
      "srun -l \"${MOUNTS[@]}\" python -m torch.distributed.run --nnodes=$SLURM_JOB_NUM_NODES "
      "/work/pretrain_gpt.py \\\n  --tensor-model-parallel-size $TENSOR --global-batch-size $BATCH --fp16 " +
      std::string(kShape) + "--max-position-embeddings 4096 \\\n";
  CHECK(run_of(slurm, 16, 2).config.strategy.tensor_parallel == 4);
  const planner::RunReading wide = run_of(slurm, 64, 8);
  CHECK(wide.config.strategy.tensor_parallel == 8);
  CHECK(wide.config.training.global_batch == 128);
  CHECK(std::any_of(wide.notes.begin(), wide.notes.end(), [](const std::string& note) {
    return contains(note, "the script does not set NODES: 8 is used");
  }));
  // Of six nodes it says nothing: the variable is named, and may be given.
  CHECK(contains(refusal_of([&] { (void)run_of(slurm, 48, 6); }), "\"$TENSOR\" is not a whole number"));
  CHECK(run_of(slurm, 48, 6, {{"TENSOR", "2"}, {"BATCH", "48"}}).config.strategy.tensor_parallel == 2);

  const planner::RunReading line =
      run_of(std::string("ARGS=\"") + kShape +
             "--max-position-embeddings 4096 --bf16\"\nTP=4\nsrun bash -c \"torchrun "
             "pretrain_gpt.py $ARGS --tensor-model-parallel-size $TP\"\n");
  CHECK(line.config.strategy.tensor_parallel == 4);
}

// A manifest is no script: its words are read, with the values that are given.
TEST_CASE("a manifest of Megatron-LM is read with the values of its template", "[targets]") {
  const std::string yaml =
      "        env:\n        - name: CUDA_DEVICE_MAX_CONNECTIONS\n          value: \"1\"\n        command: [ "
      "\"torchrun\" ]\n"
      "        args:\n        - /work/pretrain_gpt.py\n        - --tensor-model-parallel-size=${TENSOR}\n"
      "        - --num-layers=${LAYERS}\n        - --hidden-size=4096\n        - --num-attention-heads=32\n"
      "        - --seq-length=2048\n        - --max-position-embeddings=2048\n        - "
      "--micro-batch-size=1\n"
      "        - --fp16\n";
  CHECK(contains(refusal_of([&] { (void)run_of(yaml); }), "\"${LAYERS}\" is not a whole number"));
  const planner::RunReading run = run_of(yaml, 16, 2, {{"TENSOR", "8"}, {"LAYERS", "36"}});
  CHECK(run.config.strategy.tensor_parallel == 8);
  CHECK(run.architecture.layers == 36);
}

TEST_CASE("what else of a script decides a prediction is read", "[targets]") {
  const auto with = [](const std::string& more) {
    return run_of("pretrain_gpt.py " + std::string(kShape) + more);
  };
  // pretrain_gpt.py's own: dropout of 0.1; a vocabulary where the tokenizer's kind tells it.
  CHECK(with("--bf16").architecture.dropout);
  CHECK_FALSE(with("--attention-dropout 0.0").architecture.dropout);
  CHECK(with("--vocab-file v.json --merge-file m.txt").architecture.vocabulary == 50257);
  CHECK(with("--tokenizer-type Llama2Tokenizer").architecture.vocabulary == 32000);
  CHECK(with("--tokenizer-type HuggingFaceTokenizer --vocab-size 128256").architecture.vocabulary == 128256);
  CHECK(with("--tokenizer-type HuggingFaceTokenizer").architecture.vocabulary == 0);
  // Without padding a capacity above 1 drops nothing of what comes evenly.
  const std::string experts = "--num-experts 8 --moe-ffn-hidden-size 1024 --moe-expert-capacity-factor ";
  CHECK_FALSE(with("--num-experts 8").architecture.capacity_factor.has_value());
  CHECK_FALSE(with(experts + "1.5").architecture.capacity_factor.has_value());
  CHECK(with(experts + "1.5 --moe-pad-expert-input-to-capacity").architecture.capacity_factor == 1.5);
  CHECK(with(experts + "1").architecture.intermediate == 1024);
  const std::string again = "--recompute-granularity selective --recompute-modules ";
  CHECK(with("--num-experts 8 " + again + "moe").config.strategy.recompute.mlp);
  CHECK_FALSE(with("--num-experts 8 " + again + "mlp").config.strategy.recompute.mlp);
  CHECK(with("--moe-shared-expert-intermediate-size 8").config.not_modelled.size() == 1);
  // The loop that Megatron-Bridge's recipes drive is this program with these flags.
  const std::string flags =
      "--grad-reduce-in-bf16 --cross-entropy-loss-fusion --overlap-grad-reduce --overlap-param-gather ";
  CHECK(with(flags).config.strategy.framework == models::stated_framework("megatron-bridge"));
  CHECK(with(flags + "--tensor-model-parallel-size 2").config.strategy.framework ==
        models::stated_framework("megatron"));
  const std::string dispatcher =
      "--num-experts 8 --expert-model-parallel-size 2 --moe-token-dispatcher-type ";
  CHECK(with(dispatcher + "flex").config.strategy.framework == "megatron-flex");
  CHECK(with(flags + dispatcher + "flex").config.strategy.framework == "megatron-bridge-flex");
  CHECK(with(dispatcher + "alltoall").config.strategy.framework == models::stated_framework("megatron"));
  const std::string overlap = " --overlap-moe-expert-parallel-comm";
  CHECK(with(dispatcher + "alltoall" + overlap).config.strategy.framework == "megatron-ep-overlap");
  CHECK(with(flags + dispatcher + "flex" + overlap).config.strategy.framework ==
        "megatron-bridge-flex-ep-overlap");
  CHECK(with(dispatcher + "allgather").notes.size() == with(dispatcher + "alltoall").notes.size() + 1);
}

// Catches: experts that a script leaves whole, predicted as cut by TP, or the other way round.
TEST_CASE("a script says whether TP cuts its experts", "[targets]") {
  const std::string experts = "--num-experts 8 --expert-model-parallel-size 8 --expert-tensor-parallel-size ";
  const auto etp = [&](const std::string& value) {
    const planner::RunReading run = megatron(experts + value);
    CHECK(run.config.not_modelled.empty());
    return run.config.strategy.expert_tensor_parallel;
  };
  CHECK(etp("1") == 1);
  CHECK(etp("2") == 0);  // that of TP, as without the flag
}

// NVIDIA/Megatron-LM@d98e8a6 megatron/training/arguments.py: "if args.num_experts == 0: args.num_experts = None".
TEST_CASE("no experts may be written as 0", "[targets]") {
  const planner::RunReading run = megatron("--num-experts 0 --moe-router-topk 1\n");
  CHECK(run.architecture.experts == 0);
  CHECK(run.architecture.experts_per_token == megatron("").architecture.experts_per_token);
  CHECK(run.architecture.intermediate == 14336);
  CHECK(contains(refused("--num-experts -1\n"), "--num-experts: \"-1\" is not a whole number from 0 to"));
}

// A token sees itself and those before it. Catches: a script of Mistral that had no prediction.
TEST_CASE("a sliding window is read as the tokens before a token", "[targets]") {
  CHECK(megatron("--window-size 4095,0\n").architecture.sliding_window == 4096);
  CHECK(megatron("--window-size '(4095, 0)'\n").architecture.sliding_window == 4096);
  CHECK(megatron("--window-size -1,0\n").architecture.sliding_window == 0);
  for (const char* other : {"127,1", "4095", "x,0"}) {
    INFO(other);
    CHECK(megatron(std::string("--window-size ") + other + "\n").config.not_modelled.size() == 1);
  }
}

// The words of NVIDIA/Megatron-LM@d98e8a6 examples/post_training/modelopt/conf/openai/gpt-oss-20b.sh for what the
// catalogue has from openai/gpt-oss. Catches: --quick-geglu read as two matrices instead of three.
TEST_CASE("a script of GPT-OSS is the catalogue's model", "[targets]") {
  const std::string script =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2880 --ffn-hidden-size 2880 "
      "--num-attention-heads 64 --group-query-attention --num-query-groups 8 --kv-channels 64 --num-experts "
      "32 "
      "--moe-ffn-hidden-size 2880 --moe-router-topk 4 --seq-length 4096 --max-position-embeddings 131072 "
      "--micro-batch-size 1 --normalization RMSNorm --norm-epsilon 1e-5 --position-embedding-type rope "
      "--rotary-base 150000 --padded-vocab-size 201088 --untie-embeddings-and-output-weights --bf16 "
      "--quick-geglu "
      "--softmax-type learnable --window-size 127,0 --window-attn-skip-freq 2 --attention-dropout 0\n";
  const planner::RunReading run = *targets::find("megatron")->read_run({"train.sh", script}, 8);
  const models::Architecture listed = test_catalog().architecture("gpt-oss-20b");
  CHECK(run.config.not_modelled.empty());
  CHECK(models::same_model(run.architecture, listed));
  CHECK(models::parameters(run.architecture) == models::parameters(listed));
}

// NVIDIA/Megatron-LM@d98e8a6 megatron/core/transformer/utils.py, is_layer_window_attention: layers from 1 whose number
// N divides have no window. Catches: scripts of GPT-OSS, examples/gptoss/02_train.sh, that had no prediction.
TEST_CASE("layers without a window are read from how often one comes", "[targets]") {
  const auto run = [](const std::string& more) { return megatron("--window-size 127,0 " + more); };
  const auto alternating = run("--window-attn-skip-freq 2\n");
  CHECK(alternating.config.not_modelled.empty());
  CHECK(alternating.architecture.sliding_window_pattern == 2);
  CHECK(models::windowed_layers(alternating.architecture) == alternating.architecture.layers / 2);
  CHECK(run("").architecture.sliding_window_pattern == 0);
  CHECK(megatron("--window-attn-skip-freq 2\n").architecture.sliding_window == 0);
  for (const char* other : {"0", "-2", "([1]*3+[0])*8", "x"}) {
    INFO(other);
    const auto why = run(std::string("--window-attn-skip-freq '") + other + "'\n").config.not_modelled;
    REQUIRE(why.size() == 1);
    CHECK(contains(why[0], std::string("--window-attn-skip-freq ") + other));
  }
}

// Catches: a value that only the shell knows taken for the parser's own.
TEST_CASE("a word that decides is not left to the shell", "[targets]") {
  for (const char* flag :
       {"--normalization", "--attention-backend", "--recompute-granularity", "--position-embedding-type"}) {
    INFO(flag);
    CHECK(contains(refused(std::string(flag) + " $WORD\n"),
                   std::string(flag) + ": \"$WORD\" is known to the shell alone"));
  }
  CHECK(
      refused("--tokenizer-type $WORD\n").empty());  // of it only the vocabulary is read, which may be stated
}

// A value that only the shell knows is none that the framework refuses.
TEST_CASE("what a shell fills in is not judged at the start", "[targets]") {
  topology::Cluster cluster;
  cluster.nodes = 1;
  const auto faults = [&](const std::string& more) {
    std::string all;
    for (const auto& f : targets::find("megatron")->start_faults({"train.sh", kLine + more}, cluster))
      all += f.doubtful ? "" : f.name + "\n";
    return all;
  };
  const std::string one = " --context-parallel-size 1 --attention-backend ";
  CHECK(contains(faults(one + "quick"), "value"));
  CHECK_FALSE(contains(faults(one + "$BACKEND"), "value"));
  CHECK(contains(faults(" --num-layers 33 --pipeline-model-parallel-size 2"), "layers by PP"));
  CHECK_FALSE(contains(faults(" --num-layers $LAYERS --pipeline-model-parallel-size 2"), "layers by PP"));
  CHECK_FALSE(contains(faults(" --num-layers 33 --pipeline-model-parallel-size $PP"), "layers by PP"));
}

// The reader had ten of the rules a second time, in other words.
TEST_CASE("what the reader refuses of a layout is what the rules of the start refuse", "[targets]") {
  topology::Cluster cluster;
  cluster.nodes = 1;
  cluster.instance = test_catalog().instance("p5.48xlarge");
  const planner::Target& megatron = *targets::find("megatron");
  for (const char* more :
       {" --tensor-model-parallel-size 3", " --global-batch-size 7 --micro-batch-size 2",
        " --group-query-attention --num-query-groups 5", " --seq-length 4096 --max-position-embeddings 2048",
        " --num-layers 33 --pipeline-model-parallel-size 2",
        " --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3",
        " --num-virtual-stages-per-pipeline-rank 2", " --seq-length 2050 --context-parallel-size 2",
        " --recompute-granularity full", " --recompute-granularity selective --recompute-method uniform",
        " --train-iters 5 --train-samples 5"}) {
    const planner::ConfigFile file{"train.sh", kLine + more, 1};
    std::vector<std::string> refused;
    for (const auto& f : megatron.start_faults(file, cluster)) refused.push_back(to_string(f.what));
    INFO(more);
    bool threw = false;
    try {
      (void)megatron.read_run(file, static_cast<int>(cluster.cores()));
    } catch (const InputError& e) {
      threw = true;
      for (const Diagnostic& d : e.faults()) {
        INFO(to_string(d));
        CHECK(std::find(refused.begin(), refused.end(), to_string(d)) != refused.end());
      }
    }
    CHECK(threw);
  }
}

// Reported: "verdict: ok" of a script with --nosuch-flag 3, which pretrain_gpt.py refuses.
TEST_CASE("a flag that pretrain_gpt.py does not have is named", "[targets]") {
  const planner::RunReading run = megatron("  --nosuch-flag 3 --log-params-norm --eval-iters 10\n");
  const auto named = std::find_if(run.doubts.begin(), run.doubts.end(),
                                  [](const Diagnostic& d) { return d.key == "--nosuch-flag"; });
  REQUIRE(named != run.doubts.end());
  CHECK(named->at.line == 12);
  CHECK(contains(named->problem, "is no flag of pretrain_gpt.py"));
  // Every flag that is read or written exists, in the forms that a default of True has too.
  CHECK(megatron("").doubts.empty());
  CHECK(megatron("  --no-check-for-nan-in-loss-and-grad --disable-bias-linear\n").doubts.empty());
  // One line for all of a script of another program.
  std::string many;
  for (int i = 0; i < 40; ++i) many += " --nosuch-flag-" + std::to_string(i);
  const planner::RunReading other = megatron(many + "\n");
  CHECK(other.doubts.size() == 10);
  CHECK(contains(other.doubts[9].problem, "30 more are none either"));
}

// Streams that overlap need more connections than one. A plan.json that was edited may name a loop that pretrain_gpt.py
// lacks, and the folder is judged by what would be written.
// Catches: exchanges that one connection keeps in turn; a crash on such a plan.
TEST_CASE("the loop of a plan decides its flags for experts", "[targets]") {
  models::Job job = job_of("mixtral-8x7b", 1, 4096, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const auto written = [&](const std::string& loop) {
    const models::Strategy s = strategy_of(job, "ep=8,framework=" + loop);
    const planner::TrainCommand command = targets::find("megatron")->command(job, s);
    const auto& words = command.arguments;
    return std::pair(command.environment, std::find(words.begin(), words.end(),
                                                    "--overlap-moe-expert-parallel-comm") != words.end());
  };
  using Environment = std::vector<std::string>;
  CHECK(written("megatron") == std::pair(Environment{"CUDA_DEVICE_MAX_CONNECTIONS=1"}, false));
  CHECK(written("megatron-ep-overlap") == std::pair(Environment{"CUDA_DEVICE_MAX_CONNECTIONS=32"}, true));
  CHECK(written("megatron-bridge-ep-overlap") == written("megatron-ep-overlap"));
  CHECK(written("nanotron") == written("megatron"));
}
