#include "targets/megatron/megatron_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "targets/flags/flags.h"
#include "targets/flags/launch_line.h"
#include "targets/flags/recipe.h"
#include "targets/megatron/megatron_flags.h"
#include "targets/megatron/megatron_loops.h"
#include "targets/megatron/megatron_read.h"
#include "targets/megatron/megatron_recipes.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/megatron/nemo_recipe.h"

namespace trnplan::targets {

namespace {

/// Revision of the flags below, which prepare.sh checks out.
constexpr const char* kCommit = "d98e8a6";

void need_model(const models::Job& job, std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  if (!a.causal || a.token_types > 0) {
    broken.push_back(target_lacks("the model is not a causal decoder", ""));
    return;
  }
  if (!a.blocks.untimed.empty() || a.blocks != models::Blocks{})
    broken.push_back(target_lacks("blocks beyond those of Llama, GPT and Mixtral", ""));
  if (a.rope_theta != std::floor(a.rope_theta))
    broken.push_back(target_lacks("a rotary base that is not a whole number", ""));
  if (!a.rope_scaling.empty() && !a.llama31_rope_factor)
    broken.push_back(target_lacks("rope_scaling other than that of Llama 3.1", ""));
}

/// Named modules of --recompute-modules; with flash attention CoreAttention is never called.
std::vector<std::string> recompute_modules(const models::Strategy& s, bool experts) {
  const models::Recompute r = s.recompute;
  std::vector<std::string> modules;
  if (r.full) return modules;
  if (r.core_attention && !s.flash_attention) modules.emplace_back("core_attn");
  if (r.rms_norm) modules.emplace_back("layernorm");
  // In a layer of experts "mlp" recomputes nothing (core/transformer/transformer_layer.py).
  if (r.mlp) modules.emplace_back(experts ? "moe" : "mlp");
  return modules;
}

/// Layers of the first and the last stage if they differ from those of the stages between, or, with chunks,
/// embedding and loss counted as a layer of them; nullopt if the stages between differ among each other, which
/// no flag can express here.
struct EndLayers {
  int first = 0, last = 0;  ///< 0: the same as all others
  bool embedding = false, loss = false;
};

std::optional<EndLayers> counted_ends(const std::vector<int>& chunks) {
  const int middle = chunks[1];
  const auto fits = [&](int end) { return end == middle || end == middle - 1; };
  if (!fits(chunks.front()) || !fits(chunks.back()) ||
      !std::all_of(chunks.begin() + 1, chunks.end() - 1, [&](int n) { return n == middle; }))
    return std::nullopt;
  return EndLayers{0, 0, chunks.front() < middle, chunks.back() < middle};
}

std::optional<EndLayers> stage_layers(const models::Architecture& a, const models::Strategy& s) {
  std::vector<int> layers = models::layers_per_chunk(a, s);
  if (std::all_of(layers.begin(), layers.end(), [&](int n) { return n == layers.front(); }))
    return EndLayers{};
  if (s.virtual_pipeline > 1) {
    if (const auto counted = counted_ends(layers)) return counted;
    // The chunks of a stage have the same number, and stages are counted.
    const auto stages = static_cast<std::size_t>(s.pipeline_parallel);
    for (std::size_t i = stages; i < layers.size(); ++i) {
      if (layers[i] != layers[i - stages]) return std::nullopt;
    }
    layers.resize(stages);
    for (int& n : layers) n *= s.virtual_pipeline;
  }
  const bool same =
      std::all_of(layers.begin() + 1, layers.end() - 1, [&](int n) { return n > 0 && n == layers[1]; });
  if (!same) return std::nullopt;
  return EndLayers{layers.front(), layers.back()};
}

/// MoEFlexTokenDispatcher's assertions and TransformerConfig's (NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer).
void need_experts_flags(const models::Job& job, const models::Strategy& s, const MegatronLoop& loop,
                        std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  if (loop.flex && (a.experts == 0 || s.tensor_parallel * s.expert_parallel == 1))
    broken.push_back(target_lacks("the flex dispatcher without ranks to send tokens to",
                                  "pin framework to megatron, or expert_parallel to more than 1"));
  if (loop.flex && a.capacity_factor.value_or(0) > 0)
    broken.push_back(target_lacks("the flex dispatcher with a capacity of experts",
                                  "pin framework to megatron, or leave capacity_factor out"));
}

void need_program(const models::Job& job, const models::Strategy& s,
                  std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  // --cp-comm-type p2p, the default: NVIDIA/TransformerEngine transformer_engine/pytorch/attention/context_parallel.py
  // asserts a2a or all_gather for a window.
  if (models::has_window(a, job.training.sequence) && s.context_parallel > 1) {
    broken.push_back(target_lacks("a sliding window shorter than the sequence with context parallelism",
                                  "pin context_parallel to 1"));
  }
  const MegatronLoop* loop = pretrain_gpt_loop(s);
  if (loop == nullptr) {
    broken.push_back(
        target_lacks(fmt::format("the training loop of {}", s.framework),
                     fmt::format("pin framework to {}, or leave it out", nearest_pretrain_gpt(s).name)));
  } else {
    need_experts_flags(job, s, *loop, broken);
  }
  if (!s.recompute.full && (s.recompute.activation_multiply || s.recompute.alternate)) {
    broken.push_back(target_lacks("it recomputes " + models::to_string(s.recompute),
                                  "pin recompute to none, full or classes of CoreAttention, LlamaMLP and "
                                  "LlamaRMSNorm"));
  }
  using enum models::Precision;
  const bool eight = models::is_fp8(s.precision);
  if (s.precision != mixed_precision && !eight) {
    broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                  "write precision: mixed_precision, fp8 or fp8_param_gather in the job"));
  }
  if (eight && job.cluster.instance.core.fp8.value <= 0)
    broken.push_back(target_lacks("FP8 on GPUs without it", "write precision: mixed_precision in the job"));
  if (s.precision == fp8_param_gather && !s.zero1)
    broken.push_back(target_lacks("weights stored in FP8 without the distributed optimizer",
                                  "pin zero1 to true, or write precision: fp8 in the job"));
  // FP8 is scaled as in the recipe of the nearest size, delayed (megatron_program_rules.cpp, "modules").
  if (eight && !s.recompute.full && s.recompute.rms_norm)
    broken.push_back(target_lacks("layernorm recomputed together with FP8 and delayed scaling",
                                  "pin recompute to classes without LlamaRMSNorm"));
  if (!stage_layers(a, s)) {
    broken.push_back(
        target_lacks("stages between the first and the last of different length",
                     "leave pipeline_cuts out, or pin a pipeline_parallel that divides the layers"));
  }
  const models::Schedule schedule = models::effective_schedule(s);
  if (schedule != models::Schedule::one_f_one_b && schedule != models::Schedule::interleaved) {
    broken.push_back(target_lacks(fmt::format("the schedule {}", models::to_string(schedule)),
                                  "leave schedule out: 1F1B, or interleaved with virtual_pipeline"));
  }
  if (s.zero1 && s.sharding != models::Sharding::states) {
    broken.push_back(target_lacks(fmt::format("sharding {}", models::to_string(s.sharding)),
                                  "pin sharding to zero1, or plan for torchtitan"));
  }
  if (s.bucket_mb != models::Strategy{}.bucket_mb)
    broken.push_back(target_lacks("ZeRO-1's buckets of another size", "leave bucket_mb out"));
}

