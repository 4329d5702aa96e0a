// A result as one HTML file that needs nothing else: the page's looks, its program and the numbers it draws.
#pragma once

#include <string>

#include "io/output/json_value.h"

namespace trnplan::launch {

/// The page that launch/report/page/*.js draw from `data`, whose member `kind` says which parts it has (docs/report.md). The
/// data stands in it as JSON; no text of it is HTML, and the page's policy lets nothing run but the program that the
/// build put in, and asks no network for anything. Cost: linear in the data.
[[nodiscard]] std::string report_page(const io::JsonValue& data);

}  // namespace trnplan::launch
