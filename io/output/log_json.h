// What was understood of logs and profiles, as JSON for scripts (docs/json.md, calibrate).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "logs/detect/detect.h"

namespace trnplan::io {

/// `document`, a JSON object, with the keys "files" (path and content of each) and "steps" (samples that can
/// be compared with predictions) behind its own. Ends in a newline. Paths and texts that are no UTF-8 get
/// replacement characters.
std::string with_logs(const std::string& document,
                      const std::vector<std::pair<std::string, const logs::Detected*>>& files,
                      const std::vector<logs::StepSample>& steps);

}  // namespace trnplan::io
