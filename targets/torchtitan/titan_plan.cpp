#include "targets/torchtitan/titan_plan.h"

#include <algorithm>
#include <tuple>

namespace trnplan::targets {

namespace {

constexpr std::int64_t kKept = 10;  ///< checkpoint.keep_latest_k where nobody says

TitanFlavor flavor(std::string_view name, std::string_view function, int layers, int hidden, int intermediate,
                   int heads, double parameters, std::int64_t steps, double lr, std::int64_t warmup) {
  TitanFlavor f;
  f.name = name;
  f.function = function;
  models::Architecture& a = f.model;
  a.layers = layers;
  a.hidden = hidden;
  a.intermediate = intermediate;
  a.heads = heads;
  a.kv_heads = 8;
  a.head_dim = hidden / heads;
  a.vocabulary = 128256;
  a.rope_theta = 500000;
  f.recipe = {"pytorch/torchtitan@v0.2.2:torchtitan/models/llama3/train_configs",
              parameters,
              steps,
              lr,
              0,
              warmup,
              0,
              0.9,
              0.95,
              0.1};
  f.recipe.schedule = models::Decay::linear;
  f.recipe.log_steps = 10;
  return f;
}

/// The sizes of Llama 3.1, whose files the shipped configs name (hf_assets_path).
const std::vector<TitanFlavor>& flavors() {
  static const std::vector<TitanFlavor> all = {
      flavor("8B", "llama3_8b", 32, 4096, 14336, 32, 8030261248., 1000, 3e-4, 200),
      flavor("70B", "llama3_70b", 80, 8192, 28672, 64, 70553706496., 1000, 1.5e-4, 200),
      flavor("405B", "llama3_405b", 126, 16384, 53248, 128, 405853388800., 3000, 8e-5, 600),
  };
  return all;
}

auto shape(const models::Architecture& a) {
  return std::tie(a.layers, a.hidden, a.intermediate, a.heads, a.kv_heads, a.vocabulary, a.rope_theta, a.mlp,
                  a.norm, a.causal, a.tied_embeddings, a.biases, a.qkv_bias, a.qk_norm, a.learned_positions,
                  a.experts, a.token_types);
}

}  // namespace

const TitanFlavor* titan_flavor(const models::Architecture& a) {
  for (const TitanFlavor& f : flavors()) {
    const bool head = a.head_dim == 0 || a.head_dim == f.model.head_dim;
    if (head && shape(f.model) == shape(a) && a.blocks == models::Blocks{}) return &f;
  }
  return nullptr;
}

const TitanFlavor* titan_flavor_named(std::string_view name) {
  for (const TitanFlavor& f : flavors()) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::optional<TitanMesh> titan_mesh(const models::Strategy& s) {
  if (!s.zero1) return TitanMesh{s.data_parallel, 1};
  if (s.shard_ranks == 0) return TitanMesh{1, s.data_parallel};
  if (s.shard_ranks % s.context_parallel != 0) return std::nullopt;
  const int shard = s.shard_ranks / s.context_parallel;
  if (shard < 1 || s.data_parallel % shard != 0) return std::nullopt;
  return TitanMesh{s.data_parallel / shard, shard};
}

TitanCheckpointing titan_checkpointing(const models::Recompute& r) {
  if (r.full && r.every > 1) return {"selective", std::to_string(r.every)};
  if (r.full) return {"full", ""};
  if (r.alternate) return {"selective", "op"};
  return {"none", ""};
}

std::string_view titan_schedule(const models::Strategy& s) {
  switch (models::settled_schedule(s)) {
    case models::Schedule::one_f_one_b:
      return "1F1B";
    case models::Schedule::interleaved:
      return "Interleaved1F1B";
    case models::Schedule::gpipe:
      return "GPipe";
    default:
      return "";
  }
}

bool on_neuron(const models::Job& job) {
  return job.cluster.instance.traits.accelerator == topology::Accelerator::neuron_core;
}

TitanRun titan_run(const models::Job& job, const models::Strategy& s) {
  const Recipe& shipped = titan_flavor(job.architecture)->recipe;
  TitanRun run;
  run.learning = settled(shipped, job.learning);
  run.steps = steps_of(job.training, shipped);
  run.warmup = warmup_of(shipped, job.learning, run.steps);
  run.save_every = saves_every(job.run, run.steps);
  run.kept = job.run.checkpoints_kept.value_or(kKept);
  // No word for all of them: as many as there will be.
  if (run.kept == models::kAllCheckpoints)
    run.kept = run.steps / std::max<std::int64_t>(1, run.save_every) + 2;
  run.log_every = job.run.log_steps.value_or(shipped.log_steps);
  run.clip = job.learning.gradient_clip.value_or(1.0);
  run.min_factor = run.learning.lr > 0 ? run.learning.min_lr / run.learning.lr : 0;
  run.micro_batches = models::micro_batches(job.training, s);
  run.layers_per_stage = job.architecture.layers / (s.pipeline_parallel * s.virtual_pipeline);
  return run;
}

}  // namespace trnplan::targets
