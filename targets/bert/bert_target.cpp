#include "targets/bert/bert_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "targets/bert/bert_read.h"
#include "targets/flags/flags.h"
#include "targets/flags/launch_line.h"
#include "targets/flags/recipe.h"
#include "targets/hf/hf_rules.h"
#include "targets/hf/nxd_preparation.h"

namespace trnplan::targets {

namespace {

constexpr const char* kFolder = "torch-neuronx/training/dp_bert_hf_pretrain";

/// A shipped recipe: one of the shell scripts of that folder.
struct BertRecipe {
  int sequence = 0;            ///< of the data set
  int batch = 0;               ///< global; its scripts keep it on any number of nodes
  int predictions = 0;         ///< masked tokens per sequence
  bool second = false;         ///< of the phase that starts from the weights of the other
  std::string_view optimizer;  ///< except with fp32, where AdamW has no states to keep wider
  Recipe learning;
};

constexpr std::string_view kAdam = "AdamW_FP32OptimParams", kLamb = "LAMB";
constexpr std::string_view kPhase1Adam =
    "aws-neuron/aws-neuron-samples@2015d65:torch-neuronx/training/dp_bert_hf_pretrain/"
    "run_dp_bert_large_hf_pretrain_bf16_s128.sh";
constexpr std::string_view kPhase1Lamb =
    "aws-neuron/aws-neuron-samples@2015d65:torch-neuronx/training/dp_bert_hf_pretrain/"
    "run_dp_bert_large_hf_pretrain_bf16_s128_lamb.sh";
constexpr std::string_view kPhase2Adam =
    "aws-neuron/aws-neuron-samples@2015d65:torch-neuronx/training/dp_bert_hf_pretrain/"
    "run_dp_bert_large_hf_pretrain_bf16_s512_phase2.sh";

constexpr std::string_view kPhase2Lamb =
    "aws-neuron/aws-neuron-samples@2015d65:torch-neuronx/training/dp_bert_hf_pretrain/"
    "run_dp_bert_large_hf_pretrain_bf16_s512_lamb_phase2.sh";

constexpr Recipe of_script(std::string_view source, std::int64_t steps, double lr, std::int64_t warmup) {
  Recipe r;
  r.source = source;
  r.parameters = 334092288.;
  r.steps = steps;
  r.lr = lr;
  r.warmup_steps = warmup;
  return r;
}

constexpr BertRecipe kRecipes[] = {
    {128, 16384, 20, false, kAdam, of_script(kPhase1Adam, 28125, 4e-4, 2000)},
    {128, 65536, 20, false, kLamb, of_script(kPhase1Lamb, 7032, 6e-3, 2000)},
    {512, 32768, 80, true, kAdam, of_script(kPhase2Adam, 1563, 2.8e-4, 781)},
    {512, 32768, 80, true, kLamb, of_script(kPhase2Lamb, 1563, 4e-3, 781)},
};

/// Recipe of the phase with the batch closest to the job's, by ratio, among those for the optimizer that the
/// job states: LAMB's learning rates are ten times Adam's. nullptr if no phase has the sequence.
const BertRecipe* recipe_of(const models::Job& job) {
  const models::Training& t = job.training;
  const std::string& stated = job.learning.optimizer;
  const BertRecipe* nearest = nullptr;
  const auto distance = [&](const BertRecipe& r) {
    return std::abs(std::log(static_cast<double>(t.global_batch) / r.batch));
  };
  for (const BertRecipe& r : kRecipes) {
    if (r.sequence != t.sequence) continue;
    if (!stated.empty() && (stated == "lamb") != (r.optimizer == kLamb)) continue;
    if (nearest == nullptr || distance(r) < distance(*nearest)) nearest = &r;
  }
  return nearest;
}

/// The script takes bert-large-uncased from the Hugging Face hub, whatever the job states.
void need_model(const models::Architecture& a, std::vector<planner::Violation>& broken) {
  const auto shape = [](const models::Architecture& m) {
    return std::tie(m.layers, m.hidden, m.intermediate, m.heads, m.vocabulary, m.token_types, m.mlp, m.biases,
                    m.learned_positions, m.causal, m.qkv_bias, m.qk_norm, m.sliding_window, m.blocks,
                    m.experts);
  };
  if (shape(a) != shape(bert_large()))
    broken.push_back(target_lacks("the model is not bert-large-uncased, the only one that it trains", ""));
}

void need_data_parallel(const models::Strategy& s, std::vector<planner::Violation>& broken) {
  if (s.model_parallel() > 1)
    broken.push_back(target_lacks("tensor, pipeline or context parallel: it is only data parallel",
                                  "pin tensor_parallel, pipeline_parallel and context_parallel to 1"));
  if (s.zero1) broken.push_back(target_lacks("ZeRO-1", "pin zero1 to false in the job"));
  if (s.recompute != models::Recompute{})
    broken.push_back(
        target_lacks("it recomputes " + models::to_string(s.recompute), "pin recompute to none in the job"));
  if (s.flash_attention)
    broken.push_back(target_lacks("flash attention", "pin flash_attention to false in the job"));
}

void need_precision(const models::Strategy& s, std::vector<planner::Violation>& broken) {
  using enum models::Precision;
  if (s.precision == bf16_sr || s.precision == autocast || s.precision == fp32) return;
  broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                "write precision: bf16SR, autocast or fp32 in the job"));
}

