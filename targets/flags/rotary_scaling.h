// Scaled rotary frequencies in the form that scripts other than Hugging Face's take.
#pragma once

#include <optional>
#include <string>

namespace trnplan::targets {

/// Factor of a Hugging Face `rope_scaling` that equals Llama 3.1's in all but this factor: low and high
/// frequency factors 1 and 4, 8192 original positions. pretrain_gpt.py's --use-rope-scaling and TorchTitan's
/// flavors fix these. nullopt for any other text and for "". Source of the numbers: meta-llama/Llama-3.1-8B
/// config.json.
[[nodiscard]] std::optional<double> llama31_rope_factor(const std::string& rope_scaling);

}  // namespace trnplan::targets
