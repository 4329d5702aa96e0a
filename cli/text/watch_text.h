// A watched run in words.
#pragma once

#include <string>

#include "io/output/watch_json.h"

namespace trnplan::cli {

/// Progress, step time and prediction on one line.
std::string status_line(const io::WatchReport& report);
/// An alarm, its cause, and what to do.
std::string alarm_text(const io::WatchAlarm& alarm);
/// The whole report. If there is a prediction, it starts with whether the run is as fast as it should be.
std::string report_text(const io::WatchReport& report);

}  // namespace trnplan::cli
