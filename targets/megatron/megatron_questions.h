// Questions that the rules of pretrain_gpt.py ask about its settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "targets/start/start_rules.h"

namespace trnplan::targets::pretrain_gpt {

// Source of its assertions.
inline constexpr const char* kArguments = "NVIDIA/Megatron-LM@d98e8a6:megatron/training/arguments.py";
inline constexpr const char* kConfig =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/transformer/transformer_config.py";
inline constexpr const char* kSchedules =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/pipeline_parallel/schedules.py";
inline constexpr const char* kBlock =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/transformer/transformer_block.py";
inline constexpr const char* kAttention = "NVIDIA/Megatron-LM@d98e8a6:megatron/core/transformer/attention.py";
inline constexpr const char* kPlainAttention =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/transformer/dot_product_attention.py";
inline constexpr const char* kRates = "NVIDIA/Megatron-LM@d98e8a6:megatron/core/optimizer_param_scheduler.py";
inline constexpr const char* kTraining = "NVIDIA/Megatron-LM@d98e8a6:megatron/training/training.py";
inline constexpr const char* kGroups = "NVIDIA/Megatron-LM@d98e8a6:megatron/core/parallel_state.py";
inline constexpr const char* kReductions =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/distributed/distributed_data_parallel.py";
inline constexpr const char* kBatches =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/num_microbatches_calculator.py";
inline constexpr const char* kDataset = "NVIDIA/Megatron-LM@d98e8a6:megatron/core/datasets/gpt_dataset.py";
inline constexpr const char* kMappings =
    "NVIDIA/Megatron-LM@d98e8a6:megatron/core/tensor_parallel/mappings.py";
inline constexpr const char* kBuilder = "NVIDIA/Megatron-LM@d98e8a6:megatron/training/argument_utils.py";
inline constexpr const char* kRouter =
    "NVIDIA/Megatron-LM@00611e6e:megatron/core/transformer/moe/moe_utils.py";
// Library of its layers.
inline constexpr const char* kEngine =
    "NVIDIA/TransformerEngine@001597e:transformer_engine/pytorch/quantization.py";

using Broken = std::optional<Breach>;

[[nodiscard]] std::int64_t tensor(const Settings& s);
[[nodiscard]] std::int64_t stages(const Settings& s);
[[nodiscard]] std::int64_t context(const Settings& s);
[[nodiscard]] std::int64_t model_parallel(const Settings& s);
[[nodiscard]] std::int64_t replicas(const Settings& s, const StartFacts& f);
[[nodiscard]] bool degrees_fit(const Settings& s, const StartFacts& f);
[[nodiscard]] bool fsdp(const Settings& s);
[[nodiscard]] bool experts(const Settings& s);
/// Granularity of recompute, where --recompute-activations means selective, as in the training loop.
[[nodiscard]] std::string granularity(const Settings& s);
/// Layers that are distributed over the stages.
[[nodiscard]] std::int64_t counted_layers(const Settings& s);
[[nodiscard]] bool uneven_ends(const Settings& s);
/// Chunks per stage; 1 if they cannot be determined.
[[nodiscard]] std::int64_t chunks(const Settings& s);

/// Tables of rules by theme. megatron_start_table() joins them.
[[nodiscard]] const std::vector<StartRule>& layout_rules();
[[nodiscard]] const std::vector<StartRule>& program_rules();
[[nodiscard]] const std::vector<StartRule>& training_rules();

}  // namespace trnplan::targets::pretrain_gpt
