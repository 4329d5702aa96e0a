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
  std::optional<int> hosts;    ///< trainer.num_nodes, 1 to topology::kMostNodes
  std::optional<int> devices;  ///< trainer.devices
  bool states_model = false;   ///< by its shape; NeMo 2's names the model
  std::string model_name;      ///< run.name, printable
  std::string unmodelled;      ///< training whose memory is another too; "" = none
  std::vector<std::string> not_modelled;
  std::vector<Diagnostic> faults;           ///< values that no flag can carry
  std::map<std::string, std::string> keys;  ///< beside each flag that is stated, the key that states it
  /// The key of the file that a flag stands for, stated or not; the flag where it has none.
  [[nodiscard]] std::string key_of(const std::string& flag) const;
  /// The text with keys in place of flags.
  [[nodiscard]] std::string in_keys(const std::string& text) const;
};

/// nullopt for other files. Throws nothing: what is wrong with values is in `faults`, or the reader's to say.
[[nodiscard]] std::optional<NemoRecipe> nemo_recipe(const planner::ConfigFile& file);

}  // namespace trnplan::targets
