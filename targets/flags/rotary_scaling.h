// Scaled rotary frequencies as scripts beside Hugging Face's have them.
#pragma once

#include <optional>
#include <string>

namespace trnplan::targets {

/// The factor of a `rope_scaling` of Hugging Face that is Llama 3.1's but for it: low and high factors 1 and 4 and 8192
/// positions before, which pretrain_gpt.py's --use-rope-scaling and TorchTitan's flavours have fixed. nullopt for any
/// other, and for "". Source of the numbers: meta-llama/Llama-3.1-8B config.json.
[[nodiscard]] std::optional<double> llama31_rope_factor(const std::string& rope_scaling);

}  // namespace trnplan::targets
