#include "targets/torchtitan/torchtitan_target.h"

#include <fmt/format.h>

#include "models/framework/framework.h"
#include "targets/flags/flags.h"
#include "targets/torchtitan/titan_plan.h"
#include "targets/torchtitan/titan_read.h"
#include "targets/torchtitan/titan_rules.h"

namespace trnplan::targets {

namespace {

constexpr const char* kTag = "v0.2.2";
/// Its converter to FP8 needs it, and requirements.txt does not name it. v0.2.2 asks for v0.9.0 or later, which has
/// recipes by name (torchtitan/components/quantization/float8.py); without kernels of its own, as docs/float8.md
/// installs it.
constexpr const char* kTorchao = "USE_CPP=0 pip install 'torchao>=0.9.0'";

void need_model(const models::Job& job, std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  if (titan_flavor(a) == nullptr) {
    broken.push_back(target_lacks(
        "the model is not a Llama 3 or 3.1 of 8, 70 or 405 B, the sizes for which plans are written", ""));
  } else if (!a.rope_scaling.empty() && a.llama31_rope_factor != 8.0) {
    broken.push_back(target_lacks("rope_scaling other than that of Llama 3.1", ""));
  } else if (models::has_window(a, job.training.sequence)) {
    broken.push_back(target_lacks("a sliding window shorter than the sequence", ""));
  }
}

void need_mesh(const models::Job& job, const models::Strategy& s, std::vector<planner::Violation>& broken) {
  const TitanLoop* loop = titan_loop(s);
  if (loop == nullptr) {
    broken.push_back(target_lacks("a training loop other than FSDP2's", "pin framework to fsdp in the job"));
    return;
  }
  if (on_neuron(job) && (!loop->compiled || loop->async_tp))
    broken.push_back(
        target_lacks("eager blocks or asynchronous TP on Neuron cores", "pin framework to fsdp"));
  const auto mesh = titan_mesh(s);
  if (!mesh) {
    broken.push_back(target_lacks("groups of ranks that context parallel does not divide",
                                  "pin shard_degree to a multiple of context_parallel"));
  } else if (mesh->shard == 1 && mesh->replicate > 1 && s.model_parallel() > 1) {
    broken.push_back(target_lacks("replicas that share nothing together with model parallel ranks",
                                  "pin zero1 to true, or shard_degree to 2 or more times context_parallel"));
  }
  if (mesh && mesh->replicate == 1 && titan_computes_wide(s)) {
    broken.push_back(
        target_lacks("mixed precision of TP or PP without FSDP or context parallel, which runs in FP32",
                     "pin data_parallel or context_parallel to 2 or more"));
  }
  if (!s.zero1 && s.context_parallel > 1) {
    broken.push_back(target_lacks("context parallel ranks that share nothing: it shards over them too",
                                  "pin zero1 to true in the job"));
  }
  if (s.zero1 && s.sharding == models::Sharding::states)
    broken.push_back(target_lacks("sharding zero1", "pin sharding to zero3 or zero2"));
  if (s.tensor_parallel > 1 && !s.sequence_parallel) {
    broken.push_back(target_lacks("tensor parallel without sequence parallel",
                                  "pin sequence_parallel to true in the job"));
  }
  const std::int64_t pieces = titan_pieces(s.tensor_parallel, s.context_parallel);
  if (job.training.sequence % pieces != 0) {
    broken.push_back(
        target_lacks(fmt::format("sequences of {} tokens in {} pieces", job.training.sequence, pieces),
                     "pin a smaller tensor_parallel or context_parallel"));
  }
  if (s.expert_parallel > 1)
    broken.push_back(target_lacks("expert parallel", "pin expert_parallel to 1 in the job"));
  if (s.kv_replicator > 1)
    broken.push_back(target_lacks("copies of key and value heads", "pin a tensor_parallel of at most 8"));
}

std::string pin_loop(const TitanLoop& loop) {
  return fmt::format("pin framework to {} in the job", loop.framework);
}

void need_program(const models::Job& job, const models::Strategy& s,
                  std::vector<planner::Violation>& broken) {
  const models::Recompute r = s.recompute;
  if (!r.full && (r.mlp || r.rms_norm || r.activation_multiply || (r.core_attention && !s.flash_attention))) {
    broken.push_back(target_lacks("it recomputes " + models::to_string(r),
                                  "pin recompute to none, full, full/2 or SelectiveOp"));
  }
  if (r.full && r.every > 1 && on_neuron(job)) {
    broken.push_back(target_lacks("recomputing only some layers in the module that AWS's fork starts",
                                  "pin recompute to none, full or SelectiveOp"));
  }
  if (!s.flash_attention) broken.push_back(target_lacks("plain attention", "pin flash_attention to true"));
  using enum models::Precision;
  const bool eight = s.precision == fp8 && !on_neuron(job) && job.cluster.instance.core.fp8.value > 0;
  if (s.precision != mixed_precision && !eight) {
    broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                  s.precision == fp8 || on_neuron(job)
                                      ? "write precision: mixed_precision in the job"
                                      : "write precision: mixed_precision or fp8 in the job"));
  }
  if (const TitanLoop* loop = titan_loop(s); eight && loop != nullptr && !loop->compiled) {
    broken.push_back(target_lacks("FP8 in a model that is not compiled, which docs/float8.md advises against",
                                  pin_loop(titan_loop_of(true, false))));
  }
  if (!s.pipeline_cuts.empty() || job.architecture.layers % (s.pipeline_parallel * s.virtual_pipeline) != 0) {
    broken.push_back(
        target_lacks("stages of different sizes", "pin a pipeline_parallel that divides the layers"));
  }
  if (titan_schedule(s).empty()) {
    broken.push_back(
        target_lacks(fmt::format("the schedule {}", models::to_string(models::effective_schedule(s))),
                     "leave schedule out, or pin it to gpipe"));
  } else if (const TitanLoop* loop = titan_loop(s);
             loop != nullptr && loop->compiled && models::schedule_of(s).splits_backward()) {
    broken.push_back(target_lacks(fmt::format("the schedule {} of blocks that are compiled",
                                              models::to_string(models::effective_schedule(s))),
                                  pin_loop(titan_loop_of(false, false))));
  }
  if (s.bucket_mb != models::Strategy{}.bucket_mb)
    broken.push_back(target_lacks("ZeRO-1's buckets", "leave bucket_mb out"));
}

