// check on configs: their instance type, and its findings.
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

TEST_CASE("a script is judged on the nodes that its launch line starts", "[cli]") {
  Session cli;
  const std::string model =
      "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm --seq-length 8192 "
      "--max-position-embeddings 8192 --position-embedding-type rope --rotary-base 500000 --vocab-size "
      "128256 "
      "--untie-embeddings-and-output-weights --micro-batch-size 1 --global-batch-size 128 --bf16 "
      "--disable-bias-linear --tensor-model-parallel-size 2 --sequence-parallel "
      "--use-distributed-optimizer\n";
  cli.write("train.sh",
            "export CUDA_DEVICE_MAX_CONNECTIONS=1\nNNODES=16\ntorchrun --nproc_per_node 8 --nnodes $NNODES " +
                model);
  cli.refuse("does not state the machine", "check $work/train.sh --target megatron");
  cli.says("fix: state it: --instance p5\\.48xlarge --nodes 16$");
  cli.expect(0, "on 16 x p5\\.48xlarge$",
             "check $work/train.sh --target megatron --instance p5.48xlarge --details");
  cli.prints("as the file says: 16 x p5\\.48xlarge; state others with --nodes");
  cli.expect(0, "on 4 x p5\\.48xlarge$",
             "check $work/train.sh --target megatron --instance p5.48xlarge --nodes 4 --details");
  cli.prints_no("as the file says");
  cli.write("plain.sh", "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun " + model);
  cli.refuse("does not state the machine", "check $work/plain.sh --target megatron");
  cli.says("fix: state it, and how many: --instance p5\\.48xlarge --nodes N$");
  cli.expect(0, "assumed: 1 x p5\\.48xlarge; state others with --nodes",
             "check $work/plain.sh --target megatron --instance p5.48xlarge --details");
}

// What pretrain_gpt.py stops at before the first step was "ok" with a prediction.
TEST_CASE("what Megatron-LM refuses at its start is refused, each at its flag", "[cli]") {
  Session cli;
  cli.write("train.sh",
            "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n"
            "  --num-layers 32 --hidden-size 4095 --num-attention-heads 32 --seq-length 4096 \\\n"
            "  --group-query-attention --num-query-groups 64 --max-position-embeddings 4096 \\\n"
            "  --recompute-granularity everything --fp16 --bf16 --micro-batch-size 1 \\\n"
            "  --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3 \\\n"
            "  --lr 1e-4 --min-lr 1e-3 --save here --save-interval 0 --tensor-model-parallel-size 2 \\\n"
            "  --vocab-size 128256 --train-iters 100 --context-parallel-size two \\\n"
            "  --num-experts 8 --moe-router-topk 9\n");
  const std::string check = "check $work/train.sh --target megatron --instance p5.48xlarge";
  cli.expect(3, "^verdict: refused \\(9 errors", check);
  for (const char* line :
       {"train\\.sh:2:19: error: heads: --hidden-size: 4095 is not a multiple of 32 heads",
        "train\\.sh:3:27: error: heads: --num-query-groups: 32 heads cannot form 64 groups",
        "train\\.sh:4:3: error: value: --recompute-granularity: \"everything\" is not one",
        "train\\.sh:4:38: error: precision: --fp16: --fp16 and --bf16 exclude each other",
        "train\\.sh:5:36: error: layers: --num-layers-per-virtual-pipeline-stage: a stage has 16",
        "train\\.sh:6:13: error: schedule: --min-lr: 1e-3 is above --lr, 1e-4",
        "train\\.sh:6:39: error: value: --save-interval: \"0\" is too small",
        "train\\.sh:7:41: error: value: --context-parallel-size: \"two\" is not a whole number",
        "train\\.sh:8:19: error: moe: --moe-router-topk: a token goes to 9 of 8 experts",
        "^No prediction: megatron refuses the file when it starts$"})
    cli.prints(line);
  cli.expect(3, "source: NVIDIA/Megatron-LM@d98e8a6:megatron/training/arguments\\.py", check + " --details");
}

