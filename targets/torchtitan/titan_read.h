// Reader of a TorchTitan TOML: the training that it describes, and its faults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// True if it has a model with a flavor and a section training.
[[nodiscard]] bool looks_like_titan(const Node& root);

/// Reads a TOML. `ranks`: of the run, for degrees that take the remaining ranks; 0 = not known, then all
/// degrees must be stated. All ranks count as those of one node. Throws InputError with every unknown key, as
/// TorchTitan itself refuses them, and every unusable value.
[[nodiscard]] planner::ConfigReading titan_reading(const Node& root, const models::Architecture& a,
                                                   int ranks = 0);

/// Settings of a TOML, or of the Python module that `plan --out` writes, as a tree. Throws InputError:
/// syntax.
[[nodiscard]] Node titan_tree(const planner::ConfigFile& file);

/// Run that a TOML describes with its flavor, or that the Python module of `plan --out` describes with its
/// settings, each unchanged. Throws InputError.
[[nodiscard]] planner::RunReading titan_run_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
