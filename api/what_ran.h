// What ran when logs were written, by what a user says or a folder holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/session/samples.h"
#include "io/catalog/catalog.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Reads --job and --strategy, or --config (an NxDT YAML; on nodes of `instance`); nullopt when none is
/// given. Throws InputError with every fault, also when both are given or a strategy without a job.
[[nodiscard]] std::optional<calibrate::WhatRan> what_ran(const std::string& job, const std::string& strategy,
                                                         const std::string& config,
                                                         const std::string& instance,
                                                         const io::Catalog& catalog, Remarks& remarks,
                                                         const Files& files = disk());

/// What a folder of `plan --out` ran, by its plan.json. Throws InputError.
[[nodiscard]] calibrate::WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog);
/// The paths of its train-*.out, as its train.sbatch names logs. Throws InputError where there is none.
[[nodiscard]] std::vector<std::string> logs_of_folder(const std::string& folder);

}  // namespace trnplan::api
