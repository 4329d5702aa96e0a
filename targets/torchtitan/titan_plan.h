// A plan in TorchTitan's own terms. Both of its interfaces are written from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "targets/flags/recipe.h"
#include "targets/torchtitan/titan_models.h"
#include "units/product.h"

namespace trnplan::targets {

inline constexpr const char* kTitanToml = "torchtitan.toml";
inline constexpr const char* kTitanModule = "trnplan_config.py";
/// Seconds that ranks on GPUs wait for each other; our own value. TorchTitan's limit is 100 after the first
/// step (torchtitan/config/job_config.py), less than it takes to write a checkpoint of a large model.
inline constexpr int kTitanTimeout = 1800;
inline constexpr const char* kTitanTimeoutNote =
    "Ranks wait for each other while a checkpoint is written, which may take longer than the usual 100 s. "
    "Ours.";

/// TorchTitan's converter of linear layers to FP8 (torchtitan/components/quantization/float8.py of v0.2.2).
inline constexpr const char* kTitanFloat8 = "quantize.linear.float8";
/// Former name of that converter, which v0.2.2 does not know.
inline constexpr const char* kTitanOldFloat8 = "float8";
inline constexpr std::string_view kTitanConverters[] = {kTitanFloat8};
/// Layers that stay in 16 bits under FP8: the head, as in every shipped config.
inline constexpr std::string_view kTitanWide[] = {"output"};
/// Balancer that distributes sequences over context parallel so that all ranks have equally many scores;
/// TorchTitan's default.
inline constexpr const char* kTitanBalancer = "headtail";
/// Number of pieces that a sequence is cut into: ParallelDims.seq_len_divisor of v0.2.2 and b5bcd76.
[[nodiscard]] constexpr std::int64_t titan_pieces(std::int64_t tensor, std::int64_t context) {
  return saturating_product({tensor, 2, context});
}

/// Execution of a model's blocks, as the keys of compile and parallelism state it, and the training loop that
/// predicts it.
struct TitanLoop {
  std::string_view framework;  ///< as in Strategy::framework
  bool compiled = false;       ///< compile.enable, with "model" among its components
  bool async_tp = false;       ///< parallelism.enable_async_tensor_parallel, which requires a compiled model
};
inline constexpr TitanLoop kTitanLoops[] = {
    {"fsdp", true, false}, {"fsdp-async-tp", true, true}, {"fsdp-eager", false, false}};
/// Loop that the strategy names; nullptr if it names none of them.
[[nodiscard]] const TitanLoop* titan_loop(const models::Strategy& s);
[[nodiscard]] const TitanLoop& titan_loop_of(bool compiled, bool async_tp);

/// Default of compile.components, which plans write too: both parts of a step that it knows.
inline constexpr std::string_view kTitanComponents[] = {"model", "loss"};
/// Default of compile.backend in PyTorch, and in AWS's fork.
inline constexpr std::string_view kTitanBackend = "inductor", kTitanNeuronBackend = "neuron";

/// Degrees of the mesh: pp, dp_replicate, dp_shard, cp, tp.
struct TitanMesh {
  int replicate = 1, shard = 1;
};

/// Mesh of a strategy; nullopt if it cannot express groups of that size: they divide by CP.
[[nodiscard]] std::optional<TitanMesh> titan_mesh(const models::Strategy& s);

/// True for TP or PP with neither FSDP nor CP: then mixed precision is off, and everything is FP32. v0.2.2:
/// torchtitan/distributed/utils.py, maybe_enable_amp. DDP alone has autocast.
[[nodiscard]] constexpr bool titan_computes_wide(std::int64_t tensor, std::int64_t pipeline,
                                                 std::int64_t shard, std::int64_t context) {
  return shard <= 1 && context <= 1 && (tensor > 1 || pipeline > 1);
}
/// True for a strategy that computes in FP32 by that rule.
[[nodiscard]] bool titan_computes_wide(const models::Strategy& s);

/// TorchTitan's activation_checkpoint: mode "none", "full" or "selective", and selective_ac_option: "op", or
/// N to recompute every N-th layer. "" with another mode.
struct TitanCheckpointing {
  std::string_view mode;
  std::string option;
};
[[nodiscard]] TitanCheckpointing titan_checkpointing(const models::Recompute& r);

/// Schedules of torch.distributed.pipelining that are modelled; TorchTitan's default first.
struct TitanSchedule {
  models::Schedule schedule;
  std::string_view name;
};
inline constexpr TitanSchedule kTitanSchedules[] = {{models::Schedule::one_f_one_b, "1F1B"},
                                                    {models::Schedule::interleaved, "Interleaved1F1B"},
                                                    {models::Schedule::gpipe, "GPipe"},
                                                    {models::Schedule::zero_bubble_v, "ZBVZeroBubble"}};
/// Name of a strategy's schedule; "" if it has none.
[[nodiscard]] std::string_view titan_schedule(const models::Strategy& s);
/// Schedule by name, in any case, as torch.distributed.pipelining takes it; nullptr if it is another.
[[nodiscard]] const TitanSchedule* titan_schedule_named(std::string_view name);
[[nodiscard]] bool titan_same_schedule(std::string_view a, std::string_view b);

/// True on AWS's fork, for Neuron devices.
[[nodiscard]] bool on_neuron(const models::Job& job);

/// Compiler of the job's machine.
[[nodiscard]] std::string_view titan_backend(const models::Job& job);

/// Numbers that both interfaces share.
struct TitanRun {
  Recipe learning;  ///< the recipe, overridden by the job
  std::int64_t steps = 0, warmup = 0, save_every = 0, kept = 0, log_every = 10;
  double clip = 1;
  double min_factor = 0;     ///< of the learning rate
  int micro_batches = 1;     ///< per data-parallel rank and step
  int layers_per_stage = 0;  ///< in a pipeline, where each chunk is a stage
};
[[nodiscard]] TitanRun titan_run(const models::Job& job, const models::Strategy& s);

/// True for a line that ends a module at its start: FP8, for which the later revision has no setting.
[[nodiscard]] bool titan_stops(std::string_view line);

/// Requires: the target can express the strategy. `heading`: comment lines, without "# ".
[[nodiscard]] std::string titan_toml(const models::Job& job, const models::Strategy& s,
                                     const std::vector<std::string>& heading, bool log_every_step);
[[nodiscard]] std::string titan_module(const models::Job& job, const models::Strategy& s,
                                       const std::vector<std::string>& heading, bool log_every_step);

}  // namespace trnplan::targets
