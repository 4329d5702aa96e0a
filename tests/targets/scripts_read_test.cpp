// Scripts of flags, read: what a flag that is not given means, what is refused, and whose script it is.
#include <algorithm>
#include <string>
#include <vector>

#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

planner::RunReading read(const char* target, const std::string& text, int ranks = 32,
                         const char* model = "llama3-8b") {
  const models::Architecture a = test_catalog().architecture(model);
  return *targets::find(target)->read_run({"train.sh", text}, ranks, &a);
}

std::string refused(const char* target, const std::string& text, int ranks = 32) {
  return refusal_of([&] { (void)read(target, text, ranks); });
}

std::string whose(const std::string& name, const std::string& text) {
  const planner::Target* target = targets::whose({name, text});
  return target == nullptr ? "" : std::string(target->name());
}

}  // namespace

// Catches: a default of ours in place of the program's.
TEST_CASE("flags of a script that are not given are the program's own", "[targets]") {
  const planner::ConfigReading one =
      read("nxd", "torchrun tp_zero1_llama_hf_pretrain.py --model_path .\n").config;
  CHECK(describe(one.strategy) == "TP 2 x PP 1 x DP 16, micro-batch 8, no SP, no ZeRO-1, recompute full");
  CHECK(one.strategy.precision == models::Precision::bf16_sr);  // no --use_mix_precision
  CHECK(one.training.sequence == 2048);
  CHECK(one.training.global_batch == 8 * 64 * 16);
  const planner::ConfigReading many =
      read("nxd", "torchrun run_llama_nxd.py --pipeline_parallel_size 2 --training_config .\n").config;
  CHECK(describe(many.strategy) ==
        "TP 8 x PP 2 x DP 2, micro-batch 2, SP, no ZeRO-1, recompute full, plain attention");
  CHECK(many.strategy.precision == models::Precision::mixed_precision);
  CHECK(many.training.sequence == 4096);
  CHECK(many.training.global_batch == 16 * 2);
  const planner::RunReading nemo =
      read("nemo-megatron", "python megatron_gpt_pretraining.py model.global_batch_size=256\n");
  CHECK(describe(nemo.config.strategy) ==
        "TP 1 x PP 1 x DP 32, micro-batch 4, no ZeRO-1, recompute CoreAttention, plain attention");
  CHECK(nemo.architecture.layers == 12);
  const planner::RunReading large = read(
      "nemo-megatron",
      "python megatron_gpt_pretraining.py --config-name=megatron_llama_70b_config ++model.num_kv_heads=4 \\\n"
      "  model.tensor_model_parallel_size=8 model.pipeline_model_parallel_size=4\n");
  CHECK(large.architecture.layers == 80);
  CHECK(large.architecture.kv_heads == 4);
  CHECK(large.config.training.global_batch == 8);
  const planner::ConfigReading bert = read("bert", "torchrun dp_bert_large_hf_pretrain_hdf5.py\n").config;
  CHECK(describe(bert.strategy) ==
        "TP 1 x PP 1 x DP 32, micro-batch 8, no ZeRO-1, recompute none, plain attention");
  CHECK(bert.training.global_batch == 8 * 64 * 32);
}

