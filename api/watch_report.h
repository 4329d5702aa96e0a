// The page of watch: a run beside its plan.
#pragma once

#include <string>
#include <vector>

#include "api/report_parts.h"
#include "io/output/watch_json.h"
#include "launch/watch/run_log.h"
#include "launch/watch/watch.h"

namespace trnplan::api {

/// `words`: "trnplan watch LOG" with the options that say what ran, for what to type next. Throws InputError where it
/// cannot be written. Cost: linear in the steps.
void write_watch_report(const ReportFile& file, const std::vector<std::string>& words,
                        const io::WatchReport& report, const launch::RunLog& run,
                        const launch::WatchContext& context, const std::vector<Remark>& remarks);

}  // namespace trnplan::api
