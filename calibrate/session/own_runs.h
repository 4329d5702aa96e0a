// The user's logs as runs that a fit learns from.
#pragma once

#include <vector>

#include "calibrate/fit/site_fit.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_data.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// Adds steps of the user's own logs to the published ones.
void add_samples(const RanSamples& log, const models::Profile& profile, MappedRuns& runs);
/// Runs of the user in the data, one for each log. `repeat`: log-sd of one run from the next.
[[nodiscard]] std::vector<SiteRun> site_runs(const StepData& data, double repeat);
/// Doubts about logs, and about logs of one layout, whose steps no single pace describes.
[[nodiscard]] std::vector<Diagnostic> uneven_runs(const StepData& data);
/// Remarks on the user's logs with few steps, or with a pace that changes.
void remark_paces(const StepData& data, Remarks& remarks);
/// Remarks on layouts that do not agree with the others of their site.
void tell_misses(const std::vector<SiteRun>& runs, const std::vector<SiteRow>& rows,
                 const models::Profile& fitted, Remarks& remarks);

}  // namespace trnplan::calibrate
