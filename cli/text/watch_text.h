// A watched run in words.
#pragma once

#include <string>

#include "io/output/watch_json.h"

namespace trnplan::cli {

/// Progress, step time and prediction on one line.
std::string status_line(const io::WatchReport& report);
/// What is not as it should be, its cause, and what to do.
std::string alarm_text(const io::WatchAlarm& alarm);
/// All of it; first whether the run is as fast as it should be, where there is a prediction.
std::string report_text(const io::WatchReport& report);

}  // namespace trnplan::cli