TEST_CASE("TP before Blackwell needs one connection, which the script has to export", "[cli]") {
  Session cli;
  const std::string words =
      "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --swiglu --seq-length 4096 --max-position-embeddings "
      "4096 "
      "--vocab-size 128256 --micro-batch-size 1 --global-batch-size 32 --bf16 --tensor-model-parallel-size 4 "
      "--lr 3e-4 --train-iters 100 --use-distributed-optimizer\n";
  cli.write("train.sh", "torchrun --nproc_per_node 8 " + words);
  const std::string check = "check $work/train.sh --target megatron --instance ";
  cli.expect(3, "error: environment: .*CUDA_DEVICE_MAX_CONNECTIONS is not set", check + "p5.48xlarge");
  cli.expect(0, "^verdict: ok", check + "p6-b200.48xlarge");
  cli.write("train.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=8\ntorchrun --nproc_per_node 8 " + words);
  cli.expect(3, "train.sh:1:8: error: environment: CUDA_DEVICE_MAX_CONNECTIONS: .*has to be 1",
             check + "p5.48xlarge");
  cli.write("train.sh", words.substr(words.find("--")));
  cli.expect(0, "warning: environment: ", check + "p5.48xlarge");
}

TEST_CASE("what TorchTitan refuses at its start is refused, each at its key", "[cli]") {
  Session cli;
  const std::string text =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = \"float8\"\n"
      "[training]\nlocal_batch_size = 1\nglobal_batch_size = 0\nseq_len = 8192\n"
      "[parallelism]\ndata_parallel_shard_degree = 0\nfsdp_reshard_after_forward = \"often\"\n"
      "[activation_checkpoint]\nmode = \"full\"\n";
  cli.write("job.toml", text);
  const std::string check = "check $work/job.toml --target torchtitan --instance p5.48xlarge";
  cli.expect(3, "^verdict: refused \\(4 errors", check);
  for (const char* line : {"job\\.toml:4:14: error: precision: model\\.converters: is a text",
                           "fix: write \\[\"quantize\\.linear\\.float8\"\\]",
                           "job\\.toml:7:21: error: batch: training\\.global_batch_size: a batch of nothing",
                           "job\\.toml:10:30: error: divisibility: parallelism\\.data_parallel_shard_degree",
                           "job\\.toml:11:30: error: value: parallelism\\.fsdp_reshard_after_forward"})
    cli.prints(line);
  // A finding of the strategy as a whole has a key of the TOML.
  cli.write("job.toml",
            "[model]\nname = \"llama3\"\nflavor = \"405B\"\n[training]\nlocal_batch_size = 1\n"
            "seq_len = 8192\n[parallelism]\ntensor_parallel_degree = 8\n");
  cli.expect(3, "job\\.toml:8:26: error: memory: parallelism\\.tensor_parallel_degree", check);
  cli.prints_no("distributed_strategy");
}

// compile.enable was not read, a file of qwen3 got messages about llama3, and one of an image model about
// unknown keys.
TEST_CASE("messages on a TOML of TorchTitan name the right model", "[cli]") {
  Session cli;
  const std::string head =
      "[training]\nlocal_batch_size = 1\nseq_len = 4096\n[activation_checkpoint]\nmode = \"full\"\n";
  const auto write = [&](const std::string& name, const std::string& flavor, const std::string& more) {
    cli.write("job.toml", "[model]\nname = \"" + name + "\"\nflavor = \"" + flavor + "\"\n" + head + more);
  };
  const std::string check = "check $work/job.toml --target torchtitan --instance p5.48xlarge";
  const std::string step = check + " --format json";
  write("llama3", "8B", "");
  cli.expect(0, "\"framework\": ?\"fsdp-eager\"", step);
  // What is eager on Neuron cores nobody predicts.
  cli.expect(0, "^No prediction: fsdp-eager on trn2\\.48xlarge is not modelled",
             "check $work/job.toml --target torchtitan --instance trn2.48xlarge");
  write("llama3", "8B", "[compile]\nenable = true\n");
  cli.expect(0, "\"framework\": ?\"fsdp\"", step);
  write("qwen3", "8B", "");
  cli.expect(0, "^Predicted ", check);
  write("flux", "flux-dev", "[encoder]\nt5_encoder = \"google/t5\"\n");
  cli.expect(0, "a TorchTitan config of flux, an image model, which is not modelled", check);
  // Truthfully: 8 ranks of TP alone compute in FP32.
  write("llama3", "8B", "[parallelism]\ntensor_parallel_degree = 8\n");
  cli.expect(0, "warning: precision: parallelism\\.tensor_parallel_degree: .*the run computes in FP32",
             check);
  cli.expect(0, "\"precision\": ?\"fp32\"", step);
  // What TorchTitan's own file of 405B has, and v0.2.2 no longer knows.
  cli.write("job.toml",
            "[model]\nflavor = \"8B\"\nconverters = [\"float8\"]\n" + head + "[compile]\nenable = true\n");
  cli.expect(3, "fix: write \"quantize\\.linear\\.float8\"", check);
  cli.prints("^Predicted ");
  cli.refuse("does not state the machine", "check $work/job.toml");
  cli.says("fix: state it, and how many: --instance p5\\.48xlarge --nodes N$");
}

