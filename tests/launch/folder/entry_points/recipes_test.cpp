#include <set>

#include "launch/folder/scripts.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/assertions.h"
#include "tests/launch/folder/entry_points/shipped_lines.h"
#include "tests/launch/folder/entry_points/started.h"
#include "tests/models/setup.h"
#include "text/parse.h"

using namespace trnplan;

namespace {

/// A published run: its command line, and the job and strategy that it trains.
struct Published {
  const char *script, *recipe, *target, *model;
  int nodes, sequence, batch;
  models::Precision precision;
  const char* strategy;
  const char* optimizer = "";         ///< that the job states
  const char* phase1_step = "28125";  ///< that the person fills in
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
    {"bert", "phase2-lamb", "bert", "bert-large", 1, 512, 32768, kRounding, "mbs=2,zero1=false", "lamb",
     "7032"},
};

/// What is written otherwise than a recipe has it, and why.
struct Difference {
  const char *script, *key, *why;
  bool stated = false;  ///< goes where the job states what the recipe has
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
    {"nxd-tp-zero1", "--checkpoint_freq", kSaves, true},
    {"nxd-tp-zero1", "--num_kept_checkpoint", kKeeps, true},
    {"nxd-tp-zero1", "--loading_step", kResumes},
    {"nxd-tp-zero1", "--logging_interval",
     "fewer steps than the interval end in an IndexError; watch sees every step", true},
    {"nxd-tp-zero1", "--print_grad_norm", "watch looks for spikes of the gradient norm"},
    {"nxd-tp-zero1", "--num_layers", "config.json says it"},
    {"nxd-pp", "--training_config", kPath},
    {"nxd-pp", "--training_dir", kPath},
    {"nxd-pp", "--tb_dir", "the script empties it at each start, so each start has its own"},
    {"nxd-pp", "--metrics_file", kOwnFolder},
    {"nxd-pp", "--checkpoint_dir", kPath},
    {"nxd-pp", "--checkpoint_freq", kSaves, true},
    {"nxd-pp", "--num_kept_checkpoint", kKeeps, true},
    {"nxd-pp", "--loading_step", kResumes},
    {"nxd-pp", "--pretrained_weight", "left out, which is 0: it begins from random weights", true},
    {"nemo-megatron", "model.tokenizer.type", kPath},
    {"nemo-megatron", "model.data.data_prefix", kPath},
    {"nemo-megatron", "exp_manager.explicit_log_dir",
     "one folder for every job id, so that a new one goes on"},
    {"nemo-megatron", "exp_manager.resume_if_exists", kResumes},
    {"nemo-megatron", "exp_manager.resume_ignore_no_checkpoint", kResumes},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.train_time_interval",
     "every 36000 s risks ten hours"},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.every_n_train_steps", kSaves},
    {"nemo-megatron", "exp_manager.checkpoint_callback_params.save_top_k", kKeeps, true},
    {"nemo-megatron", "trainer.num_sanity_val_steps",
     "else it begins with validation; the recipe of 70B has it too"},
    {"nemo-megatron", "model.layernorm_epsilon", "the model's own 1e-5; the recipe of 13B says 1e-6"},
    {"bert", "--data_dir", kPath},
    {"bert", "--output_dir", kPath},
    {"bert", "--metrics_file", kOwnFolder},
    {"bert", "--resume_ckpt_path", kPath},
    {"bert", "--seq_len", "a data set of another width ends the run at once"},
    {"bert", "--steps_this_run", "as many as --max_steps, which phase 2 leaves to the default"},
    {"bert", "--num_ckpts_to_keep", "two: one may be half written when a node fails", true},
    {"bert", "--print_grad_norm", "watch looks for spikes of the gradient norm"},
};

const Difference* deliberate(const std::string& script, const std::string& key) {
  for (const Difference& d : kDeliberate) {
    if (script == d.script && key == d.key) return &d;
  }
  return nullptr;
}

/// What a job can say of how a run is kept, as the recipe has it.
models::RunFiles kept_as(const Settings& theirs) {
  models::RunFiles run;
  const auto whole = [&](const char* key) -> std::optional<std::int64_t> {
    const auto it = theirs.find(key);
    if (it == theirs.end()) return std::nullopt;
    if (it->second == "-1") return models::kAllCheckpoints;
    return parse_whole(it->second);
  };
  const auto first = [&](const char* a, const char* b) { return whole(a) ? whole(a) : whole(b); };
  run.checkpoint_steps = whole("--checkpoint_freq");
  run.checkpoints_kept = first("--num_kept_checkpoint", "--num_ckpts_to_keep");
  if (!run.checkpoints_kept)
    run.checkpoints_kept = whole("exp_manager.checkpoint_callback_params.save_top_k");
  run.log_steps = first("--logging_interval", "trainer.log_every_n_steps");
  const auto weights = theirs.find("--pretrained_weight");
  if (weights != theirs.end() && weights->second == "0") run.start_from = models::StartFrom::scratch;
  return run;
}

