// The table of published measurements.
#pragma once

#include <string>
#include <vector>

#include "models/uncertainty/measured_run.h"

namespace trnplan::logs {

/// Parses the text of a measured-runs CSV (RFC 4180, columns by header name, unknown columns ignored). `name`
/// is used in messages. Throws InputError listing every bad row: wrong number of fields, numbers that do not
/// parse, missing columns.
std::vector<models::MeasuredRun> parse_measured_runs(const std::string& text, const std::string& name);

}  // namespace trnplan::logs
