// Scripts of flags, read: what a flag that is not given means, what is refused, and whose script it is.
#include <string>

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
      "python megatron_gpt_pretraining.py --config-name=megatron_llama_70b_config +model.num_kv_heads=4\n"
      "  model.tensor_model_parallel_size=8 model.pipeline_model_parallel_size=4\n");
  CHECK(large.architecture.layers == 80);
  CHECK(large.architecture.kv_heads == 4);
  CHECK(large.config.training.global_batch == 8);
  const planner::ConfigReading bert = read("bert", "torchrun dp_bert_large_hf_pretrain_hdf5.py\n").config;
  CHECK(describe(bert.strategy) ==
        "TP 1 x PP 1 x DP 32, micro-batch 8, no ZeRO-1, recompute none, plain attention");
  CHECK(bert.training.global_batch == 8 * 64 * 32);
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
                 "is no whole number from 1"));
  CHECK(contains(refused("nxd",
                         "torchrun tp_zero1_llama_hf_pretrain.py --batch_size 1000000 "
                         "--grad_accum_usteps 100000000\n"),
                 "more than 100000000 sequences"));
  CHECK(contains(refused("bert",
                         "torchrun dp_bert_large_hf_pretrain_hdf5.py --batch_size 1000000 "
                         "--grad_accum_usteps 1000000\n"),
                 "more than 100000000 sequences"));
  CHECK(contains(refused("nemo-megatron", "python megatron_gpt_pretraining.py model.global_batch_size=100\n"),
                 "100 is no multiple of 128 sequences"));
  CHECK(contains(refused("nxd", "echo nothing\n"), "does not start"));
  const planner::Target& nxd = *targets::find("nxd");
  CHECK(contains(refusal_of([&] {
                   (void)nxd.read_run({"train.sh", "torchrun run_llama_nxd.py --training_config .\n"}, 32);
                 }),
                 "config.json"));
}

// Catches: check asking for a --target that the file itself tells.
TEST_CASE("whose file it is, is told by what it starts or says", "[targets]") {
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
