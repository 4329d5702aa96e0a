// Page of watch: a run compared with its plan.
#pragma once

#include <string>
#include <vector>

#include "api/report_parts.h"
#include "io/output/watch_json.h"
#include "launch/watch/run_log.h"
#include "launch/watch/watch.h"

namespace trnplan::api {

/// `words`: "trnplan watch LOG" with the options that state the plan that ran, for the next commands. Throws
/// InputError if it cannot be written. Cost: linear in the steps.
void write_watch_report(const ReportFile& file, const std::vector<std::string>& words,
                        const io::WatchReport& report, const launch::RunLog& run,
                        const launch::WatchContext& context, const std::vector<Remark>& remarks);

}  // namespace trnplan::api
