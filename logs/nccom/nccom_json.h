// The JSON report of nccom-test (--report-to-json-file).
#pragma once

#include <string>

#include "logs/nccom/nccom_table.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// Reads the rows of the next report: {"results": [{"size(B)": 1024, "time:avg(us)": 6.19, ...}, ...]} or the
/// list alone; skips other keys, and rows that the end of the text cuts. The report does not state the
/// command; `command` does, if known. Bad rows become warnings as in nccom_table. Throws InputError if there
/// are more than 20,000 rows.
NccomTable read_nccom_report(JsonReader& json, const NccomCommand& command, const std::string& name);

}  // namespace trnplan::logs