void need_heads(const models::Job& job, const models::Strategy& s, std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  if (a.kv_heads % s.tensor_parallel != 0) {
    broken.push_back(target_lacks(
        fmt::format("{} key and value heads on TP {}: it does not copy them", a.kv_heads, s.tensor_parallel),
        "pin a tensor_parallel that divides them"));
  } else if (s.kv_replicator > 1) {
    broken.push_back(target_lacks("copies of key and value heads", "pin kv_replicator to 1 in the job"));
  }
  if (a.experts > 0 && s.tensor_parallel > 1 && !s.sequence_parallel) {
    broken.push_back(target_lacks("experts with tensor parallel and without sequence parallel",
                                  "pin sequence_parallel to true in the job"));
  }
}

Learnable learnable() {
  Learnable can;
  can.clipping.reset();
  can.linear_minimum = true;
  can.starts = {models::StartFrom::scratch, models::StartFrom::checkpoint};
  return can;
}

void put_degrees(Words& w, const models::Job& job, models::Strategy s) {
  MegatronWriter io{w};
  int global_batch = job.training.global_batch;
  degree_flags(io, s);
  if (const auto ends = stage_layers(job.architecture, s)) {
    if (ends->first > 0) {
      w.count("--decoder-first-pipeline-num-layers", ends->first);
      w.count("--decoder-last-pipeline-num-layers", ends->last);
    }
    w.toggle("--account-for-embedding-in-pipeline-split", ends->embedding);
    w.toggle("--account-for-loss-in-pipeline-split", ends->loss);
  }
  group_flags(io, s, job.architecture.experts > 0);
  batch_flags(io, s, global_batch);
  copy_flags(io, s);
  w.toggle("--overlap-grad-reduce", true);
  w.toggle("--overlap-param-gather", s.zero1);
  if (s.recompute.full) {
    w.flag("--recompute-granularity", "full").flag("--recompute-method", "uniform");
    w.count("--recompute-num-layers", 1);
  } else if (const auto modules = recompute_modules(s, job.architecture.experts > 0); !modules.empty()) {
    w.flag("--recompute-granularity", "selective").list("--recompute-modules", modules);
  }
}

