// The JSON report of nccom-test (--report-to-json-file).
#pragma once

#include <string>

#include "logs/nccom/nccom_table.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// The rows of the report that comes next: {"results": [{"size(B)": 1024, "time:avg(us)": 6.19, ...}, ...]}
/// or the list alone; other keys and rows that the end of the text cuts are passed over. The report does not
/// say what was run; `command` does, if known. Bad rows become warnings as in nccom_table. Throws InputError
/// when there are more than 20,000 rows.
NccomTable read_nccom_report(JsonReader& json, const NccomCommand& command, const std::string& name);

}  // namespace trnplan::logs
