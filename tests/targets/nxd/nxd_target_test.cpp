#include "targets/nxd/nxd_target.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

/// Flags of run_llama_nxd.py that its shipped run_llama3_70B_tp_pp.sh and run_llama2_70B_tp_pp.sh pass
/// (aws-neuron/neuronx-distributed examples/training/llama/tp_pp_llama_hf_pretrain). Written down from the
/// shipped scripts as they are known, not compared with a clone: a flag that is emitted must be looked up
/// there and added here by hand.
const std::set<std::string> kNxdFlags = {"--train_batch_size",
                                         "--use_meta_device_init",
                                         "--training_dir",
                                         "--training_config",
                                         "--max_steps",
                                         "--seq_len",
                                         "--pipeline_parallel_size",
                                         "--tensor_parallel_size",
                                         "--num_microbatches",
                                         "--lr",
                                         "--min_lr",
                                         "--beta1",
                                         "--beta2",
                                         "--weight_decay",
                                         "--warmup_steps",
                                         "--constant_steps",
                                         "--use_zero1_optimizer",
                                         "--use_selective_checkpoint",
                                         "--use_flash_attention",
                                         "--qkv_linear",
                                         "--kv_replicator",
                                         "--checkpoint_freq",
                                         "--checkpoint_dir",
                                         "--num_kept_checkpoint",
                                         "--loading_step",
                                         "--tb_dir"};

std::string value_of(const planner::TrainCommand& c, const std::string& flag) {
  const auto it = std::find(c.arguments.begin(), c.arguments.end(), flag);
  return it == c.arguments.end() ? "" : *(it + 1);
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

TEST_CASE("the NxD script gets flags it has, each with a value", "[targets]") {
  const models::Job llama3 = job_of("llama3-70b", 16, 8192, 1024);
  for (const char* strategy : {"tp=32,pp=8,recompute=full", "tp=32,pp=8,recompute=CoreAttention"}) {
    const auto c = targets::nxd().command(llama3, strategy_of(llama3, strategy));
    REQUIRE(c.arguments.size() % 2 == 0);
    for (std::size_t i = 0; i < c.arguments.size(); i += 2) {
      INFO(c.arguments[i]);
      CHECK(kNxdFlags.contains(c.arguments[i]));
      CHECK_FALSE(c.arguments[i + 1].starts_with("--"));
    }
    // The script runs as many steps while graphs are collected as it is told, so that number varies.
    CHECK(value_of(c, "--max_steps") == "$steps");
    CHECK(c.steps == 10000);
    // Master weights in fp32 beside bf16: what mixed_precision means to NxDT's orchestrator.
    CHECK(has(c.environment, "XLA_DOWNCAST_BF16=1"));
    CHECK(has(c.environment, "NEURON_RT_STOCHASTIC_ROUNDING_EN=0"));
  }
}
