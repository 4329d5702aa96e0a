#include <set>

#include "launch/folder/scripts.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/assertions.h"
#include "tests/launch/folder/entry_points/shipped_lines.h"
#include "tests/launch/folder/entry_points/started.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

/// A published run: its command line, and the job and strategy that it trains.
struct Published {
  const char *script, *recipe, *target, *model;
  int nodes, sequence, batch;
  models::Precision precision;
  const char* strategy;
};

constexpr auto kMixed = models::Precision::mixed_precision, kRounding = models::Precision::bf16_sr;

constexpr Published kPublished[] = {
    {"nxd-tp-zero1", "llama2-7B", "nxd", "llama2-7b", 4, 4096, 1024, kMixed,
     "tp=8,recompute=CoreAttention,flash=true"},
    {"nxd-tp-zero1", "llama2-7B on 16 nodes", "nxd", "llama2-7b", 16, 4096, 1024, kMixed,
     "tp=8,dp=64,recompute=CoreAttention,flash=true"},
    {"nxd-tp-zero1", "llama3-8B", "nxd", "llama3-8b", 4, 8192, 1024, kMixed, "tp=32,recompute=CoreAttention"},
    {"nxd-tp-zero1", "llama3.1-8B", "nxd", "llama3.1-8b", 4, 8192, 1024, kMixed,
     "tp=32,recompute=CoreAttention"},
    {"nxd-pp", "llama2-13B", "nxd", "llama2-13b", 32, 4096, 1024, kMixed,
     "tp=8,pp=4,recompute=CoreAttention,flash=false"},
    {"nxd-pp", "llama2-70B", "nxd", "llama2-70b", 32, 4096, 1024, kMixed,
     "tp=32,pp=8,recompute=CoreAttention,flash=false"},
    {"nxd-pp", "llama3-70B", "nxd", "llama3-70b", 32, 8192, 1024, kMixed,
     "tp=32,pp=8,recompute=CoreAttention+LlamaMLP"},
    {"nxd-pp", "llama3.1-70B", "nxd", "llama3.1-70b", 32, 8192, 1024, kMixed,
     "tp=32,pp=8,recompute=CoreAttention+LlamaMLP"},
    {"nemo-megatron", "llama2-7B", "nemo-megatron", "llama2-7b", 4, 4096, 256, kRounding,
     "tp=8,recompute=full,flash=false,zero1=false"},
    {"nemo-megatron", "llama2-13B", "nemo-megatron", "llama2-13b", 4, 4096, 1024, kRounding,
     "tp=8,pp=4,recompute=full,flash=false,zero1=false"},
    {"nemo-megatron", "llama2-70B", "nemo-megatron", "llama2-70b", 32, 4096, 512, kRounding,
     "tp=8,pp=16,recompute=full,flash=false,zero1=false"},
    {"bert", "phase1-adamw", "bert", "bert-large", 1, 128, 16384, kRounding, "mbs=16,zero1=false"},
    // Strong scaling: the batch stays, so that each node accumulates less.
    {"bert", "phase1-adamw on 16 nodes", "bert", "bert-large", 16, 128, 16384, kRounding,
     "mbs=16,zero1=false"},
    {"bert", "phase1-lamb on 16 nodes", "bert", "bert-large", 16, 128, 65536, kRounding,
     "mbs=16,zero1=false"},
    // Weak scaling: every node does what one alone does.
    {"bert", "phase1-lamb", "bert", "bert-large", 16, 128, 1048576, kRounding, "mbs=16,zero1=false"},
    {"bert", "phase2-adamw", "bert", "bert-large", 1, 512, 32768, kRounding, "mbs=2,zero1=false"},
    {"bert", "phase2-adamw on 16 nodes", "bert", "bert-large", 16, 512, 32768, kRounding,
     "mbs=2,zero1=false"},
};

/// What is written otherwise than a recipe has it, and why.
struct Difference {
  const char *script, *key, *why;
};

constexpr const char* kPath = "a folder of the person or of the plan";
constexpr const char* kSaves = "a failure costs at most so many steps, and the last step is saved";
constexpr const char* kKeeps = "the last two: all of them fill any disk (70B: 850 GB each)";
constexpr const char* kResumes =
    "a run that is started again goes on; the first start finds nothing and begins";
constexpr const char* kOwnFolder = "below the plan's results, not in the shared clone";

