#include "targets/torchtitan/titan_plan.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace trnplan::targets {

namespace {

constexpr std::int64_t kKept = 10;  ///< default of checkpoint.keep_latest_k

}  // namespace

std::optional<TitanMesh> titan_mesh(const models::Strategy& s) {
  if (!s.zero1) return TitanMesh{s.data_parallel, 1};
  if (s.shard_ranks == 0) return TitanMesh{1, s.data_parallel};
  if (s.shard_ranks % s.context_parallel != 0) return std::nullopt;
  const int shard = s.shard_ranks / s.context_parallel;
  if (shard < 1 || s.data_parallel % shard != 0) return std::nullopt;
  return TitanMesh{s.data_parallel / shard, shard};
}

bool titan_computes_wide(const models::Strategy& s) {
  const auto mesh = titan_mesh(s);
  return mesh && titan_computes_wide(s.tensor_parallel, s.pipeline_parallel, mesh->shard, s.context_parallel);
}

TitanCheckpointing titan_checkpointing(const models::Recompute& r) {
  if (r.full && r.every > 1) return {"selective", std::to_string(r.every)};
  if (r.full) return {"full", ""};
  if (r.alternate) return {"selective", "op"};
  return {"none", ""};
}

const TitanLoop* titan_loop(const models::Strategy& s) {
  const auto* found = std::find_if(std::begin(kTitanLoops), std::end(kTitanLoops),
                                   [&](const TitanLoop& l) { return l.framework == s.framework; });
  return found == std::end(kTitanLoops) ? nullptr : found;
}

const TitanLoop& titan_loop_of(bool compiled, bool async_tp) {
  return *std::find_if(std::begin(kTitanLoops), std::end(kTitanLoops), [&](const TitanLoop& l) {
    return l.compiled == compiled && l.async_tp == (compiled && async_tp);
  });
}

bool titan_stops(std::string_view line) {
  return line.starts_with("    raise SystemExit(") && line.find("FP8") != std::string_view::npos;
}

std::string_view titan_backend(const models::Job& job) {
  return on_neuron(job) ? kTitanNeuronBackend : kTitanBackend;
}

bool titan_same_schedule(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view titan_schedule(const models::Strategy& s) {
  for (const TitanSchedule& known : kTitanSchedules) {
    if (known.schedule == models::effective_schedule(s)) return known.name;
  }
  return "";
}

const TitanSchedule* titan_schedule_named(std::string_view name) {
  for (const TitanSchedule& known : kTitanSchedules) {
    if (titan_same_schedule(name, known.name)) return &known;
  }
  return nullptr;
}

bool on_neuron(const models::Job& job) {
  return job.cluster.instance.traits.accelerator == topology::Accelerator::neuron_core;
}

TitanRun titan_run(const models::Job& job, const models::Strategy& s) {
  const Recipe& shipped = titan_flavor(job.architecture)->recipe;
  TitanRun run;
  run.learning = with_learning(shipped, job.learning);
  run.steps = steps_of(job.training, shipped);
  run.warmup = warmup_of(shipped, job.learning, run.steps);
  run.save_every = saves_every(job.run, run.steps);
  run.kept = job.run.checkpoints_kept.value_or(kKept);
  // There is no setting for all of them, so the number is that of all checkpoints of the run.
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