/// Workers that the script starts: aws-neuron/aws-neuron-sdk@81ce03ae archive/nxd-training/bert.rst.
void need_workers(const topology::Cluster& c, std::vector<planner::Violation>& broken) {
  const int cores = c.instance.host_cores();
  if (c.hosts() > 1 ? cores == 32 : cores == 1 || cores == 2 || cores == 8 || cores == 32) return;
  broken.push_back(target_lacks(
      fmt::format("{} processes on each of {} nodes: it starts 1, 2, 8 or 32 on one, 32 on each of several",
                  cores, c.hosts()),
      "use an instance type with one of these core counts"));
}

/// Variables that the shipped scripts export. They point the compiler to a cache of its own only if
/// NEURON_COMPILE_CACHE_URL is not set; the Python script sets stochastic rounding.
std::vector<std::string> environment(const models::Job& job) {
  std::vector<std::string> names = {
      "NEURON_RT_EXEC_TIMEOUT=600", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=0",
      "TF_GRPC_DEFAULT_OPTIONS=grpc.keepalive_time_ms=60000,grpc.keepalive_timeout_ms=14400000,"
      "grpc.http2.max_pings_without_data=0,grpc.http2.min_ping_interval_without_data_ms=600000",
      "HF_HOME=/tmp/hf_cache/"};
  if (job.cluster.hosts() > 1) {
    names.emplace_back("BUCKET_CAP_MB=512");
    names.emplace_back("XLA_TRANSFER_SEED_ASYNC=1");
  }
  return names;
}

/// Optimizer that the job states, in the recipe's form of it; else the recipe's.
std::string_view optimizer_of(const BertRecipe& recipe, const models::Learning& l,
                              const models::Strategy& s) {
  if (l.optimizer == "lamb") return kLamb;
  if (l.optimizer == "adamw") return "AdamW";
  if (l.optimizer == "adamw_fp32OptState") return kAdam;
  return s.precision == models::Precision::fp32 && recipe.optimizer == kAdam ? "AdamW" : recipe.optimizer;
}

std::vector<std::string> remarks(const models::Job& job, const BertRecipe& recipe) {
  std::vector<std::string> all = {
      "Every rank takes the weights of bert-large-uncased from the Hugging Face hub when it starts.",
      fmt::format("The data set needs at least as many files as there are ranks: {}.", job.cluster.cores())};
  if (job.training.global_batch != recipe.batch) {
    all.push_back(fmt::format(
        "Learning rate and warm-up are those of the shipped recipe for a global batch of {}.", recipe.batch));
  }
  all.emplace_back(recipe.second
                       ? "A resumed run keeps its weights and its epoch; optimizer and warm-up start again."
                       : "A resumed run keeps its optimizer, its schedule and its place in the data.");
  return all;
}

/// The script has no flag for anything else. Phase 2 starts from phase 1.
Learnable learnable(const BertRecipe& recipe) {
  Learnable can;
  can.optimizers = {"adamw", "adamw_fp32OptState", "lamb"};
  can.clipping = can.decay = Learnable::Fixed{};
  can.shape = can.betas = can.log_steps = can.checkpoint_steps = can.keeps_all = false;
  can.starts = {recipe.second ? models::StartFrom::checkpoint : models::StartFrom::scratch};
  return can;
}

class Bert : public planner::Target {
 public:
  std::string_view name() const override { return "bert"; }
  std::string_view log_format() const override { return "bert"; }
  bool trains_encoders() const override { return true; }

  /// aws-neuron/aws-neuron-sdk@81ce03ae about-neuron/announcements/neuron2.x.
  std::string support() const override {
    return "Needs torch-neuronx with PyTorch/XLA and transformers 4.44.0: training with XLA is not supported "
           "from Neuron 2.30 on, so stay on Neuron SDK 2.28.";
  }

