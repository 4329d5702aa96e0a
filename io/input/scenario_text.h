// Conditions of a step as people state them: "slow-node=3:1.2,slow-core=17:1.1", or a YAML file with the same
// keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/step/scenario.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "topology/instance.h"

namespace trnplan::io {

/// A key of a scenario. `unit` is a number from 0 on.
struct ScenarioKey {
  std::string_view name;  ///< "slow-node"
  std::string_view unit;  ///< "node"
  bool whole_node;        ///< all cores of a node, not one core
};
[[nodiscard]] const std::vector<ScenarioKey>& scenario_keys();

/// True for the name of a file: it ends in .yaml or .yml.
[[nodiscard]] bool is_scenario_file(const std::string& text);

/// Factors are from 1 to this.
inline constexpr double kMostSlowdown = 1000;

/// Reads pairs KEY=UNIT:FACTOR that commas join, or a file with a map of units and factors for each key. Keys
/// may come more than once in a text; factors of one core multiply. `place`: of the text. Throws InputError with every fault: unknown keys, units that the cluster lacks, factors out of range.
[[nodiscard]] models::Scenario read_scenario(const std::string& text, const topology::Cluster& cluster,
                                             const SourcePos& place, const Files& files = disk());

}  // namespace trnplan::io
