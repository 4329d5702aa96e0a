#include "targets/megatron/megatron_rules.h"

#include <string_view>

#include "targets/megatron/megatron_questions.h"
#include "targets/megatron/megatron_read.h"
#include "targets/megatron/nemo_recipe.h"

namespace trnplan::targets {

const StartTable& megatron_start_table() {
  static const std::vector<StartRule> rules = [] {
    std::vector<StartRule> all = pretrain_gpt::layout_rules();
    for (const auto* more : {&pretrain_gpt::program_rules(), &pretrain_gpt::training_rules()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  static const StartTable table{megatron_start_keys(), rules, pretrain_gpt::kArguments};
  return table;
}

std::vector<planner::StartFault> megatron_start_faults(const planner::ConfigFile& file,
                                                       const topology::Cluster& cluster) {
  if (nemo_recipe(file)) return {};  // what NeMo asserts is not known here
  MegatronArguments arguments = megatron_arguments(file);
  StartFacts facts;
  facts.ranks = cluster.cores();
  facts.core = cluster.instance.core;
  facts.starts_program = arguments.starts_program;
  const Settings settings(std::move(arguments.stated), megatron_start_keys());
  return start_faults(megatron_start_table(), settings, facts, file.name);
}

planner::KeyPlace megatron_place_of(const planner::ConfigFile& file, std::string_view rule) {
  static constexpr RuleKey kKeys[] = {
      {"batch", "--global-batch-size"},
      {"heads", "--num-attention-heads"},
      {"kv-replicator", "--num-query-groups"},
      {"vocabulary", "--vocab-size"},
      {"layers", "--num-layers"},
      {"interleaved", "--num-virtual-stages-per-pipeline-rank"},
      {"pipeline-parity", "--pipeline-model-parallel-size"},
      {"context-parallel", "--context-parallel-size"},
      {"sequence-parallel", "--sequence-parallel"},
      {"flash-attention", "--attention-backend"},
      {"positions", "--max-position-embeddings"},
      {"tied-embeddings", "--untie-embeddings-and-output-weights"},
      {"moe", "--expert-model-parallel-size"},
      {"", "--tensor-model-parallel-size"},
  };
  const auto recipe = nemo_recipe(file);
  const Settings settings(recipe ? recipe->script.flags : megatron_arguments(file).stated,
                          megatron_start_keys());
  planner::KeyPlace place = place_of_rule(kKeys, rule, settings, file.name);
  if (recipe) place.key = recipe->key_of(place.key);
  return place;
}

}  // namespace trnplan::targets
