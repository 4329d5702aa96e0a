// YAML of NeMo for Megatron's training loop, read as the arguments that pretrain_gpt.py would have: the config of NeMo 1
// (model: {mcore_gpt: true, ...}) and the recipe of NeMo 2 that HyperPod ships (strategy:, data:, trainer:).
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
  std::optional<int> hosts;                              ///< trainer.num_nodes
  bool states_model = false;                             ///< by its shape; NeMo 2's names the model
  std::string model_name;                                ///< run.name
  std::vector<std::string> not_modelled;                 ///< as ConfigReading has it
  std::map<std::string, std::string, std::less<>> keys;  ///< of the file, by the flag that each stands for
  /// The key of the file that a flag stands for; the flag where it has none.
  [[nodiscard]] std::string key_of(const std::string& flag) const;
};

/// nullopt for other files. Throws InputError: a number of nodes that no cluster has, a truth that is none.
[[nodiscard]] std::optional<NemoRecipe> nemo_recipe(const planner::ConfigFile& file);

}  // namespace trnplan::targets
