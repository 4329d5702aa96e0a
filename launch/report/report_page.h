// Self-contained HTML page of a result: style, script and the numbers to draw.
#pragma once

#include <string>

#include "io/output/json_value.h"

namespace trnplan::launch {

/// Page that launch/report/page/*.js draw from `data`. Its member `kind` selects the parts of the page
/// (docs/report.md). The page contains the data as JSON; none of its text is HTML. The page's policy runs
/// only the script that the build embedded, and allows no network access. Cost: linear in the data.
[[nodiscard]] std::string report_page(const io::JsonValue& data);

}  // namespace trnplan::launch
