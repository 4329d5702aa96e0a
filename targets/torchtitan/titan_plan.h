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
/// Pieces that a sequence is cut into, as ParallelDims.seq_len_divisor of v0.2.2 and b5bcd76 has them.
[[nodiscard]] constexpr std::int64_t titan_pieces(std::int64_t tensor, std::int64_t context) {
  return saturating_product({tensor, 2, context});
}

/// A size of Llama that TorchTitan has by name, with the recipe that it ships for it.
struct TitanFlavor {
  std::string_view name;       ///< "8B"
  std::string_view function;   ///< of its shipped configs, "llama3_8b"
  models::Architecture model;  ///< layers, hidden, intermediate, heads, kv_heads, vocabulary, rope_theta
  Recipe recipe;
};

/// nullptr where the model is none of them. Sources: pytorch/torchtitan@b5bcd76 and its tag v0.2.2.
[[nodiscard]] const TitanFlavor* titan_flavor(const models::Architecture& a);
[[nodiscard]] const TitanFlavor* titan_flavor_named(std::string_view name);

/// Degrees of the mesh: pp, dp_replicate, dp_shard, cp, tp.
struct TitanMesh {
  int replicate = 1, shard = 1;
};

/// nullopt where groups of that size cannot be told: they divide by CP.
[[nodiscard]] std::optional<TitanMesh> titan_mesh(const models::Strategy& s);

/// Its activation_checkpoint: mode "none", "full" or "selective", and selective_ac_option, "op" or of how many layers one
/// is recomputed; "" with another mode.
struct TitanCheckpointing {
  std::string_view mode;
  std::string option;
};
[[nodiscard]] TitanCheckpointing titan_checkpointing(const models::Recompute& r);

/// "1F1B", "Interleaved1F1B", "GPipe"; "" for another.
[[nodiscard]] std::string_view titan_schedule(const models::Strategy& s);

/// On AWS's fork, which has Neuron's devices.
[[nodiscard]] bool on_neuron(const models::Job& job);

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

/// Requires: the target expresses it. `heading`: comment lines, without "# ".
[[nodiscard]] std::string titan_toml(const models::Job& job, const models::Strategy& s,
                                     const std::vector<std::string>& heading, bool log_every_step);
[[nodiscard]] std::string titan_module(const models::Job& job, const models::Strategy& s,
                                       const std::vector<std::string>& heading, bool log_every_step);

}  // namespace trnplan::targets