/// Writes FP8 as the shipped script for Llama 3 does; weights are gathered in BF16 unless the precision says so.
void put_precision(Words& w, const models::Job& job, const models::Strategy& s) {
  w.toggle("--bf16", true);
  if (models::is_fp8(s.precision)) {
    w.flag("--fp8-format", "hybrid").count("--fp8-amax-history-len", 1024);
    w.flag("--fp8-amax-compute-algo", "max");
    w.toggle("--fp8-param-gather", s.precision == models::Precision::fp8_param_gather);
  }
  w.flag("--attention-backend", s.flash_attention ? fused_attention(job.architecture) : "unfused");
}

void put_positions(Words& w, const models::Job& job) {
  const models::Architecture& a = job.architecture;
  w.count("--seq-length", job.training.sequence);
  w.count("--max-position-embeddings", std::max(job.training.sequence, a.max_positions));
  if (a.learned_positions) {
    w.flag("--position-embedding-type", "learned_absolute");
    return;
  }
  w.flag("--position-embedding-type", "rope").count("--rotary-base", std::llround(a.rope_theta));
  if (const auto factor = a.llama31_rope_factor) {
    w.toggle("--use-rope-scaling", true).number("--rope-scaling-factor", *factor);
  }
}

void put_model(Words& w, const models::Job& job, const models::Strategy& s, const Recipe& recipe) {
  models::Architecture a = job.architecture;
  MegatronWriter io{w};
  size_flags(io, a);
  put_positions(w, job);
  block_flags(io, a);
  // Tokens before and after one that it sees, besides itself.
  if (models::has_window(a, job.training.sequence))
    w.flag("--window-size", fmt::format("{},0", a.sliding_window - 1));
  if (models::alternates_windows(a) && models::has_window(a, job.training.sequence))
    w.count("--window-attn-skip-freq", a.sliding_window_pattern);
  w.number("--attention-dropout", a.dropout ? 0.1 : 0).number("--hidden-dropout", a.dropout ? 0.1 : 0);
  w.number("--init-method-std", a.initializer_range.value_or(recipe.init_std));
  if (a.experts == 0) return;
  expert_flags(io, a);
  const MegatronLoop& loop = nearest_pretrain_gpt(s);
  // As in the shipped script for Mixtral, but for the weight that the model states.
  w.flag("--moe-router-load-balancing-type", "aux_loss");
  w.number("--moe-aux-loss-coeff", a.router_aux_loss.value_or(0.01));
  w.toggle("--moe-grouped-gemm", true).flag("--moe-token-dispatcher-type", loop.flex ? "flex" : "alltoall");
  w.toggle("--overlap-moe-expert-parallel-comm", loop.overlaps);
  if (a.capacity_factor.value_or(0) > 0) {
    w.number("--moe-expert-capacity-factor", *a.capacity_factor);
    w.toggle("--moe-pad-expert-input-to-capacity", true);
  }
}

