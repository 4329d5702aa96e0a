// The JSON report of nccom-test (--report-to-json-file).
#pragma once

#include "calibrate/nccom_test.h"
#include "io/document.h"

namespace trnplan::io {

/// The rows of `report`: {"results": [{"size(B)": 1024, "time:avg(us)": 6.19, ...}, ...]} or the list alone.
/// The report does not say what was run; `command` does, if known. Bad rows become warnings as in
/// calibrate::nccom_table. Throws InputError when the report has no list of results.
calibrate::NccomTable nccom_report_from(const Node& report, const calibrate::NccomCommand& command = {});

}  // namespace trnplan::io
