// The plan that ran when logs were written, from options or from a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/stated_files.h"
#include "calibrate/session/samples.h"
#include "io/catalog/catalog.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Reads --job (as `plan` takes it) and --strategy, or --config (an NxDT YAML; on nodes of `instance`);
/// nullopt if none is given. Throws InputError with every fault, also if both are given or a strategy without
/// a job. `nodes`, if not 0, are those of a job that is a model's name.
[[nodiscard]] std::optional<calibrate::WhatRan> what_ran(const std::string& job, const std::string& strategy,
                                                         const std::string& config,
                                                         const std::string& instance,
                                                         const io::Catalog& catalog, Remarks& remarks,
                                                         const StatedFiles& texts = {}, int nodes = 0);

/// Plan that a folder of `plan --out` ran, from its plan.json. Throws InputError.
[[nodiscard]] calibrate::WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog);
/// Paths of its train-*.out, named as in its train.sbatch. Throws InputError if there is none.
[[nodiscard]] std::vector<std::string> logs_of_folder(const std::string& folder);

}  // namespace trnplan::api