Started emitted(const Published& p, const models::RunFiles& run) {
  models::Job job = job_of(p.model, p.nodes, p.sequence, p.batch);
  job.training.precision = p.precision;
  job.run = run;
  job.learning.optimizer = p.optimizer;
  const planner::Target& target = *targets::find(p.target);
  planner::Plan plan;
  plan.strategy = strategy_of(job, p.strategy);
  plan.nodes = p.nodes;
  const auto why = planner::inexpressible(target, job, plan.strategy);
  INFO(why.value_or(""));
  REQUIRE_FALSE(why.has_value());
  return started(launch::node_run_sh({job, plan, target}), "train", false, p.phase1_step);
}

}  // namespace

namespace {

/// The keys in which the emitted commands differ from the recipes, each on purpose. Where `stated`, the job says how
/// a run is kept as the recipe has it.
std::set<std::string> differences(bool stated) {
  std::set<std::string> met;
  for (const Published& p : kPublished) {
    INFO(p.script << " " << p.recipe);
    const EntryPoint entry(entry_point_table(), p.script);
    const Settings theirs = entry.settings(shipped_line(p.script, p.recipe).words);
    const Started ours = emitted(p, stated ? kept_as(theirs) : models::RunFiles{});
    REQUIRE(entry.faults(ours.words).empty());
    const Settings mine = entry.settings(ours.words);
    for (const auto& [key, value] : theirs) {
      const auto it = mine.find(key);
      REQUIRE(it != mine.end());
      if (same_value(it->second, value)) continue;
      INFO(key << ": the recipe has " << value << ", this " << it->second);
      const Difference* known = deliberate(p.script, key);
      CHECK((known != nullptr && !(stated && known->stated)));
      met.insert(std::string(p.script) + key);
    }
    CHECK(mine.size() == theirs.size());
    CHECK(ours.folder == entry.text("workdir"));
    CHECK(std::to_string(ours.port) == entry.port(p.recipe));
  }
  return met;
}

}  // namespace

TEST_CASE("a published plan gives its recipe, but for what is written otherwise on purpose", "[launch]") {
  const std::set<std::string> met = differences(false);
  // Nothing is listed that does not happen.
  for (const Difference& d : kDeliberate) {
    INFO(d.script << " " << d.key << ": " << d.why);
    CHECK(met.contains(std::string(d.script) + d.key));
  }
}

TEST_CASE("a job that keeps its run as the recipe does differs in what no job states", "[launch]") {
  const std::set<std::string> met = differences(true);
  for (const Difference& d : kDeliberate) {
    INFO(d.script << " " << d.key << ": " << d.why);
    CHECK(met.contains(std::string(d.script) + d.key) == !d.stated);
  }
}

namespace {

/// A setting that follows from a plan's degrees, with its value in both.
struct Derived {
  const char *key, *shipped, *here, *why;
};

// Llama-2 70B on 32 nodes, batch 1024. The shipped line of NxD has TP 32 x PP 8, so that DP is 1024 cores / 256 = 4.
// With TP 8 x PP 16 it is 1024 / 128 = 8; no line of NxD with these degrees is published, of NeMo-Megatron one is
// (above).
constexpr Derived kDegrees[] = {
    {"--tensor_parallel_size", "32", "8", "the plan's"},
    {"--pipeline_parallel_size", "8", "16", "the plan's"},
    {"--train_batch_size", "256", "128", "1024 sequences over DP 8 instead of 4"},
    {"--num_microbatches", "256", "128", "of one sequence each, as there"},
    {"--kv_replicator", "4", "1", "TP / 8 heads of keys and values"},
};

}  // namespace

TEST_CASE("Llama-2 70B with NxD at TP 8 and PP 16 is the shipped line, but for what its degrees make of it",
          "[launch]") {
  const EntryPoint entry(entry_point_table(), "nxd-pp");
  const Settings theirs = entry.settings(shipped_line("nxd-pp", "llama2-70B").words);
  const Published plan = {"nxd-pp",     "",     "nxd",
                          "llama2-70b", 32,     4096,
                          1024,         kMixed, "tp=8,pp=16,recompute=CoreAttention,flash=false"};
  const Started ours = emitted(plan, kept_as(theirs));
  REQUIRE(entry.faults(ours.words).empty());
  const Settings mine = entry.settings(ours.words);
  REQUIRE(mine.size() == theirs.size());
  std::set<std::string> left;
  for (const Derived& d : kDegrees) {
    INFO(d.key << ": " << d.why);
    CHECK(same_value(theirs.at(d.key), d.shipped));
    CHECK(same_value(mine.at(d.key), d.here));
    left.insert(d.key);
  }
  for (const auto& [key, value] : theirs) {
    if (left.contains(key) || same_value(mine.at(key), value)) continue;
    INFO(key << ": the recipe has " << value << ", this " << mine.at(key));
    const Difference* known = deliberate("nxd-pp", key);
    CHECK((known != nullptr && !known->stated));
  }
}
