// watch: a run in progress, compared with its plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/report_parts.h"
#include "api/watch_context.h"
#include "io/output/watch_json.h"
#include "text/remarks.h"

namespace trnplan::api {

struct WatchRequest {
  std::vector<std::string> targets;  ///< Slurm job ids, files of logs, or "-" for standard input
  WatchedRun ran;
  std::string profile;    ///< "" = the catalogue's
  std::string calibrate;  ///< file for a profile that explains the observed steps; may be empty
  std::string record;     ///< profile to which observations are added; may be empty
  bool once = false;      ///< reports once on each target, instead of following a single one
  ReportFile report;      ///< written at every report; for one target
  bool force = false;     ///< overwrites `calibrate`
  int interval = 5;       ///< seconds between looks
};

/// Receives each report: `whole` at the end, else the changes; `assumed` if the plan that ran is unknown.
using ShowReport = std::function<void(const io::WatchReport&, bool whole, bool assumed)>;

/// True if a log shows a failure and no step after it, or if no profile could be written to `calibrate`. Returns
/// once the run is over. Throws InputError.
[[nodiscard]] bool watch(const WatchRequest& request, const ShowReport& show, Remarks& remarks);

}  // namespace trnplan::api
