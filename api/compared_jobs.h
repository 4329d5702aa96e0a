// Published jobs with known memory outcome, and their relation to plans.
#pragma once

#include <vector>

#include "calibrate/validate/memory_validation.h"
#include "io/catalog/catalog.h"
#include "logs/table/memory_cases.h"
#include "planner/confidence/compared_jobs.h"

namespace trnplan::api {

/// Cases of the catalogue's memory-cases.csv, then those of measured-runs.csv. Throws InputError.
[[nodiscard]] std::vector<logs::MemoryCase> memory_cases(const io::Catalog& catalog);
/// Looks networks up by their published names ("Llama3-8B" is llama3-8b). Keeps a reference to `catalog`.
[[nodiscard]] calibrate::Lookup case_lookup(const io::Catalog& catalog);

/// Jobs that state their strategy, and with `gpus` recorded_layouts() too. Throws InputError. Cost:
/// milliseconds.
[[nodiscard]] planner::ComparedJobs load_compared_jobs(const io::Catalog& catalog,
                                                       const models::Profile& profile, bool gpus);

/// Adds to a plan of `job` the nearest published job.
void tell_nearest(planner::Plan& plan, const planner::ComparedJobs& known, const models::Job& job);

}  // namespace trnplan::api
