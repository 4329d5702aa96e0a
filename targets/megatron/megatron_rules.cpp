#include "targets/megatron/megatron_rules.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "targets/megatron/megatron_questions.h"
#include "targets/megatron/megatron_read.h"
#include "targets/megatron/nemo_recipe.h"

namespace trnplan::targets {

namespace {

/// Flags that this revision's parser does not know, as one fault. Another revision, or a fork, may have them.
std::optional<planner::StartFault> unknown_flags(const StatedByName& stated) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::pair<SourcePos, std::string>> unknown;
  for (const auto& [name, value] : stated) {
    if (name.starts_with("--") && !megatron_flag_names().contains(name)) unknown.emplace_back(value.at, name);
  }
  if (unknown.empty()) return std::nullopt;
  std::stable_sort(unknown.begin(), unknown.end(),
                   [](const auto& a, const auto& b) { return a.first.line < b.first.line; });
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(unknown.size(), kMostNamed); ++i)
    others.push_back(printable(unknown[i].second, 60));
  if (unknown.size() > kMostNamed) others.push_back(fmt::format("{} more", unknown.size() - kMostNamed));
  return planner::StartFault{"flags",
                             "flags of the program",
                             {unknown.front().first, printable(unknown.front().second, 60),
                              fmt::format("no flag of Megatron-LM at d98e8a6, whose parser stops there{}{}",
                                          others.empty() ? "" : "; likewise ", fmt::join(others, ", ")),
                              "correct it, or drop it, unless your revision has it"},
                             pretrain_gpt::kArguments,
                             true,
                             false};
}

}  // namespace

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
  std::optional<planner::StartFault> unknown = unknown_flags(arguments.stated);
  const Settings settings(std::move(arguments.stated), megatron_start_keys());
  std::vector<planner::StartFault> all = start_faults(megatron_start_table(), settings, facts, file.name);
  if (unknown) all.push_back(*std::move(unknown));
  return all;
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