void put_learning(Words& w, const models::Job& job, const Recipe& recipe, std::int64_t steps) {
  w.flag("--train-iters", "$steps").flag("--optimizer", "adam");
  w.number("--lr", recipe.lr).number("--min-lr", recipe.min_lr);
  w.flag("--lr-decay-style", recipe.schedule == models::Decay::cosine ? "cosine" : "linear");
  w.count("--lr-decay-iters", steps - recipe.constant_steps);
  w.count("--lr-warmup-iters", warmup_of(megatron_recipe(job), job.learning, steps));
  w.number("--adam-beta1", recipe.beta1).number("--adam-beta2", recipe.beta2);
  w.number("--weight-decay", recipe.weight_decay);
  w.number("--clip-grad", job.learning.gradient_clip.value_or(1.0));
  if (job.learning.seed) w.count("--seed", *job.learning.seed);
}

void put_files(Words& w, const models::Job& job, std::int64_t steps) {
  w.flag("--data-path", "$TRNPLAN_DATA").flag("--split", "100,0,0").count("--eval-iters", 0);
  // Otherwise each sample comes with a mask of the whole square; the kernels need none.
  w.toggle("--no-create-attention-mask-in-dataloader", true);
  // The tokenizer's own size counts; the number is for people who read the line.
  w.flag("--tokenizer-type", "HuggingFaceTokenizer").flag("--tokenizer-model", "$TRNPLAN_TOKENIZER");
  if (job.architecture.vocabulary > 0) w.count("--vocab-size", job.architecture.vocabulary);
  const std::int64_t every = saves_every(job.run, steps);
  w.flag("--save", "$results/checkpoints").count("--save-interval", every);
  // Megatron-LM removes a checkpoint when the next one is complete, unless this divides its step: the last one stays,
  // and kept - 1 at most before it (NVIDIA/Megatron-LM@d98e8a6:megatron/training/checkpointing.py).
  if (const std::int64_t kept = job.run.checkpoints_kept.value_or(kKeptCheckpoints);
      kept != models::kAllCheckpoints)
    w.count("--save-retain-interval", every * (steps / (kept * every) + 1));
  w.toggle("--exit-signal-handler", true);
  w.count("--log-interval", job.run.log_steps.value_or(1)).toggle("--log-throughput", true);
  w.flag("--tensorboard-dir", "$results/tensorboard");
}

class Megatron : public planner::Target {
 public:
  std::string_view name() const override { return "megatron"; }
  std::string_view log_format() const override { return "megatron"; }
  std::string_view framework() const override { return megatron_loop(false, false, false).name; }
  std::vector<std::string_view> loops() const override {
    std::vector<std::string_view> all;
    for (const MegatronLoop& loop : kMegatronLoops)
      if (!loop.bridge) all.push_back(loop.name);
    return all;
  }
  bool compiles_ahead() const override { return false; }
  bool system_torch() const override { return true; }
  bool has_own_recipe() const override { return true; }

