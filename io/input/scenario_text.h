// Conditions of a step as people state them: "slow-node=3:1.2,nic=5:0.875,spine=0.5", or a YAML file with the
// same keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/step/scenario.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "topology/instance.h"

namespace trnplan::io {

/// Keys that explanations of slow runs name too.
namespace scenario_key {
inline constexpr std::string_view slow_node = "slow-node", nic = "nic", spine = "spine",
                                  late_node = "late-node", jitter = "jitter";
}  // namespace scenario_key

/// A key of a scenario.
struct ScenarioKey {
  /// The thing that has the number before the colon; `machine`: there is none.
  enum class Of { node, core, machine };

  std::string_view name;  ///< "slow-node"
  Of of = Of::machine;
  std::string_view value;  ///< "factor": one word for the value
  std::string_view what;   ///< "factor of the time of work"
  double least = 0, most = 0;
  std::string_view example;
  std::string_view help;  ///< one line
};
[[nodiscard]] const std::vector<ScenarioKey>& scenario_keys();
/// Lines of help with all keys, each with its form.
[[nodiscard]] std::string scenario_help();

/// The text of a scenario, of values with `digits` significant digits: read_scenario() gives it back, rounded. "" if it
/// is ideal. Requires: its nodes and cores are in the cluster.
[[nodiscard]] std::string scenario_text(const models::Scenario& scenario, const topology::Cluster& cluster,
                                        int digits = 6);

/// True for the name of a file: it ends in .yaml or .yml.
[[nodiscard]] bool is_scenario_file(const std::string& text);

/// Reads pairs KEY=NUMBER:VALUE and KEY=VALUE that commas join, or a file with a map of numbers and values, or
/// one value, for each key. Blanks around commas do not count. A core of a slow node is as slow as both say.
/// `place`: of the text. Throws InputError with every fault: unknown keys, a key that comes twice for one place,
/// numbers that the cluster lacks, values out of range, shares of a network that the machine lacks, runs without
/// jitter.
[[nodiscard]] models::Scenario read_scenario(const std::string& text, const topology::Cluster& cluster,
                                             const SourcePos& place, const Files& files = disk());

}  // namespace trnplan::io
