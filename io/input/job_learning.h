// The sections `learning` and `run` of a job, which plan.json repeats.
#pragma once

#include <string>
#include <vector>

#include "models/job/learning.h"
#include "text/document.h"

namespace trnplan::io {

/// Each reads its section of `map`, where there is one, and records a fault for what no run can mean.
///
/// `steps` of the whole run: a warm-up that is longer is a fault; 0 = not known.
void read_learning(MapReader& map, models::Learning& learning, std::vector<Diagnostic>& faults,
                   double steps = 0);
void read_run_files(MapReader& map, models::RunFiles& run, std::vector<Diagnostic>& faults);

/// What each states, as a JSON object with the same keys.
[[nodiscard]] std::string learning_json(const models::Learning& learning);
[[nodiscard]] std::string run_files_json(const models::RunFiles& run);

}  // namespace trnplan::io
