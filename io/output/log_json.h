// What was understood of logs and profiles, as JSON for scripts (docs/json.md, calibrate).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "logs/detect/detect.h"

namespace trnplan::io {

/// What a document says of logs behind its own keys: "files" (path and content of each) and "steps" (samples that can
/// be compared with predictions). Paths and texts that are no UTF-8 get replacement characters.
struct ReadLogs {
  std::vector<std::pair<std::string, const logs::Detected*>> files;
  std::vector<logs::StepSample> steps;
};

/// {"schema_version", "instance", "files", "steps"}: logs without a fit. Ends in a newline.
std::string logs_json(const std::string& instance, const ReadLogs& logs);

}  // namespace trnplan::io
