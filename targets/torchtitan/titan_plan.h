// A plan in TorchTitan's own terms, which both of its interfaces are written from.
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
/// Seconds that ranks wait for each other on GPUs; ours. TorchTitan's own limit is 100 after the first step
/// (torchtitan/config/job_config.py), less than a checkpoint of a large model takes to be written.
inline constexpr int kTitanTimeout = 1800;
inline constexpr const char* kTitanTimeoutNote =
    "Ranks wait for each other while a checkpoint is written, which may take longer than the usual 100 s. "
    "Ours.";

/// Its converter of linear layers to FP8 (torchtitan/components/quantization/float8.py of v0.2.2).
inline constexpr const char* kTitanFloat8 = "quantize.linear.float8";
/// The name that it had before, which v0.2.2 does not know.
inline constexpr const char* kTitanOldFloat8 = "float8";
inline constexpr std::string_view kTitanConverters[] = {kTitanFloat8};
/// Layers that stay in 16 bits beside it: the head, as every shipped config has it.
inline constexpr std::string_view kTitanWide[] = {"output"};
/// How sequences are shared out over context parallel, so that all ranks have as many scores; its own where nobody says.
inline constexpr const char* kTitanBalancer = "headtail";
/// Pieces that a sequence is cut into, as ParallelDims.seq_len_divisor of v0.2.2 and b5bcd76 has them.
[[nodiscard]] constexpr std::int64_t titan_pieces(std::int64_t tensor, std::int64_t context) {
  return saturating_product({tensor, 2, context});
}

/// How the blocks of a model are run, as keys of compile and parallelism say it, and the training loop that predicts it.
struct TitanLoop {
  std::string_view framework;  ///< as Strategy::framework
  bool compiled = false;       ///< compile.enable, with "model" among its components
  bool async_tp = false;       ///< parallelism.enable_async_tensor_parallel, which needs the model compiled
};
inline constexpr TitanLoop kTitanLoops[] = {
    {"fsdp", true, false}, {"fsdp-async-tp", true, true}, {"fsdp-eager", false, false}};
/// nullptr where the strategy names none of them.
[[nodiscard]] const TitanLoop* titan_loop(const models::Strategy& s);
[[nodiscard]] const TitanLoop& titan_loop_of(bool compiled, bool async_tp);

/// compile.components where nobody says, and what is written: both parts of a step that it knows.
inline constexpr std::string_view kTitanComponents[] = {"model", "loss"};
/// compile.backend of PyTorch, where nobody says, and of AWS's fork.
inline constexpr std::string_view kTitanBackend = "inductor", kTitanNeuronBackend = "neuron";

/// Degrees of the mesh: pp, dp_replicate, dp_shard, cp, tp.
struct TitanMesh {
  int replicate = 1, shard = 1;
};

/// nullopt where groups of that size cannot be told: they divide by CP.
[[nodiscard]] std::optional<TitanMesh> titan_mesh(const models::Strategy& s);

/// TP or PP with neither FSDP nor CP: mixed precision is off then, and everything FP32. v0.2.2:
/// torchtitan/distributed/utils.py, maybe_enable_amp. Alone, DDP has autocast.
[[nodiscard]] constexpr bool titan_computes_wide(std::int64_t tensor, std::int64_t pipeline,
                                                 std::int64_t shard, std::int64_t context) {
  return shard <= 1 && context <= 1 && (tensor > 1 || pipeline > 1);
}
/// Of a strategy that shares nothing.
[[nodiscard]] bool titan_computes_wide(const models::Strategy& s);

/// Its activation_checkpoint: mode "none", "full" or "selective", and selective_ac_option, "op" or of how many layers one
/// is recomputed; "" with another mode.
struct TitanCheckpointing {
  std::string_view mode;
  std::string option;
};
[[nodiscard]] TitanCheckpointing titan_checkpointing(const models::Recompute& r);

/// Schedules of torch.distributed.pipelining that are modelled; its own where nobody says first.
struct TitanSchedule {
  models::Schedule schedule;
  std::string_view name;
};
inline constexpr TitanSchedule kTitanSchedules[] = {{models::Schedule::one_f_one_b, "1F1B"},
                                                    {models::Schedule::interleaved, "Interleaved1F1B"},
                                                    {models::Schedule::gpipe, "GPipe"},
                                                    {models::Schedule::zero_bubble_v, "ZBVZeroBubble"}};
/// The name of a strategy's; "" where it has none.
[[nodiscard]] std::string_view titan_schedule(const models::Strategy& s);
/// That of this name, in any case, as torch.distributed.pipelining takes it; nullptr for another.
[[nodiscard]] const TitanSchedule* titan_schedule_named(std::string_view name);
[[nodiscard]] bool titan_same_schedule(std::string_view a, std::string_view b);

/// On AWS's fork, which has Neuron's devices.
[[nodiscard]] bool on_neuron(const models::Job& job);

/// The compiler of the job's machine.
[[nodiscard]] std::string_view titan_backend(const models::Job& job);

/// Numbers that both interfaces share.
struct TitanRun {
  Recipe learning;  ///< settled
  std::int64_t steps = 0, warmup = 0, save_every = 0, kept = 0, log_every = 10;
  double clip = 1;
  double min_factor = 0;     ///< of the learning rate
  int micro_batches = 1;     ///< of a data-parallel rank and a step
  int layers_per_stage = 0;  ///< of a pipeline, each chunk a stage
};
[[nodiscard]] TitanRun titan_run(const models::Job& job, const models::Strategy& s);

/// A line of a module with which it ends at its start: FP8, which the later revision has no setting for.
[[nodiscard]] bool titan_stops(std::string_view line);

/// Requires: the target expresses it. `heading`: comment lines, without "# ".
[[nodiscard]] std::string titan_toml(const models::Job& job, const models::Strategy& s,
                                     const std::vector<std::string>& heading, bool log_every_step);
[[nodiscard]] std::string titan_module(const models::Job& job, const models::Strategy& s,
                                       const std::vector<std::string>& heading, bool log_every_step);

}  // namespace trnplan::targets