  std::string support() const override {
    return "Needs NVIDIA's Megatron-LM at commit d98e8a6 of August 2026, after its tag core_v0.19.0, with "
           "PyTorch, Transformer Engine and NCCL for GPUs.";
  }

  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu;
  }

  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_model(job, broken);
    if (!broken.empty()) return broken;
    need_program(job, s, broken);
    need_heads(job, s, broken);
    need_learning(job, megatron_recipe(job), learnable(), broken);
    return broken;
  }
  bool expresses(const models::Job& job, const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_heads(job, s, broken);  // what most strategies of a search break comes first
    if (broken.empty()) need_program(job, s, broken);
    if (broken.empty()) need_model(job, broken);
    if (broken.empty()) need_learning(job, megatron_recipe(job), learnable(), broken);
    return broken.empty();
  }

  planner::TargetCode code() const override {
    return {"https://github.com/NVIDIA/Megatron-LM", ".", "pretrain_gpt.py"};
  }

  std::vector<planner::PersonValue> asked() const override {
    return {{"TRNPLAN_TOKENIZER",
             "A folder with the model's Hugging Face tokenizer, from which the vocabulary is taken.", true,
             &models::RunFiles::tokenizer}};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    std::vector<planner::PersonValue> values = asked();
    ask_for_weights(job, values);
    return values;
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    const Recipe recipe = with_learning(megatron_recipe(job), job.learning);
    planner::TrainCommand c;
    c.steps = steps_of(job.training, recipe);
    c.learning = {recipe.lr, warmup_of(megatron_recipe(job), job.learning, c.steps),
                  std::string(recipe.source)};
    c.fixed.clear();
    // 1 has collectives and products start in their order; streams that overlap need more
    // (NVIDIA/Megatron-LM@d98e8a64:megatron/training/arguments.py; Megatron-Bridge@v0.6.0 writes 32).
    c.environment = {fmt::format("{}={}", kMaxConnections, nearest_pretrain_gpt(s).overlaps ? 32 : 1)};
    c.port = 29500;
    c.python_path = std::string(1, '.');
    Words w;
    put_degrees(w, job, s);
    put_precision(w, job, s);
    put_model(w, job, s, recipe);
    put_learning(w, job, recipe, c.steps);
    put_files(w, job, c.steps);
    const std::string load = "--load", own = "$results/checkpoints";
    if (job.run.begins_with_weights()) {
      c.again = {"checkpoints/*", {load, "$TRNPLAN_WEIGHTS", "--finetune"}, {load, own}};
    } else {
      w.flag(load, own);
    }
    c.arguments = w.take();
    if (job.run.checkpoints_kept != models::kAllCheckpoints)
      c.remarks.emplace_back(
          "A checkpoint is removed once the next is written, unless --save-retain-interval divides its step: "
          "the script "
          "has no flag to keep the last N.");
    c.remarks.emplace_back("If --load finds no checkpoint, the run starts from scratch, with a warning.");
    say_unused(job, {}, c.remarks);
    return c;
  }

  std::vector<std::string_view> programs() const override { return {"pretrain_gpt.py"}; }

  std::optional<planner::RunReading> read_run(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture* model) const override {
    return megatron_reading(file, ranks, model);
  }

  std::vector<planner::StartFault> start_faults(const planner::ConfigFile& file,
                                                const topology::Cluster& cluster) const override {
    return megatron_start_faults(file, cluster);
  }

  planner::KeyPlace place_of(const planner::ConfigFile& file, std::string_view rule) const override {
    return megatron_place_of(file, rule);
  }

  std::optional<int> nodes_of(const planner::ConfigFile& file) const override {
    if (const auto recipe = nemo_recipe(file)) {
      std::vector<Diagnostic> faults = recipe->faults;
      std::erase_if(faults, [](const Diagnostic& d) { return d.key != "trainer.num_nodes"; });
      if (!faults.empty()) throw InputError(std::move(faults));
      return recipe->hosts;
    }
    return launched_nodes(file);
  }

  bool recognises(const Node& root) const override { return looks_like_nemo(root); }

  /// Preparation by NVIDIA/Megatron-LM@d98e8a6 tools/preprocess_data.py.
  planner::Preparation preparation(const models::Job&, const models::Strategy&) const override {
    planner::Preparation p;
    p.install = {fmt::format("git -C \"$TRNPLAN_CODE\" checkout {}", kCommit)};
    p.data = {
        "python3 \"$TRNPLAN_CODE/tools/preprocess_data.py\" --input \"${TRNPLAN_TEXT:?fill in "
        "settings.env}\" "
        "--json-keys text --tokenizer-type HuggingFaceTokenizer --tokenizer-model "
        "\"${TRNPLAN_TOKENIZER:?fill in settings.env}\" --append-eod --workers 32 --output-prefix "
        "\"$plan/data\"",
        "echo \"TRNPLAN_DATA is $plan/data_text_document\""};
    p.data_made = "./data_text_document";
    p.data_is = "The tokenised data set without its endings .bin and .idx: what prepare.sh data makes.";
    p.values = {{"TRNPLAN_TEXT",
                 "The texts to train on: a file with a line of JSON for each, whose key text holds it.",
                 true}};
    p.remarks = {
        "PyTorch, Transformer Engine and flash attention come with NVIDIA's container for PyTorch, or "
        "are installed by hand.",
        "Nothing else is installed: the clone states what it needs beyond that container.",
        "Checkpoints are converted by tools/checkpoint/convert.py of the clone."};
    return p;
  }
};

}  // namespace

const planner::Target& megatron() {
  static const Megatron target;
  return target;
}

}  // namespace trnplan::targets