Learnable learnable() {
  Learnable can;
  can.clipping.reset();
  can.linear_minimum = true;
  can.constant_steps = can.keeps_one = false;
  can.starts = {models::StartFrom::scratch, models::StartFrom::hf, models::StartFrom::checkpoint};
  return can;
}

/// The rank within its host that knows the loss: the first of the stage with the head.
int loss_rank(const models::Job& job, const models::Strategy& s) {
  const int cores = job.cluster.instance.host_cores(), world = static_cast<int>(job.cluster.cores());
  const int stage = models::stage_of(s, models::shape_of(s).parts() - 1);
  return world / s.pipeline_parallel * stage % std::max(1, cores);
}

std::vector<std::string> heading(const std::string& support, const std::string& first) {
  std::vector<std::string> lines = {support};
  if (!first.empty()) lines.push_back(first);
  return lines;
}

/// Tokens of C4's English part: arXiv 2104.08758, table 1.
constexpr double kC4Tokens = 156e9;

/// How often a run goes through C4, where that is more than once: a clause.
std::string passes(const models::Job& job) {
  const TitanFlavor* flavor = titan_flavor(job.architecture);
  if (flavor == nullptr) return "";
  const double tokens = static_cast<double>(steps_of(job.training, flavor->recipe)) * job.training.sequence *
                        job.training.global_batch;
  if (tokens <= kC4Tokens) return "";
  return fmt::format(", whose English part has about 156B tokens: the run goes through it {:.1f} times",
                     tokens / kC4Tokens);
}

class TorchTitan : public planner::Target {
 public:
  std::string_view name() const override { return "torchtitan"; }
  std::string_view log_format() const override { return "torchtitan"; }
  std::string_view framework() const override { return "fsdp"; }
  std::vector<std::string_view> loops() const override {
    std::vector<std::string_view> all;
    for (const TitanLoop& loop : kTitanLoops) all.push_back(loop.framework);
    return all;
  }
  bool compiles_ahead() const override { return false; }
  bool system_torch() const override { return true; }
  bool has_own_recipe() const override { return true; }

