// A TOML of TorchTitan, read: what it trains, and what is wrong with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// It has a model with a flavor, and training beside it.
[[nodiscard]] bool looks_like_titan(const Node& root);

/// `ranks`: of the run, for degrees that take what is left; 0 = not known, then they must all be stated. All ranks are told
/// as one node's. Throws InputError with every unknown key, as TorchTitan itself refuses them, and every value that is of no
/// use.
[[nodiscard]] planner::ConfigReading titan_reading(const Node& root, const models::Architecture& a,
                                                   int ranks = 0);

/// The settings of a TOML, or of the Python module that `plan --out` writes, as a tree. Throws InputError: syntax.
[[nodiscard]] Node titan_tree(const planner::ConfigFile& file);

/// Of a TOML with its flavor; of the Python module that `plan --out` writes its settings, each as it stands there. Throws
/// InputError.
[[nodiscard]] planner::RunReading titan_run_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