constexpr Difference kDeliberate[] = {
    {"nxd-tp-zero1", "--model_path", kPath},
    {"nxd-tp-zero1", "--data_dir", kPath},
    {"nxd-tp-zero1", "--output_dir", kOwnFolder},
    {"nxd-tp-zero1", "--metrics_file", kOwnFolder},
    {"nxd-tp-zero1", "--checkpoint_dir", kPath},
    {"nxd-tp-zero1", "--checkpoint_freq", kSaves},
    {"nxd-tp-zero1", "--num_kept_checkpoint", kKeeps},
    {"nxd-tp-zero1", "--loading_step", kResumes},
    {"nxd-tp-zero1", "--logging_interval",
     "fewer steps than the interval end in an IndexError; watch sees every step"},
    {"nxd-tp-zero1", "--print_grad_norm", "watch looks for spikes of the gradient norm"},
    {"nxd-tp-zero1", "--num_layers", "config.json says it"},
    {"nxd-pp", "--training_config", kPath},
    {"nxd-pp", "--training_dir", kPath},
    {"nxd-pp", "--tb_dir", "the script empties it at each start, so each start has its own"},
    {"nxd-pp", "--metrics_file", kOwnFolder},
    {"nxd-pp", "--checkpoint_dir", kPath},
    {"nxd-pp", "--checkpoint_freq", kSaves},
    {"nxd-pp", "--num_kept_checkpoint", kKeeps},
    {"nxd-pp", "--loading_step", kResumes},
    {"nxd-pp", "--pretrained_weight", "left out, which is 0: it begins from random weights"},
    {"nemo-megatron", "model.tokenizer.type", kPath},
    {"nemo-megatron", "model.data.data_prefix", kPath},
    {"nemo-megatron", "exp_manager.explicit_log_dir",
     "one folder for every job id, so that a new one goes on"},
    {"nemo-megatron", "exp_manager.resume_if_exists", kResumes},
    {"nemo-megatron", "exp_manager.resume_ignore_no_checkpoint", kResumes},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.train_time_interval",
     "every 36000 s risks ten hours"},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.every_n_train_steps", kSaves},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.save_top_k", kKeeps},
    {"nemo-megatron", "trainer.num_sanity_val_steps",
     "else it begins with validation; the recipe of 70B has it too"},
    {"nemo-megatron", "model.layernorm_epsilon", "the model's own 1e-5; the recipe of 13B says 1e-6"},
    {"bert", "--data_dir", kPath},
    {"bert", "--output_dir", kPath},
    {"bert", "--metrics_file", kOwnFolder},
    {"bert", "--resume_ckpt_path", kPath},
    {"bert", "--seq_len", "a data set of another width ends the run at once"},
    {"bert", "--steps_this_run", "as many as --max_steps, which phase 2 leaves to the default"},
    {"bert", "--num_ckpts_to_keep", "two: one may be half written when a node fails"},
    {"bert", "--print_grad_norm", "watch looks for spikes of the gradient norm"},
};

bool deliberate(const std::string& script, const std::string& key) {
  for (const Difference& d : kDeliberate) {
    if (script == d.script && key == d.key) return true;
  }
  return false;
}

Started emitted(const Published& p) {
  models::Job job = job_of(p.model, p.nodes, p.sequence, p.batch);
  job.training.precision = p.precision;
  const planner::Target& target = *targets::find(p.target);
  planner::Plan plan;
  plan.strategy = strategy_of(job, p.strategy);
  plan.nodes = p.nodes;
  const auto why = planner::inexpressible(target, job, plan.strategy);
  INFO(why.value_or(""));
  REQUIRE_FALSE(why.has_value());
  return started(launch::node_run_sh({job, plan, target}), "train");
}

}  // namespace

TEST_CASE("a published plan gives its recipe, but for what is written otherwise on purpose", "[launch]") {
  std::set<std::string> met;
  for (const Published& p : kPublished) {
    INFO(p.script << " " << p.recipe);
    const EntryPoint entry(entry_point_table(), p.script);
    const Started ours = emitted(p);
    REQUIRE(entry.faults(ours.words).empty());
    const Settings theirs = entry.settings(shipped_line(p.script, p.recipe).words);
    const Settings mine = entry.settings(ours.words);
    for (const auto& [key, value] : theirs) {
      const auto it = mine.find(key);
      REQUIRE(it != mine.end());
      if (same_value(it->second, value)) continue;
      INFO(key << ": the recipe has " << value << ", this " << it->second);
      CHECK(deliberate(p.script, key));
      met.insert(std::string(p.script) + key);
    }
    CHECK(mine.size() == theirs.size());
    CHECK(ours.folder == entry.text("workdir"));
    CHECK(std::to_string(ours.port) == entry.port(p.recipe));
  }
  // Nothing is listed that does not happen.
  for (const Difference& d : kDeliberate) {
    INFO(d.script << " " << d.key << ": " << d.why);
    CHECK(met.contains(std::string(d.script) + d.key));
  }
}
