// watch: a run beside its plan while it goes on.
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
  std::string profile;    ///< "": the catalogue's
  std::string calibrate;  ///< a profile that explains the observed steps is written here; may be empty
  std::string record;     ///< observations are added to this profile; may be empty
  bool once = false;      ///< report once of each target, instead of following the only one
  ReportFile report;      ///< written at every report, of one target
  bool force = false;     ///< overwrite `calibrate`
  int interval = 5;       ///< seconds between looks
};

/// A report as it comes: `whole` at the end, else what changed; `assumed` where nothing says what ran.
using ShowReport = std::function<void(const io::WatchReport&, bool whole, bool assumed)>;

/// True when a log shows a failure and no step after it. Returns once the run is over. Throws InputError.
[[nodiscard]] bool watch(const WatchRequest& request, const ShowReport& show, Remarks& remarks);

}  // namespace trnplan::api