// num_nodes counts hosts, an UltraServer is four of 64 ranks: 4 hosts are one of it, 8 are two.
TEST_CASE("a config counts hosts, the machine it is judged on nodes", "[cli]") {
  Session cli;
  cli.change("$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml", "four.yaml",
             {{"devices: 32", "devices: 64\n  lnc: 2"}});
  cli.change("$work/four.yaml", "six.yaml", {{"num_nodes: 4", "num_nodes: 6"}});
  cli.expect(0, "on 1 x trn2u-ultraserver$", "check $work/four.yaml --instance trn2u-ultraserver --details");
  cli.prints_no("processes on the");
  cli.expect(0, "on 2 x trn2u-ultraserver$",
             "check $work/four.yaml --instance trn2u-ultraserver --nodes 2 --details");
  cli.expect(0, "on 4 x trn2\\.48xlarge$", "check $work/four.yaml --instance trn2.48xlarge --details");
  cli.refuse("trainer\\.num_nodes: 6 hosts, and a trn2u-ultraserver is 4",
             "check $work/six.yaml --instance trn2u-ultraserver");
}

TEST_CASE("a config is judged on the instance type it was written for", "[cli]") {
  Session cli;
  // A config is judged on the instance type it was written for.
  cli.set("shipped", cli.get("source") + "/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  using Changes = std::vector<std::pair<std::string, std::string>>;
  const auto variant = [&](const Changes& changes) { cli.change("$shipped", "variant.yaml", changes); };
  const Changes lnc1 = {{"devices: 32", "devices: 128\n  lnc: 1"},
                        {"--model-type transformer", "$& --logical-nc-config=1"}};
  variant({{"devices: 32", "devices: 64"}});
  cli.expect(0, R"(instance: trn2\.48xlarge is assumed)", "check $work/variant.yaml --details");
  cli.prints(R"(^Predicted .* of 24 GiB)");
  cli.prints_no("replica-group");
  variant({{"devices: 32", "devices: 64"},
           {"model_parallel_size: 32", "model_parallel_size: 8"},
           {"kv_replicator: 4", "kv_replicator: 1"}});
  cli.expect(0, "warning: replica-group", "check $work/variant.yaml");
  variant(lnc1);
  cli.expect(0, R"(instance: trn2\.48xlarge-lnc1 is assumed)", "check $work/variant.yaml --details");
  variant({lnc1[0],
           lnc1[1],
           {"model_parallel_size: 32", "model_parallel_size: 16"},
           {"kv_replicator: 4", "kv_replicator: 2"}});
  cli.expect(3, "error: replica-group", "check $work/variant.yaml --details");
  cli.prints(R"(source: .*collectives\.rst)");
  cli.expect(0, "warning: devices: .*32 processes on the 64", "check $shipped --instance trn2.48xlarge");
  cli.expect(3, "error: devices: .*32 processes on the 2 ", "check $shipped --instance trn1.2xlarge");
  variant({{"devices: 32", "devices: 8"},
           {"model_parallel_size: 32", "model_parallel_size: 8"},
           {"kv_replicator: 4", "kv_replicator: 1"}});
  cli.expect(0, "no instance type of the catalogue has 8", "check $work/variant.yaml");
  variant({{"num_nodes: 4", "$& # with devices: 32"}});
  cli.expect(3, R"(variant\.yaml:7:.*error: devices: )", "check $work/variant.yaml");
  cli.expect(0, "warning: batch: ", "check $shipped --nodes 3");
  cli.expect(0, "warning: end-of-support", "check $shipped --release 2.30");
  cli.expect(0, "note: end-of-support", "check $shipped --release 2.28 --details");
  variant({{"model_parallel_size: 32", "model_parallel_size: $${oc.env:TP}"}});
  cli.expect(0, "instance: .* cannot be resolved here", "check $work/variant.yaml");
}

// Catches: a folder whose script is not the run that was predicted, and a --target that the file itself tells.
TEST_CASE("the script of a plan's folder is predicted as the plan", "[cli]") {
  Session session;
  for (const auto& [target, model] :
       {std::pair("nxd", "llama3-8b"), std::pair("nemo-megatron", "llama2-7b")}) {
    INFO(target);
    session.write("job.yaml", std::string("model: ") + model +
                                  "\ntraining: {sequence: 4096, global_batch: 256}\n"
                                  "cluster: {instance: trn1.32xlarge, nodes: 2}\n");
    const std::string folder = std::string("$work/") + target;
    session.expect(0, "", "plan $work/job.yaml --target " + std::string(target) + " --out " + folder);
    const auto predicted = [&](const std::string& text) {
      const std::size_t at = text.find("\"step_seconds\": ");
      REQUIRE(at != std::string::npos);
      return text.substr(at, text.find('\n', at) - at);
    };
    const std::string planned = predicted(session.read("$work/" + std::string(target) + "/plan.json"));
    const cli::Ran& checked =
        session.run("check " + folder + "/node_run.sh --instance trn1.32xlarge --nodes 2 --format json");
    CHECK(predicted(checked.out) == planned);
  }
}

// Catches: "this is no NxDT config" as the answer to whatever else is given.
TEST_CASE("check says what a file is that it cannot check", "[cli]") {
  Session cli;
  const auto is = [&](const char* name, const std::string& text, const char* what) {
    cli.write(name, text);
    cli.refuse(what, std::string("check $work/") + name);
  };
  is("recipe.yaml", "run:\n  model_type: hf\nmodel: {shard_degree: 64, tensor_model_parallel_degree: 2}\n",
     "recipe\\.yaml:2:15: run\\.model_type: this is a HyperPod recipe of SageMaker's model parallel library");
  cli.says("framework=fsdp1,tp=2,shard_degree=64$");
  is("lora.yaml", "run: {model_type: hf}\nmodel: {peft: {peft_type: lora}}\n",
     "this is a HyperPod recipe that fine-tunes");
  is("titan.sh", "torchrun -m torchtitan.train --job.config_file job.toml\n",
     "this script starts torchtitan, whose settings are in a config");
  is("nxdt.sh", "torchrun training_orchestrator.py --config-name=nxdt\n", "this script starts nxdt");
  is("tune.yaml", "run: {model_type: llm_finetuning_aws}\n", "this is a HyperPod recipe that fine-tunes");
  is("pod.yaml", "apiVersion: v1\nkind: Pod\n", "this is a manifest of Kubernetes");
  is("job.yaml", "model: llama3-8b\ncluster: {instance: trn1.32xlarge}\n",
     "this is a job, which states what");
  is("config.json", "{\"hidden_size\": 64}\n", "this is the config.json of a model");
  is("run.sh", "#!/bin/bash\nset -e; python train.py: {\n", "starts none of the known programs");
  is("notes.txt", "nothing\n", "this is not an NxDT config");
}

// Catches: a folder that check refuses although it contains all that check needs.
TEST_CASE("a plan's folder is checked on its own cluster", "[cli]") {
  Session cli;
  for (const char* target : {"nxdt", "nxd"}) {
    INFO(target);
    cli.write_job("job.yaml", "llama3-8b", 2, 256);
    const std::string folder = std::string("$work/folder-") + target;
    cli.expect(0, "", "plan $work/job.yaml --target " + std::string(target) + " --out " + folder);
    cli.expect(0, "on 2 x trn1\\.32xlarge$", "check " + folder);
  }
  cli.refuse("this folder has no plan\\.json", "check $work");
}

// Catches: an edited number of nodes that is passed over, because plan.json has another.
TEST_CASE("a file of a folder that states other nodes than the plan is said to", "[cli]") {
  Session cli;
  cli.write_job("job.yaml", "llama3-8b", 4, 256);
  cli.expect(0, "", "plan $work/job.yaml --target nxdt --out $work/folder");
  std::string config = cli.read("$work/folder/nxdt.yaml");
  const std::size_t at = config.find("num_nodes: 4");
  REQUIRE(at != std::string::npos);
  config[at + 11] = '2';
  cli.write("folder/nxdt.yaml", config);
  cli.run("check $work/folder");
  cli.prints("2 nodes here, 4 in the folder's plan\\.json");
  cli.prints("on 2 x trn1\\.32xlarge");
}

// Catches: a prediction on a machine that the program does not run on.
TEST_CASE("check predicts nothing on a machine that the program does not train on", "[cli]") {
  Session cli;
  cli.set("shipped", cli.get("source") + "/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  cli.expect(3, "^error: instance: --instance: nxdt does not train on p5\\.48xlarge",
             "check $shipped --instance p5.48xlarge");
  cli.prints_no("^Predicted");
}

// Catches: a folder that launch refuses for a file of a scheduler that it was not written for.
TEST_CASE("a folder for one scheduler lacks nothing of another", "[cli]") {
  Session cli;
  cli.write_job("job.yaml", "llama3-8b", 2, 256);
  for (const char* scheduler : {"eks", "local"}) {
    INFO(scheduler);
    const std::string by = std::string(" --scheduler ") + scheduler,
                      folder = std::string("$work/by-") + scheduler;
    cli.expect(0, "", "plan $work/job.yaml --out " + folder + by);
    cli.run("launch " + folder + by + " --dry-run");
    cli.says_no("is missing");
  }
  cli.run("launch $work/by-eks --dry-run");
  cli.says("the folder was written for eks only");
}

// Catches: a misspelt flag that the first screen does not name, and a log without a word on what it is.
TEST_CASE("misspelt flags and a log are called what they are", "[cli]") {
  Session cli;
  const std::string script =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads "
      "32 "
      "--seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 --micro-batch-size 1 "
      "--global-batch-size 128 --train-iters 100 --bf16 --lr 3e-4 --mock-data --tokenizer-type NullTokenizer";
  cli.write("near.sh", "#!/bin/bash\n" + script + " --recompute-granularty full --foo-bar 3\n");
  cli.expect(3, "^verdict: refused \\(1 error, 2 warnings, .*; [0-9]+ flags? not judged\\)",
             "check $work/near.sh --instance p5.48xlarge --nodes 1");
  cli.prints("warning: flags: --recompute-granularty: is near --recompute-granularity");
  cli.prints("warning: flags: --foo-bar: is no flag of pretrain_gpt.py");
  cli.change("$work/near.sh", "missing.sh", {{"--micro-batch-size", "--micro-batchsize"}});
  cli.refuse("fix: write --micro-batch-size instead of --micro-batchsize",
             "check $work/missing.sh --instance p5.48xlarge --nodes 1");
  cli.set("logs", cli.get("source") + "/tests/calibrate/fixtures/logs");
  cli.refuse("fix: trnplan watch .*megatron-lm-gpu.txt --once", "check $logs/megatron-lm-gpu.txt");
}

// Catches: one of several wrong keys, and an error that only follows from a misspelt one.
TEST_CASE("all wrong keys of a TOML are said at once, and nothing that follows from them", "[cli]") {
  Session cli;
  cli.write("a.toml",
            "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
            "stepps = 10\n[parallelism]\ndata_parallel_shard_degree = 8\ntensor_parallel_degre = 2\n");
  cli.refuse("parallelism.tensor_parallel_degre: ", "check $work/a.toml --instance p5.48xlarge --nodes 2");
  cli.says("training.stepps: ");
  cli.says_no("the degrees make");
}
