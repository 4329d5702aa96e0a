// The sections `learning` and `run` of a job, which plan.json repeats.
#pragma once

#include <string>
#include <vector>

#include "models/job/learning.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the section of `map`, if it has one, and records faults for values that make no sense in any run.
///
/// `steps` of the whole run: a longer warm-up is a fault; 0 = not known.
void read_learning(MapReader& map, models::Learning& learning, std::vector<Diagnostic>& faults,
                   double steps = 0);
void read_run_files(MapReader& map, models::RunFiles& run, std::vector<Diagnostic>& faults);

/// The stated values of each, as a JSON object with the same keys.
[[nodiscard]] std::string learning_json(const models::Learning& learning);
[[nodiscard]] std::string run_files_json(const models::RunFiles& run);

}  // namespace trnplan::io
