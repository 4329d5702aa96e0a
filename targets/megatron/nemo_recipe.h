// YAML of NeMo for Megatron's training loop, converted to the arguments of pretrain_gpt.py. Reads the config
// of NeMo 1 (model: {mcore_gpt: true, ...}) and the recipe of NeMo 2 that HyperPod ships (strategy:, data:,
// trainer:).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "targets/megatron/megatron_script.h"

namespace trnplan::targets {

[[nodiscard]] bool looks_like_nemo(const Node& root);

struct NemoRecipe {
  MegatronScript script;
  std::optional<int> hosts;    ///< trainer.num_nodes, 1 to topology::kMostNodes
  std::optional<int> devices;  ///< trainer.devices
  bool states_model = false;   ///< by its shape; NeMo 2 states the model's name
  std::string model_name;      ///< run.name, printable
  std::string unmodelled;      ///< training with different memory; "" = none
  std::vector<std::string> not_modelled;
  std::vector<Diagnostic> faults;           ///< values that no flag can express
  std::map<std::string, std::string> keys;  ///< key that states each stated flag
  /// Key of the file that a flag represents, stated or not; the flag itself if it has no key.
  [[nodiscard]] std::string key_of(const std::string& flag) const;
  /// The text, with keys in place of flags.
  [[nodiscard]] std::string in_keys(const std::string& text) const;
};

/// Reads a recipe; nullopt for other files. Throws nothing: `faults` lists the values that are wrong, and the
/// reader of arguments checks the rest.
[[nodiscard]] std::optional<NemoRecipe> nemo_recipe(const planner::ConfigFile& file);

}  // namespace trnplan::targets