  std::string support() const override {
    return "Needs TorchTitan v0.2.2, the last with TOML, on GPUs; on Trainium 2 AWS's fork torchtitan-neuron "
           "0.2.2+neuron.1 (beta) with Neuron SDK 2.33 and PyTorch 2.14.";
  }

  std::string support_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu
               ? "Needs TorchTitan v0.2.2, the last with TOML, and PyTorch with NCCL for GPUs: a nightly "
                 "build of "
                 "its day, 2026-02-20, or later, as its README asks."
               : "Needs AWS's fork torchtitan-neuron 0.2.2+neuron.1 (beta) with Neuron SDK 2.33 and PyTorch "
                 "2.14.";
  }

  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu || machine.native_pytorch;
  }

  planner::TargetDefaults defaults() const override {
    planner::TargetDefaults d;
    d.checkpoints_kept = 10;
    return d;
  }

  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_model(job, broken);
    if (!broken.empty()) return broken;
    need_mesh(job, s, broken);
    need_program(job, s, broken);
    need_learning(job, titan_flavor(job.architecture)->recipe, learnable(), broken);
    return broken;
  }
  bool expresses(const models::Job& job, const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_mesh(job, s, broken);  // what most strategies of a search break comes first
    if (broken.empty()) need_program(job, s, broken);
    if (broken.empty()) need_model(job, broken);
    if (broken.empty()) need_learning(job, titan_flavor(job.architecture)->recipe, learnable(), broken);
    return broken.empty();
  }

  /// AWS's fork trains what the shipped config names.
  bool reads_data(const models::Job& job) const override { return !on_neuron(job); }

  planner::TargetCode code() const override {
    return {"https://github.com/pytorch/torchtitan", ".", "torchtitan/train.py", "torchtitan.train"};
  }

  planner::TargetCode code_for(const models::Job& job, const models::Strategy&) const override {
    planner::TargetCode c = code();
    if (on_neuron(job)) c.clone = "https://github.com/aws-neuron/torchtitan-neuron";
    return c;
  }

  std::vector<planner::PersonValue> asked() const override {
    return {{"TRNPLAN_TOKENIZER", "A folder with the model's Hugging Face tokenizer.", true,
             &models::RunFiles::tokenizer}};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    std::vector<planner::PersonValue> values = asked();
    if (job.run.begins_with_weights()) {
      const bool hf = job.run.start_from == models::StartFrom::hf;
      values.push_back({"TRNPLAN_WEIGHTS",
                        hf ? "The folder of the model's Hugging Face weights, as they are."
                           : "The checkpoint from which the run starts: a folder step-N.",
                        true, &models::RunFiles::weights});
    }
    return values;
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    planner::TrainCommand c;
    const bool neuron = on_neuron(job);
    const TitanRun run = titan_run(job, s);
    c.steps = run.steps;
    c.learning = {run.learning.lr, run.warmup, std::string(run.learning.source)};
    c.fixed.clear();
    c.port = 29500;
    c.imports_plan = neuron;
    c.launcher = {fmt::format("--local-ranks-filter={}", loss_rank(job, s)), "--role=rank", "--tee=3"};
    if (neuron) {
      c.environment = {"TORCH_NEURONX_NEFF_CACHE_DIR=$TRNPLAN_CACHE",
                       "TORCH_NEURONX_NEFF_LOCAL_CACHE_DIR=$TRNPLAN_LOCAL_CACHE"};
    } else {
      c.environment = {"PYTORCH_ALLOC_CONF=expandable_segments:True"};
    }
    Words w;
    if (neuron) {
      w.flag("--module", "trnplan_config").flag("--config", "trnplan");
      w.flag("--dump_folder", "$results").flag("--hf_assets_path", "$TRNPLAN_TOKENIZER");
    } else {
      w.flag("--job.config_file", std::string("$plan/") + kTitanToml).flag("--job.dump_folder", "$results");
      w.flag("--model.hf_assets_path", "$TRNPLAN_TOKENIZER");
      w.flag("--training.dataset_path", "$TRNPLAN_DATA");
    }
    w.flag("--training.steps", "$steps");
    if (job.run.begins_with_weights()) w.flag("--checkpoint.initial_load_path", "$TRNPLAN_WEIGHTS");
    c.arguments = w.take();
    c.remarks = {
        "The newest checkpoint below $results is loaded automatically; without one, the weights to begin "
        "with.",
        "The log shows, on each node, the rank in the position of the one that knows the loss."};
    if (neuron) {
      c.remarks.emplace_back(
          "The data set is that of the shipped config, fetched by name. Graphs are compiled when they are "
          "first needed.");
    }
    say_unused(job, {}, c.remarks);
    return c;
  }

  planner::Preparation preparation(const models::Job& job, const models::Strategy& s) const override {
    planner::Preparation p;
    const bool neuron = on_neuron(job);
    if (!neuron) p.tag = kTag;
    if (neuron) p.python = "python3.12";
    p.install = {"pip install -r \"$TRNPLAN_CODE/requirements.txt\"", "pip install -e \"$TRNPLAN_CODE\""};
    if (s.precision == models::Precision::fp8) p.install.emplace_back(kTorchao);
    p.tokenizer = {
        "python3 \"$TRNPLAN_CODE/scripts/download_hf_assets.py\" --repo_id "
        "\"${TRNPLAN_MODEL:?fill in settings.env}\" --assets tokenizer --local_dir "
        "\"$plan/assets\" --hf_token \"${HF_TOKEN:?fill in settings.env}\"",
        "local found", "found=$(find \"$plan/assets\" -name 'tokenizer*' -type f -print -quit)",
        "echo \"Write into settings.env: TRNPLAN_TOKENIZER=${found%/*}\""};
    if (reads_data(job)) p.data_is = "A copy of Hugging Face's data set allenai/c4" + passes(job) + ".";
    p.values = {
        {"TRNPLAN_MODEL", "The name of the model at Hugging Face, whose tokenizer is fetched.", false},
        {"HF_TOKEN",
         "A Hugging Face token that may read it; it is a secret, so export it rather than write it here.",
         false}};
    p.remarks.emplace_back(
        "Checkpoints of Hugging Face are loaded as they are: write start_from: hf in the job.");
    return p;
  }

  std::vector<std::string> config_names() const override { return {kTitanToml, kTitanModule}; }

  std::vector<planner::ConfigFile> emit(const models::Job& job, const models::Strategy& s,
                                        const planner::ConfigUse& use) const override {
    const std::string support = support_on(job.cluster.instance.traits);
    // The folder's run reads one of the two; the other is for who starts it another way.
    const std::string toml = on_neuron(job)
                                 ? std::string("Not read by node_run.sh, which starts ") + kTitanModule +
                                       ". For TorchTitan v0.2.2, the last with TOML."
                                 : support;
    const std::string module =
        on_neuron(job)
            ? support
            : std::string("Not read by node_run.sh, which starts ") + kTitanToml +
                  ". For TorchTitan since it accepts Python only (pytorch/torchtitan@b5bcd76, August 2026).";
    return {{kTitanToml, titan_toml(job, s, heading(toml, use.heading), use.log_every_step)},
            {kTitanModule, titan_module(job, s, heading(module, use.heading), use.log_every_step)}};
  }

  bool recognises(const Node& root) const override { return looks_like_titan(root); }

  std::optional<planner::ConfigReading> interpret(const Node& root,
                                                  const models::Architecture& a) const override {
    return titan_reading(root, a);
  }

  std::vector<std::string_view> programs() const override { return {"torchtitan"}; }

  std::optional<planner::RunReading> read_run(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture*) const override {
    return titan_run_reading(file, ranks);
  }

  std::vector<planner::StartFault> start_faults(const planner::ConfigFile& file,
                                                const topology::Cluster& cluster) const override {
    return titan_start_faults(file, cluster);
  }

  planner::KeyPlace place_of(const planner::ConfigFile& file, std::string_view rule) const override {
    return titan_place_of(file, rule);
  }
};

}  // namespace

const planner::Target& torchtitan() {
  static const TorchTitan target;
  return target;
}

}  // namespace trnplan::targets