// Catches: a word about the program taken for its start, and a start that is missed.
TEST_CASE("the command that starts the program is found among others", "[targets]") {
  const std::string line = "torchrun tp_zero1_llama_hf_pretrain.py --tensor_parallel_size 8 --batch_size 1\n";
  for (const std::string& text :
       {line + "echo \"finished\" tp_zero1_llama_hf_pretrain.py\n",
        "cp a tp_zero1_llama_hf_pretrain.py\n" + line,
        "bash -c \"" + line.substr(0, line.size() - 1) + "\"\n", "env MALLOC_ARENA_MAX=64 " + line}) {
    INFO(text);
    CHECK(read("nxd", text).config.strategy.tensor_parallel == 8);
    CHECK(read("nxd", text).config.strategy.micro_batch == 1);
  }
  CHECK(read("nxd", "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=1 " + line).config.software.in_flight == 1);
  const models::Architecture a = test_catalog().architecture("llama3-8b");
  const planner::ConfigFile file{"train.sh",
                                 "torchrun tp_zero1_llama_hf_pretrain.py --grad_accum_usteps "
                                 "$((256 / SLURM_NNODES))\n",
                                 4,
                                 {{"NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "1"}}};
  const planner::RunReading run = *targets::find("nxd")->read_run(file, 128, &a);
  CHECK(run.config.training.global_batch == 8 * 64 * 64);
  CHECK(run.config.software.in_flight == 1);
}

// Catches: a fault that hides the others, or a number that overflows.
TEST_CASE("a script of flags is refused with all its faults", "[targets]") {
  const std::string two =
      refused("nxd",
              "torchrun run_llama_nxd.py --training_config . --tensor_parallel_size 3 \\\n"
              "  --train_batch_size 7 --num_microbatches 2 --seq_len 0\n");
  CHECK(contains(two, "does not divide 32 ranks"));
  CHECK(contains(two, "7 sequences in 2 micro-batches"));
  CHECK(contains(two, "--seq_len"));
  CHECK(contains(refused("nxd", "torchrun tp_zero1_llama_hf_pretrain.py --batch_size $BATCH\n"),
                 "\"$BATCH\" is not a whole number from 1 to 1000000"));
  CHECK(contains(refused("nxd",
                         "torchrun tp_zero1_llama_hf_pretrain.py --batch_size 1000000 "
                         "--grad_accum_usteps 100000000\n"),
                 "more than 100000000 sequences"));
  CHECK(contains(refused("bert",
                         "torchrun dp_bert_large_hf_pretrain_hdf5.py --batch_size 1000000 "
                         "--grad_accum_usteps 1000000\n"),
                 "more than 100000000 sequences"));
  CHECK(contains(refused("nemo-megatron", "python megatron_gpt_pretraining.py model.global_batch_size=100\n"),
                 "100 is not a multiple of 128 sequences"));
  CHECK(contains(refused("nxd", "echo nothing\n"), "does not start"));
  const planner::Target& nxd = *targets::find("nxd");
  CHECK(contains(refusal_of([&] {
                   (void)nxd.read_run({"train.sh", "torchrun run_llama_nxd.py --training_config .\n"}, 32);
                 }),
                 "config.json"));
}

// Catches: a reader that has an assertion of its own, and a script that is refused without its source.
TEST_CASE("faults that NxD and NeMo assert come with their place and source", "[targets]") {
  topology::Cluster one;
  one.instance = test_catalog().instance("trn1.32xlarge");
  const auto said = [&](const char* target, const std::string& text) {
    std::string all;
    for (const planner::StartFault& f : targets::find(target)->start_faults({"train.sh", text}, one)) {
      CHECK(contains(f.source, "@"));
      all += f.rule + ": " + to_string(f.what) + "\n";
    }
    return all;
  };
  const std::string pipeline = "torchrun run_llama_nxd.py --training_config . ";
  CHECK(said("nxd", pipeline + "\n").empty());
  CHECK(contains(said("nxd", pipeline + "--tensor_parallel_size 3\n"),
                 "divisibility: train.sh:1:47: --tensor_parallel_size: TP x PP x CP is 3"));
  CHECK(contains(said("nxd", pipeline + "--train_batch_size 7 --num_microbatches 2\n"),
                 "batch: train.sh:1:47: --train_batch_size: 7 sequences in 2 micro-batches"));
  CHECK(contains(said("nxd", pipeline + "--seq_len 0\n"),
                 "value: train.sh:1:47: --seq_len: \"0\" is too small"));
  CHECK(contains(said("nxd", "torchrun tp_zero1_llama_hf_pretrain.py --context_parallel_size 3\n"),
                 "divisibility: train.sh:1:40: --context_parallel_size: TP x PP x CP is 6"));
  const std::string nemo = "python megatron_gpt_pretraining.py ";
  CHECK(said("nemo-megatron", nemo + "model.global_batch_size=128\n").empty());
  CHECK(contains(said("nemo-megatron", nemo + "model.global_batch_size=100\n"),
                 "batch: train.sh:1:36: model.global_batch_size: 100 is not a multiple of 128 sequences"));
  CHECK(contains(said("nemo-megatron", nemo + "++model.pipeline_model_parallel_size=5\n"),
                 "divisibility: train.sh:1:36: model.pipeline_model_parallel_size: TP x PP x CP is 5"));
}

// Catches: a variable that nothing sets taken for the program's own value.
TEST_CASE("what only the shell knows is refused where it decides", "[targets]") {
  for (const char* key :
       {"model.layernorm_epsilon", "model.position_freq_base", "model.kv_channels", "model.sequence_parallel",
        "model.wrap_with_zero", "model.activations_checkpoint_granularity", "model.sliding_window_size",
        "model.micro_batch_size", "--config-name"}) {
    INFO(key);
    const std::string said = refused(
        "nemo-megatron",
        std::string("python megatron_gpt_pretraining.py model.global_batch_size=128 ") + key + "=$VALUE\n");
    CHECK(contains(said, std::string("train.sh:1:64: ") + key + ": \"$VALUE\""));
    CHECK(contains(said, "or give its variable: --env NAME=VALUE"));
  }
  for (const char* flag : {"--use_flash_attention", "--use_gpu_compatible_precision", "--fuse_qkv"}) {
    INFO(flag);
    CHECK(
        contains(refused("nxd", std::string("torchrun tp_zero1_llama_hf_pretrain.py ") + flag + " $VALUE\n"),
                 std::string(flag) + ": \"$VALUE\" is known to the shell alone"));
  }
  CHECK(contains(refused("nemo-megatron", "python megatron_gpt_pretraining.py model.layernorm_epsilon=2\n"),
                 "\"2\" is not a number from 0 to 1"));
}

// Catches: check asking for a --target that the file itself tells.
TEST_CASE("the owner of a file follows from what it starts or says", "[targets]") {
  CHECK(whose("a.sh", "torchrun tp_zero1_llama_hf_pretrain.py\n") == "nxd");
  CHECK(whose("a.sh", "#!/bin/bash\ntorchrun run_llama_nxd.py \\\n --lr 1\n") == "nxd");
  CHECK(whose("a.sh", "python megatron_gpt_pretraining.py trainer.devices=32\n") == "nemo-megatron");
  CHECK(whose("a.sh", "torchrun dp_bert_large_hf_pretrain_hdf5.py\n") == "bert");
  CHECK(whose("a.sh", "ARGS=(\n  --bf16\n)\ntorchrun pretrain_gpt.py ${ARGS[@]}\n") == "megatron");
  CHECK(whose("a.yaml", "trainer: {}\ndistributed_strategy: {}\n") == "nxdt");
  CHECK(whose("a.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n") ==
        "torchtitan");
  CHECK(whose("a.py", "from torchtitan.config import JobConfig\n") == "torchtitan");
  CHECK(whose("job.yaml", "model: llama3-8b\n") == "");
  CHECK(whose("a.sh", "echo nothing\n") == "");
}

// Catches: a recipe of NeMo that is "no NxDT config", or a key of it that is taken for another flag.
TEST_CASE("recipes of NeMo are read as Megatron-LM's arguments", "[targets]") {
  const planner::Target& megatron = *targets::find("megatron");
  const std::string first =
      "run: {name: llama3-1-8b}\n"
      "trainer: {num_nodes: 2, devices: 8, precision: bf16}\n"
      "model:\n"
      "  micro_batch_size: 1\n  global_batch_size: 64\n  tensor_model_parallel_size: 2\n"
      "  pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: 4\n  sequence_parallel: "
      "true\n"
      "  encoder_seq_length: 8192\n  max_position_embeddings: ${.encoder_seq_length}\n"
      "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 14336\n  num_attention_heads: 32\n"
      "  num_query_groups: 8\n  attention_dropout: 0.0\n  normalization: rmsnorm\n  bias: false\n"
      "  activation: fast-swiglu\n  position_embedding_type: rope\n"
      "  share_embeddings_and_output_weights: false\n"
      "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: uniform\n"
      "  activations_checkpoint_num_layers: 1\n  use_flash_attention: true\n  fp8: False\n"
      "  optim: {name: distributed_fused_adam}\n";
  CHECK(whose("recipe.yaml", first) == "megatron");
  CHECK(megatron.nodes_of({"recipe.yaml", first}) == 2);
  const planner::RunReading one = *megatron.read_run({"recipe.yaml", first}, 16);
  CHECK(describe(one.config.strategy) ==
        "TP 2 x PP 2 x DP 4, VPP 4, micro-batch 1, SP, recompute full, megatron");
  CHECK(one.config.strategy.precision == models::Precision::mixed_precision);
  CHECK(one.architecture.kv_heads == 8);
  CHECK(one.architecture.max_positions == 8192);
  CHECK(one.architecture.mlp == models::Mlp::gated);
  CHECK_FALSE(one.architecture.biases);
  CHECK_FALSE(one.architecture.tied_embeddings);
  CHECK(one.architecture.vocabulary == 0);
  CHECK(one.architecture.name == "llama3-1-8b");
  CHECK(megatron.start_faults({"recipe.yaml", first}, {}).empty());

  const std::string second =
      "trainer: {num_nodes: 2, devices: 8}\n"
      "data: {micro_batch_size: 2, global_batch_size: 64, seq_length: 2048}\n"
      "plugins: {precision: bf16-mixed}\n"
      "strategy: {tensor_model_parallel_size: 4, pipeline_model_parallel_size: 1, sequence_parallel: true,\n"
      "  virtual_pipeline_model_parallel_size: null}\n"
      "optim: {config: {use_distributed_optimizer: true}}\n";
  const models::Architecture model = test_catalog().architecture("llama3-8b");
  const planner::RunReading two = *megatron.read_run({"recipe.yaml", second}, 16, &model);
  CHECK(describe(two.config.strategy) == "TP 4 x PP 1 x DP 4, micro-batch 2, SP, recompute none, megatron");
  CHECK(two.architecture.layers == 32);
  CHECK(contains(refusal_of([&] {
                   (void)megatron.read_run({"recipe.yaml", second}, 16);
                 }),
                 "put the model's config.json next to the file"));
  // A fault has the key of the file.
  CHECK(contains(refusal_of([&] {
                   (void)megatron.read_run({"recipe.yaml", first}, 6);
                 }),
                 "model.tensor_model_parallel_size"));
}

// Catches: nodes that divide by zero or overflow, adapters that are predicted as full training, faults at keys of the
// other NeMo, and values that silently count as another.
TEST_CASE("what a recipe of NeMo cannot mean is said at its key", "[targets]") {
  const planner::Target& megatron = *targets::find("megatron");
  const models::Architecture model = test_catalog().architecture("llama3-8b");
  const auto second = [](const std::string& nodes, const std::string& micro, const std::string& sp,
                         const std::string& more = "") {
    return "trainer: {num_nodes: " + nodes + ", devices: 4}\ndata: {micro_batch_size: " + micro +
           ", global_batch_size: 64, seq_length: 2048}\nplugins: {precision: bf16-mixed}\n" +
           "strategy: {tensor_model_parallel_size: 4, sequence_parallel: " + sp + "}\n" + more;
  };
  for (const char* nodes : {"0", "-4", "2000", "2000000000"}) {
    CAPTURE(nodes);
    const planner::ConfigFile file{"recipe.yaml", second(nodes, "1", "true")};
    CHECK(
        contains(refusal_of([&] { (void)megatron.nodes_of(file); }), "recipe.yaml:1:22: trainer.num_nodes"));
    CHECK(contains(refusal_of([&] { (void)megatron.read_run(file, 16, &model); }), "trainer.num_nodes"));
  }
  const auto refused = [&](const std::string& text) {
    return refusal_of([&] { (void)megatron.read_run({"recipe.yaml", text}, 16, &model); });
  };
  const std::string micro = refused(second("2", "x", "true"));
  CHECK(contains(micro, "data.micro_batch_size"));
  CHECK_FALSE(contains(micro, "--env"));
  CHECK(contains(refused(second("2", "[1]", "true")), "data.micro_batch_size: is a list, not a value"));
  CHECK(contains(refused(second("2", "1", "maybe")),
                 "strategy.sequence_parallel: \"maybe\" is neither true nor false"));
  const std::string full =
      refused(second("2", "1", "on", "model: {config: {recompute_granularity: full}}\n"));
  CHECK(contains(full, "model.config.recompute_method"));
  CHECK_FALSE(contains(full, "--recompute"));

  const planner::RunReading lora = *megatron.read_run(
      {"recipe.yaml", second("2", "1", "on", "model: {peft: {peft_scheme: lora}}\n"), 2}, 16, &model);
  CHECK(lora.unmodelled == "LoRA");  // not refused for the memory of full training
  CHECK(lora.config.strategy.sequence_parallel);
  CHECK(std::count(lora.notes.begin(), lora.notes.end(),
                   "trainer.devices is 4, and a host has 8: predicted on all of them") == 1);
  const planner::RunReading all = *megatron.read_run(
      {"recipe.yaml", second("2", "1", "on", "model: {peft: {peft_scheme: null}}\n"), 2}, 16, &model);
  CHECK(all.unmodelled.empty());

  const planner::RunReading first = *megatron.read_run(
      {"recipe.yaml",
       "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel: {micro_batch_size: 1, "
       "tensor_model_parallel_size: 1, encoder_seq_length: 128, max_position_embeddings: 128, num_layers: 2, "
       "hidden_size: 64, num_attention_heads: 4, normalization: layernorm1p, activation: squared-relu, "
       "position_embedding_type: alibi, override_vocab_size: 512}\n"},
      8);
  CHECK(first.config.not_modelled == std::vector<std::string>{"normalization layernorm1p",
                                                              "activation squared-relu",
                                                              "position embedding alibi"});
  CHECK(first.architecture.vocabulary == 512);
}

// Catches: Hydra's "++key" that is dropped, "~key" that is ignored, and numbers that no model has.
TEST_CASE("overrides of NeMo's fork are read as Hydra takes them", "[targets]") {
  const std::string start = "python megatron_gpt_pretraining.py model.global_batch_size=256 ";
  const planner::RunReading run =
      read("nemo-megatron", start + "++model.num_layers=32 trainer.max_steps=5\n");
  CHECK(run.architecture.layers == 32);
  CHECK(std::count(run.notes.begin(), run.notes.end(),
                   "1 other override affects nothing that is predicted, and was ignored") == 1);
  const std::string wrong =
      refused("nemo-megatron", start + "model.layernorm_epsilon=-5 model.position_freq_base=-3\n");
  CHECK(contains(wrong, "model.layernorm_epsilon: \"-5\" is not a number from 0 to 1"));
  CHECK(contains(wrong, "model.position_freq_base: \"-3\""));
  CHECK(contains(refused("nemo-megatron", start + "~model.num_layers=1\n"), "removes a key"));
}
