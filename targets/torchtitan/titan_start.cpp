// Keys of TorchTitan's job config, and a settings file as the rules of the start see it.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "targets/torchtitan/titan_keys.h"
#include "targets/torchtitan/titan_plan.h"
#include "targets/torchtitan/titan_read.h"
#include "targets/torchtitan/titan_rules.h"
#include "text/document.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

constexpr const char* kLaterFloat8 = "pytorch/torchtitan@b5bcd76:torchtitan/models/llama3/config_registry.py";

/// Refuses assignments of a module that this reader does not follow, since it would read another plan. Throws
/// InputError.
void refuse_assignments(const planner::ConfigFile& file) {
  std::vector<Diagnostic> faults;
  std::istringstream in(file.text);
  bool within = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    within = within || line.starts_with("def trnplan");
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view text = std::string_view(line).substr(first);
    const std::size_t equals = text.find('=');
    if (!within || text.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    const bool compares = text.substr(equals).starts_with("==") || text[equals - 1] == '!';
    const bool apart = blank(text[equals - 1]) || (equals + 1 < text.size() && blank(text[equals + 1]));
    if (!apart || compares || text.starts_with("config = shipped(") ||
        text.starts_with("config.model_spec = plain(") || text.starts_with("config.activation_checkpoint = "))
      continue;
    faults.push_back({{file.name, number, static_cast<int>(first) + 1},
                      std::string(trimmed(text.substr(0, equals))),
                      "an assignment that is not followed here",
                      "write put(config.SECTION, name=value), without blanks"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// Fault of a module that ends at its start, as that of a plan in FP8 does.
std::optional<planner::StartFault> stop_of(const planner::ConfigFile& file) {
  std::istringstream in(file.text);
  int number = 0;
  for (std::string line; file.name.ends_with(".py") && std::getline(in, line);) {
    ++number;
    if (!titan_stops(line)) continue;
    planner::StartFault stop{"precision", "FP8 of the module", {}, kLaterFloat8, false, true};
    stop.what = {{file.name, number, 5},
                 "model_spec",
                 "FP8 is part of the model's spec since TorchTitan reads Python only: this module stops when "
                 "it starts",
                 fmt::format("train {} with v0.2.2", kTitanToml)};
    return stop;
  }
  return std::nullopt;
}

}  // namespace

const StartTable& titan_start_table() {
  static const StartTable table{titan_keys(), titan_start_rules(), kTitanJobConfig};
  return table;
}

std::vector<planner::StartFault> titan_start_faults(const planner::ConfigFile& file,
                                                    const topology::Cluster& cluster) {
  if (file.name.ends_with(".py")) refuse_assignments(file);
  const Node tree = titan_tree(file);
  StatedByName stated = titan_stated(tree);
  // No rule is judged by the default of a key that is stated with a misspelt name.
  std::vector<Diagnostic> said_by_the_reader;
  for (const std::string& key : check_titan_keys(tree, said_by_the_reader))
    stated.try_emplace(key, Stated{{"$misspelt"}, tree.at});
  const Settings settings(std::move(stated), titan_keys());
  StartFacts facts;
  facts.ranks = cluster.cores();
  facts.core = cluster.instance.core;
  if (const TitanFlavor* size =
          titan_flavor_named(settings.text("model.name"), settings.text("model.flavor")))
    facts.model = size->model;
  std::vector<planner::StartFault> faults = start_faults(titan_start_table(), settings, facts, file.name);
  if (auto stop = stop_of(file)) faults.push_back(*std::move(stop));
  return faults;
}

planner::KeyPlace titan_place_of(const planner::ConfigFile& file, std::string_view rule) {
  static constexpr RuleKey kKeys[] = {
      {"batch", "training.global_batch_size"},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage"},
      {"interleaved", "parallelism.pipeline_parallel_schedule"},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule"},
      {"pipeline-parity", "parallelism.pipeline_parallel_degree"},
      {"context-parallel", "parallelism.context_parallel_degree"},
      {"flash-attention", "training.seq_len"},
      {"positions", "training.seq_len"},
      {"moe", "parallelism.expert_parallel_degree"},
      {"", "parallelism.tensor_parallel_degree"},
  };
  return place_of_rule(kKeys, rule, Settings(titan_stated(titan_tree(file)), titan_keys()), file.name);
}

}  // namespace trnplan::targets