  planner::TargetDefaults defaults() const override {
    return {.precision = models::Precision::bf16_sr, .zero1 = false, .dropout = true};
  }

  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_model(job.architecture, broken);
    if (!broken.empty()) return broken;  // nothing else matters then
    if (const BertRecipe* recipe = recipe_of(job)) {
      need_learning(job, recipe->learning, learnable(*recipe), broken);
    } else {
      broken.push_back(target_lacks(fmt::format("sequences of {} tokens", job.training.sequence),
                                    "write sequence: 128 for phase 1, 512 for phase 2"));
    }
    need_data_parallel(s, broken);
    need_precision(s, broken);
    need_workers(job.cluster, broken);
    return broken;
  }

  /// If it can train nothing, the plans cover all strategies, and none of its rules ties embeddings over
  /// stages.
  std::vector<planner::Violation> rules(const models::Job& job,
                                        const models::Strategy& strategy) const override {
    return hf_rules(job, strategy);
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/aws-neuron-samples", kFolder, kBertScript};
  }

  std::vector<planner::PersonValue> asked() const override {
    return {{"TRNPLAN_PHASE1", "The folder with the last checkpoint of phase 1, named ckpt_STEP.pt.", true,
             &models::RunFiles::weights},
            {"TRNPLAN_PHASE1_STEP",
             "The step in that name: 28125 by the shipped recipe for AdamW, 7032 for LAMB.", false, nullptr}};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    const BertRecipe* recipe = recipe_of(job);
    return recipe != nullptr && recipe->second ? asked() : std::vector<planner::PersonValue>{};
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    const BertRecipe& recipe = *recipe_of(job);
    const Recipe learning = with_learning(recipe.learning, job.learning);
    const bool second = recipe.second;
    planner::TrainCommand c;
    c.steps = steps_of(job.training, recipe.learning);
    c.compile_steps = 5;
    c.environment = environment(job);
    c.fixed.clear();
    c.port = second ? 2023 : 2022;
    c.reserved_ports = {48620};
    Words w;
    w.flag("--data_dir", "$TRNPLAN_DATA").count("--seq_len", job.training.sequence);
    w.count("--max_pred_len", recipe.predictions);
    w.flag("--optimizer", std::string(optimizer_of(recipe, job.learning, s))).number("--lr", learning.lr);
    w.count("--warmup_steps", warmup_of(recipe.learning, job.learning, c.steps));
    w.count("--max_steps", c.steps).flag("--steps_this_run", "$steps");
    w.count("--batch_size", s.micro_batch);
    w.count("--grad_accum_usteps", models::micro_batches(job.training, s));
    w.toggle("--enable_pt_autocast", s.precision == models::Precision::autocast);
    w.toggle("--enable_fp32", s.precision == models::Precision::fp32);
    w.toggle("--print_grad_norm", true);
    w.flag("--output_dir", "$results").flag("--metrics_file", "$results/results.json");
    if (job.learning.seed) w.count("--seed", *job.learning.seed);
    w.count("--num_ckpts_to_keep", job.run.checkpoints_kept.value_or(kKeptCheckpoints));
    c.again.checkpoints = "ckpt_*.pt";
    c.again.later = {"--resume_ckpt"};
    if (second) {
      w.toggle("--phase2", true).flag("--phase1_end_step", "$TRNPLAN_PHASE1_STEP");
      c.again.first = {"--resume_ckpt", "--resume_ckpt_path", "$TRNPLAN_PHASE1/ckpt_$TRNPLAN_PHASE1_STEP.pt"};
    }
    c.arguments = w.take();
    c.remarks = remarks(job, recipe);
    say_unused(job, {}, c.remarks);
    return c;
  }

  std::optional<int> nodes_of(const planner::ConfigFile& file) const override { return launched_nodes(file); }

  std::vector<std::string_view> programs() const override { return {kBertScript}; }

  std::optional<planner::RunReading> read_run(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture*) const override {
    return bert_reading(file, ranks);
  }
  std::string_view neuron_stack() const override { return kXlaStack; }

  /// aws-neuron/aws-neuron-samples@2015d65 torch-neuronx/training/dp_bert_hf_pretrain: requirements.txt and README.
  planner::Preparation preparation(const models::Job& job, const models::Strategy&) const override {
    planner::Preparation p;
    put_release(p, *this, job);
    p.install = {
        pip_install() + torch_packages(planner::pinned_release(*this, job)),
        "pip install transformers==4.44.0 tensorboard==2.14 datasets==2.19.1 huggingface-hub==0.24.5 h5py "
        "requests==2.31.0"};
    const std::string name =
        fmt::format("bert_pretrain_wikicorpus_tokenized_hdf5_seqlen{}", job.training.sequence);
    p.data = {
        "mkdir -p \"$HOME/examples_datasets\"",
        fmt::format(
            "aws s3 cp s3://neuron-s3/training_datasets/bert_pretrain_wikicorpus_tokenized_hdf5/{}.tar . "
            "--no-sign-request",
            name),
        fmt::format("tar -C \"$HOME/examples_datasets\" -xf {}.tar", name),
        fmt::format("echo \"TRNPLAN_DATA is $HOME/examples_datasets/{}\"", name)};
    return p;
  }
};

}  // namespace

const planner::Target& bert() {
  static const Bert target;
  return target;
}

}  // namespace trnplan::targets
