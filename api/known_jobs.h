// The published jobs of which is known whether they fit, and what they say of plans.
#pragma once

#include <vector>

#include "calibrate/validate/memory_validation.h"
#include "io/catalog/catalog.h"
#include "logs/table/memory_cases.h"
#include "planner/confidence/known_jobs.h"

namespace trnplan::api {

/// The catalogue's memory-cases.csv, then those of measured-runs.csv. Throws InputError.
[[nodiscard]] std::vector<logs::MemoryCase> memory_cases(const io::Catalog& catalog);
/// Networks by their published names ("Llama3-8B" is llama3-8b). Keeps a reference to `catalog`.
[[nodiscard]] calibrate::Lookup case_lookup(const io::Catalog& catalog);

/// Those that state what ran; with `gpus` known_layouts(), too. Throws InputError. Cost: milliseconds.
[[nodiscard]] planner::KnownJobs load_known_jobs(const io::Catalog& catalog, const models::Profile& profile,
                                                 bool gpus);

/// Says of a plan of `job` which known job is nearest.
void tell_nearest(planner::Plan& plan, const planner::KnownJobs& known, const models::Job& job);

}  // namespace trnplan::api
