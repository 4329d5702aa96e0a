// A watched run in words.
#pragma once

#include <string>

#include "io/output/watch_json.h"

namespace trnplan::cli {

/// Progress, step time and prediction on one line.
std::string status_line(const io::WatchReport& report);
/// An alarm, its cause, and what to do.
std::string alarm_text(const io::WatchAlarm& alarm);
/// Explanations of slow steps, with what to look at and what to run; "" without any.
std::string explanations_text(const io::WatchReport& report);
/// The whole report. If there is a prediction, it starts with whether the run is as fast as it should be.
std::string report_text(const io::WatchReport& report);

}  // namespace trnplan::cli
